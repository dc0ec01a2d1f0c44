/// The effects of a plan's changes on the losses of groups of tokens: long positions, long documents, rare tokens.
/// Pure.
#pragma once

#include <optional>
#include <vector>

#include "reports/comparison/bucket_losses.h"
#include "reports/effects/effects.h"

namespace nanobench::reports {

/// The effect of each contrast of the plan on the mean loss over the range, in the plan's order. They are a family of
/// their own, judged like the final losses: from all cells, by the rules' margin, adjusted by Holm over the contrasts.
/// An earlier spread of final losses informs none of them.
std::vector<MeasuredEffect> range_effects(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                          const PlanBuckets& buckets, const BucketRange& range,
                                          const EffectRules& rules);

/// What is judged of one metric: the last quarter of the targets, beside the others; each doubling is for the eye.
struct RangeEffects {
  BucketRange before, last;                           ///< all but the last quarter; the last quarter
  std::vector<MeasuredEffect> effects;                ///< on the last quarter: these are judged
  std::vector<MeasuredEffect> on_before;              ///< beside them
  std::vector<BucketRange> ranges;                    ///< doublings, if asked for
  std::vector<std::vector<MeasuredEffect>> by_range;  ///< likewise: by doubling, then contrast
};

/// nullopt if no run has the metric, or if all targets are in one bucket.
std::optional<RangeEffects> judge_ranges(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                         const PlanBuckets& buckets, const EffectRules& rules,
                                         bool has_doublings = false);

/// The metrics by bucket that runs of the plan were asked for.
struct JudgedBuckets {
  PlanBuckets buckets;
  RangeEffects effects;
};
std::vector<JudgedBuckets> judge_buckets(const results::Store& store, const results::PlanRecord& plan,
                                         const std::vector<CellMeasures>& cells, const EffectRules& rules,
                                         bool has_doublings);

/// Fills EffectResult::at_long_positions where positions were measured.
void add_long_positions(std::vector<EffectResult>& effects, const std::vector<JudgedBuckets>& judged);

}  // namespace nanobench::reports
