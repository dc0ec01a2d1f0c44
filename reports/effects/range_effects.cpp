#include "reports/effects/range_effects.h"

namespace nanobench::reports {

std::vector<MeasuredEffect> range_effects(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                          const PlanBuckets& buckets, const BucketRange& range,
                                          const EffectRules& rules) {
  EffectRules own = rules;
  own.earlier_loss.reset();
  own.judges_by_earlier = false;
  std::vector<MeasuredEffect> effects;
  for (EffectResult& result : analyse_effects(plan, with_range_losses(cells, buckets, range), own))
    effects.push_back(std::move(result.loss));
  return effects;
}

std::optional<RangeEffects> judge_ranges(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                         const PlanBuckets& buckets, const EffectRules& rules, bool has_doublings) {
  const std::vector<double> counts = pooled_counts(buckets);
  const std::optional<BucketRange> last = last_quarter(counts);
  if (!last) return std::nullopt;
  RangeEffects judged;
  judged.before = {0, last->first};
  judged.last = *last;
  judged.effects = range_effects(plan, cells, buckets, judged.last, rules);
  judged.on_before = range_effects(plan, cells, buckets, judged.before, rules);
  if (has_doublings) judged.ranges = doublings(counts);
  for (const BucketRange& range : judged.ranges)
    judged.by_range.push_back(range_effects(plan, cells, buckets, range, rules));
  return judged;
}

std::vector<JudgedBuckets> judge_buckets(const results::Store& store, const results::PlanRecord& plan,
                                         const std::vector<CellMeasures>& cells, const EffectRules& rules,
                                         bool has_doublings) {
  std::vector<JudgedBuckets> judged;
  for (const auto& [metric, name] : enum_table(core::AskedMetric{})) {
    if (!core::is_by_bucket(metric)) continue;
    PlanBuckets buckets = read_buckets(store, cells, metric);
    if (std::optional<RangeEffects> effects = judge_ranges(plan, cells, buckets, rules, has_doublings))
      judged.push_back({std::move(buckets), *std::move(effects)});
  }
  return judged;
}

void add_long_positions(std::vector<EffectResult>& effects, const std::vector<JudgedBuckets>& judged) {
  for (const JudgedBuckets& one : judged) {
    if (one.buckets.metric != core::AskedMetric::kLossAtPosition) continue;
    for (std::size_t i = 0; i < effects.size(); ++i) effects[i].at_long_positions = one.effects.effects[i];
  }
}

}  // namespace nanobench::reports
