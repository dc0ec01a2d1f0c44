#include "reports/effects/effects.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "reports/comparison/conditions.h"
#include "reports/stats/distributions.h"
#include "reports/stats/factorial_effects.h"
#include "reports/stats/multiple.h"
#include "reports/stats/power.h"

namespace nanobench::reports {

namespace {

constexpr std::size_t kMinForLenth = 7;
constexpr std::array kFutileErrors = {-1.0, 0.0, 1.0};  // standard errors about the measured effect
constexpr double kMinNominal = 1e-12;                   // below it 1 - p loses its digits

bool is_factorial(const results::PlanContrast& contrast) {
  return contrast.kind == results::ContrastKind::kMain || contrast.kind == results::ContrastKind::kInteraction;
}

/// Factorial effects without an error of their own get one estimated from the small effects.
void add_lenth(std::vector<EffectResult>& results, MeasuredEffect EffectResult::*metric) {
  std::vector<double> values;
  std::vector<MeasuredEffect*> effects;
  for (EffectResult& result : results) {
    MeasuredEffect& effect = result.*metric;
    if (!is_factorial(result.contrast) || !effect.value || effect.estimate || effect.n != 1) return;
    values.push_back(*effect.value);
    effects.push_back(&effect);
  }
  if (values.size() < kMinForLenth) return;
  const std::optional<Lenth> lenth_error = lenth(values);
  if (!lenth_error) return;
  for (MeasuredEffect* effect : effects) {
    effect->estimate = Estimate{.value = *effect->value, .se = lenth_error->pse, .df = lenth_error->df};
    effect->source = ErrorSource::kLenth;
  }
}

/// Every seed gives the same effect: there is nothing to test.
Verdict exact_verdict(double value, double margin) {
  if (std::abs(value) <= margin) return Verdict::kUnchanged;
  return value < 0.0 ? Verdict::kImproved : Verdict::kRegressed;
}

/// Each p on its own in a plan of looks, else adjusted by Holm.
std::vector<std::optional<double>> adjusted(const std::vector<std::optional<double>>& p, const EffectRules& rules) {
  return rules.nominal_p ? p : holm(p);
}

std::optional<double> equivalence_p(const std::optional<Estimate>& effect, double margin) {
  return effect ? std::optional(equivalence(*effect, Margins::symmetric(margin)).p) : std::nullopt;
}

/// Level of each interval, so that all hold together; in a plan of looks, at all looks together.
double interval_level(const EffectRules& rules, std::size_t effects) {
  return 1.0 - (rules.nominal_p ? std::max(*rules.nominal_p, kMinNominal)
                                : rules.alpha / static_cast<double>(std::max<std::size_t>(effects, 1)));
}

/// p-values, Holm's adjustment and simultaneous intervals of one metric over all effects.
void test_all(std::vector<EffectResult>& results, MeasuredEffect EffectResult::*metric, double margin,
              const EffectRules& rules) {
  std::vector<std::optional<double>> p, p_equivalent;
  for (EffectResult& result : results) {
    MeasuredEffect& effect = result.*metric;
    if (effect.estimate) effect.p = p_of(*effect.estimate);
    p.push_back(effect.p);
    p_equivalent.push_back(equivalence_p(effect.estimate, margin));
  }
  p = adjusted(p, rules);
  p_equivalent = adjusted(p_equivalent, rules);
  for (std::size_t i = 0; i < results.size(); ++i) {
    MeasuredEffect& effect = results[i].*metric;
    effect.adjusted_p = p[i];
    effect.equivalence_p = p_equivalent[i];
    if (effect.estimate) {
      effect.interval = interval_of(*effect.estimate, interval_level(rules, results.size()));
      if (!rules.nominal_p) effect.interval->level = 1.0 - rules.alpha;  // of all together
    }
    if (effect.is_exact && effect.n >= rules.min_n) {
      effect.verdict = exact_verdict(*effect.value, margin);
      continue;
    }
    const bool has_lenth = effect.source == ErrorSource::kLenth;
    effect.verdict = verdict_of(
        {.effect = effect.estimate,
         .n = has_lenth ? rules.min_n : effect.n,
         .p = effect.adjusted_p,
         .p_equivalence = effect.equivalence_p},
        {.margins = Margins::symmetric(margin), .alpha = rules.nominal_p.value_or(rules.alpha), .min_n = rules.min_n});
  }
}

Estimate negated(Estimate estimate) {
  estimate.value = -estimate.value;
  return estimate;
}

std::vector<std::string> cells_without_result(const std::vector<ContrastPart>& parts) {
  std::vector<std::string> labels;
  for (const ContrastPart& part : parts) {
    const auto& runs = part.cell->runs;
    if (std::none_of(runs.begin(), runs.end(), [](const RunMeasure& run) { return run.run.is_completed(); }))
      labels.push_back(part.cell->cell.label);
  }
  return labels;
}

core::StepParts other_code_of(const std::vector<ContrastPart>& parts) {
  std::vector<WeightedCell> difference;
  for (const ContrastPart& part : parts) difference.push_back({part.cell, part.coefficient});
  return parts_without_kernel(difference);
}

bool is_single_change(const results::PlanContrast& contrast) {
  return contrast.kind == results::ContrastKind::kSimple || contrast.kind == results::ContrastKind::kMain;
}

/// On the scale of the seconds' estimate, which is logarithmic.
double seconds_margin(const EffectResult& result, const EffectRules& rules) {
  return *result.seconds.reference_s * std::log1p(rules.time_margin);
}

/// Whether every cell has a run with a step time.
bool has_times(const std::vector<ContrastPart>& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [](const ContrastPart& part) { return !step_times(*part.cell).empty(); });
}

/// Why no time at equal loss could be computed.
NoVerdict reason_without_seconds(const EffectResult& result) {
  if (result.seconds.equal_loss.status == EqualLoss::Status::kNoSlope) return NoVerdict::kFewValidations;
  if (result.seconds.equal_loss.status == EqualLoss::Status::kSlopeUncertain) return NoVerdict::kUncertainSlope;
  return std::min(result.loss.n, result.log_time.n) == 1 ? NoVerdict::kOneSeed : NoVerdict::kNoError;
}

void judge_feature(EffectResult& result, const std::vector<ContrastPart>& parts, const EffectRules& rules) {
  result.verdict = FeatureVerdict::kInconclusive;
  result.min_n = rules.min_n;
  const int n = std::min(result.loss.n, result.log_time.n);
  if (n == 0) {
    const bool is_mixed = result.loss.n > 0 && has_times(parts);
    result.no_verdict = result.loss.n == 0 ? NoVerdict::kMissingCell
                        : is_mixed         ? NoVerdict::kOtherPlaces
                                           : NoVerdict::kNoTimes;
    return;
  }
  if (!result.other_code.empty()) {
    result.no_verdict = NoVerdict::kOtherCode;
    return;
  }
  if (!result.seconds.equal_loss.is_converted()) {
    result.no_verdict = reason_without_seconds(result);
    return;
  }
  if (n < rules.min_n) {
    result.is_indicated = result.adjusted_p && *result.adjusted_p < rules.nominal_p.value_or(rules.alpha);
    result.no_verdict = NoVerdict::kFewSeeds;
    return;
  }
  result.verdict =
      feature_verdict_of({.effect = negated(result.seconds.equal_loss.estimate),
                          .n = n,
                          .p = result.adjusted_p,
                          .p_equivalence = result.equivalence_p},
                         seconds_margin(result, rules), rules.nominal_p.value_or(rules.alpha), rules.min_n);
}

void add_second_opinions(std::vector<EffectResult>& results, const std::vector<CellMeasures>& cells,
                         const EffectRules& rules) {
  std::vector<TwoOpinions> family;
  for (EffectResult& result : results) {
    result.second = second_opinion(parts_of(result.contrast, cells));
    family.push_back({&result.loss, &result.second});
  }
  compare_opinions(family, rules.nominal_p.value_or(rules.alpha), rules.nominal_p.has_value());
}

void judge_features(std::vector<EffectResult>& results, const std::vector<CellMeasures>& cells,
                    const EffectRules& rules) {
  std::vector<std::optional<double>> p, p_equivalent;
  for (const EffectResult& result : results) {
    const bool is_asked = result.contrast.kind != results::ContrastKind::kNoise && result.other_code.empty() &&
                          result.seconds.equal_loss.is_converted();
    p.push_back(is_asked ? std::optional(p_of(result.seconds.equal_loss.as_if_known)) : std::nullopt);
    p_equivalent.push_back(is_asked ? equivalence_p(result.seconds.equal_loss.estimate, seconds_margin(result, rules))
                                    : std::nullopt);
  }
  const std::vector<std::optional<double>> all_p = adjusted(p, rules), all_equivalent = adjusted(p_equivalent, rules);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].p = p[i];
    results[i].adjusted_p = all_p[i];
    results[i].equivalence_p = all_equivalent[i];
    if (is_single_change(results[i].contrast)) judge_feature(results[i], parts_of(results[i].contrast, cells), rules);
  }
}

/// Judges by the final rules.
std::vector<EffectResult> judge_all(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                    const EffectRules& rules) {
  std::vector<EffectResult> results;
  const PlanEffects effects(cells, static_cast<int>(plan.contrasts.size()), rules.weights,
                            rules.judges_by_earlier ? rules.earlier_loss : std::nullopt);
  for (const results::PlanContrast& contrast : plan.contrasts) {
    EffectResult& result = results.emplace_back();
    result.contrast = contrast;
    const std::vector<ContrastPart> parts = parts_of(contrast, cells);
    result.missing = cells_without_result(parts);
    result.loss = effects.loss(contrast);
    result.log_time = effects.log_time(contrast);
    result.log_memory = effects.log_memory(contrast);
    result.other_code = other_code_of(parts);
  }
  add_lenth(results, &EffectResult::loss);
  add_lenth(results, &EffectResult::log_time);
  test_all(results, &EffectResult::loss, rules.loss_margin, rules);
  test_all(results, &EffectResult::log_time, std::log1p(rules.time_margin), rules);
  test_all(results, &EffectResult::log_memory, std::log1p(rules.memory_margin), rules);
  for (EffectResult& result : results) {
    if (!result.other_code.empty() && result.log_time.value) result.log_time.verdict = Verdict::kInconclusive;
  }
  add_second_opinions(results, cells, rules);
  const double level = interval_level(rules, results.size());
  for (EffectResult& result : results) {
    result.seconds = effects.seconds(result.contrast, result.loss, result.log_time, level);
    if (!rules.nominal_p) result.seconds.equal_loss.interval.level = 1.0 - rules.alpha;  // of all together
  }
  judge_features(results, cells, rules);
  return results;
}

EffectRules rules_at(const results::SequentialLook& plan, const std::vector<Look>& looks, std::size_t index,
                     EffectRules rules) {
  rules.nominal_p = looks.at(index).nominal_p;
  rules.min_n = std::min(rules.min_n, plan.first);
  return rules;
}

std::size_t index_of(const results::SequentialLook& plan, const std::vector<Look>& looks) {
  return std::min(static_cast<std::size_t>(std::max(1, plan.look) - 1), looks.size() - 1);
}

/// The seeds that a look had: the first ones in execution order.
std::set<std::uint64_t> seeds_at(const results::PlanRecord& plan, std::size_t index) {
  const results::SequentialLook& looks = *plan.sequential;
  const std::size_t count =
      std::min(static_cast<std::size_t>(looks.most),
               static_cast<std::size_t>(looks.first) + index * static_cast<std::size_t>(looks.step));
  std::set<std::uint64_t> seeds;
  for (const results::PlanLine& line : plan.lines) {
    if (seeds.size() == count && !seeds.contains(line.seed)) break;
    seeds.insert(line.seed);
  }
  return seeds;
}

std::vector<CellMeasures> with_seeds(const std::vector<CellMeasures>& cells, const std::set<std::uint64_t>& seeds) {
  std::vector<CellMeasures> part;
  for (const CellMeasures& cell : cells) {
    part.push_back({.cell = cell.cell, .planned = static_cast<int>(seeds.size()), .runs = {}, .step_ms = cell.step_ms});
    for (const RunMeasure& run : cell.runs) {
      if (seeds.contains(run.run.seed)) part.back().runs.push_back(run);
    }
  }
  return part;
}

bool is_decided(Verdict verdict) {
  return verdict != Verdict::kInconclusive && verdict != Verdict::kMissing;
}

/// A look decides only what no earlier look has decided.
void keep_first(MeasuredEffect& effect, Verdict at_look, int look) {
  if (effect.decided_at_look || !is_decided(at_look)) return;
  effect.verdict = at_look;
  effect.decided_at_look = look;
}

void keep_first(EffectResult& result, const EffectResult& at_look, int look) {
  keep_first(result.loss, at_look.loss.verdict, look);
  keep_first(result.log_time, at_look.log_time.verdict, look);
  keep_first(result.log_memory, at_look.log_memory.verdict, look);
  const bool is_decided_now = at_look.verdict && *at_look.verdict != FeatureVerdict::kInconclusive;
  if (result.decided_at_look || !is_decided_now) return;
  result.verdict = at_look.verdict;
  result.no_verdict = NoVerdict::kNone;
  result.decided_at_look = look;
}

}  // namespace

std::vector<Look> looks_of(const results::SequentialLook& look) {
  return sequential_looks(look.first, look.most, look.step,
                          {.alpha = look.alpha / look.family, .spending_power = look.spending_power});
}

EffectRules rules_of(const results::PlanRecord& plan, EffectRules rules) {
  if (!plan.sequential) return rules;
  const std::vector<Look> looks = looks_of(*plan.sequential);
  return rules_at(*plan.sequential, looks, index_of(*plan.sequential, looks), rules);
}

EffectRules final_rules_of(const results::PlanRecord& plan, EffectRules rules) {
  if (!plan.sequential) return rules;
  const std::vector<Look> looks = looks_of(*plan.sequential);
  return rules_at(*plan.sequential, looks, looks.size() - 1, rules);
}

int single_changes(const std::vector<results::PlanContrast>& contrasts) {
  return static_cast<int>(std::count_if(contrasts.begin(), contrasts.end(), is_single_change));
}

bool is_judged_by_lenth(const std::vector<results::PlanContrast>& contrasts) {
  return contrasts.size() >= kMinForLenth && std::all_of(contrasts.begin(), contrasts.end(), is_factorial);
}

std::vector<EffectResult> analyse_effects(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                          const EffectRules& given) {
  if (!plan.sequential) return judge_all(plan, cells, given);
  const std::vector<Look> looks = looks_of(*plan.sequential);
  const std::size_t last = index_of(*plan.sequential, looks);
  std::vector<EffectResult> results = judge_all(plan, cells, rules_at(*plan.sequential, looks, last, given));
  for (std::size_t index = 0; index <= last; ++index) {
    const std::vector<EffectResult> at_look = index == last
                                                  ? results
                                                  : judge_all(plan, with_seeds(cells, seeds_at(plan, index)),
                                                              rules_at(*plan.sequential, looks, index, given));
    for (std::size_t i = 0; i < results.size(); ++i) keep_first(results[i], at_look[i], static_cast<int>(index) + 1);
  }
  return results;
}

namespace {

using Status = SeedsForVerdict::Status;

/// The alpha that Holm leaves for each effect that is not yet proved to differ.
double alpha_left(const std::vector<EffectResult>& effects, const EffectRules& rules) {
  if (rules.nominal_p) return *rules.nominal_p;
  const auto open = std::count_if(effects.begin(), effects.end(), [&](const EffectResult& effect) {
    return !effect.adjusted_p || *effect.adjusted_p >= rules.alpha;
  });
  return rules.alpha / static_cast<double>(std::max<std::ptrdiff_t>(open, 1));
}

/// The variance of the effect's seconds, with the part of the losses as this plan and the earlier ones show it
/// together.
double informed_variance(const EffectResult& effect, const EffectRules& rules) {
  const double variance = effect.seconds.equal_loss.estimate.se * effect.seconds.equal_loss.estimate.se;
  const MeasuredEffect& loss = effect.loss;
  const bool is_known =
      rules.earlier_loss && loss.estimate && loss.plan_sd && *loss.plan_sd > 0.0 && loss.plan_df > 0.0;
  if (!is_known || !effect.seconds.gain) return variance;
  const double own = *loss.plan_sd * *loss.plan_sd, earlier = rules.earlier_loss->sd * rules.earlier_loss->sd;
  const double together =
      (loss.plan_df * own + rules.earlier_loss->df * earlier) / (loss.plan_df + rules.earlier_loss->df);
  const double of_loss = loss.estimate->se / *effect.seconds.gain;
  return std::max(0.0, variance - of_loss * of_loss) + std::min(variance, of_loss * of_loss) * together / own;
}

/// The effect's error with another number of seeds. Without a forecast, that of independent seeds.
ErrorOfRuns error_with(const EffectResult& effect, const EffectRules& rules, int have) {
  const Estimate& estimate = effect.seconds.equal_loss.estimate;
  const std::optional<ErrorForecast> forecast = effect.seconds.forecast;
  const double se_of_one = std::sqrt(informed_variance(effect, rules) * static_cast<double>(have));
  const double df_of_one = estimate.df / (have - 1.0);
  return [=](int n) {
    return PlannedError{.se = se_of_one / std::sqrt(static_cast<double>(n)),
                        .df = forecast ? forecast->at(n).df : df_of_one * (n - 1.0)};
  };
}

SeedsForVerdict seeds_for(const EffectResult& effect, const EffectRules& rules, double alpha_difference) {
  SeedsForVerdict result{.have = std::min(effect.loss.n, effect.log_time.n)};
  if (!effect.other_code.empty()) return result;
  if (result.have == 1) result.status = Status::kOneSeed;
  if (result.have < 2 || !effect.seconds.equal_loss.is_converted() || !effect.seconds.reference_s) return result;
  const Estimate& estimate = effect.seconds.equal_loss.estimate;
  const VerdictTests tests{.margins = Margins::symmetric(seconds_margin(effect, rules)),
                           .alpha_difference = alpha_difference,
                           .alpha_equivalence = alpha_difference};
  // The true effect may lie anywhere in its own interval. One that includes both nothing and something promises no
  // number: it would be small by luck alone.
  const ConfidenceInterval range = interval_of(estimate, 1.0 - rules.alpha);
  const bool is_equivalent = -tests.margins.low < range.low && range.high < tests.margins.high;
  if (range.contains(0.0) && !is_equivalent) {
    result.status = Status::kWithinNoise;
    return result;
  }
  const ErrorOfRuns error = error_with(effect, rules, result.have);
  const auto needed_for = [&](double value) -> std::optional<int> {
    const std::optional<int> runs = required_runs_for_verdict(value, error, tests, kVerdictPower, kMaxSeedsNamed);
    // The seeds so far may have missed, by bad luck, a verdict that this many seeds usually give.
    return runs ? std::optional(std::max({*runs, rules.min_n, result.have + 1})) : std::nullopt;
  };
  result.seeds = needed_for(estimate.value);
  for (const double end : {range.low, range.high}) {
    const std::optional<int> at_end = needed_for(end);
    if (at_end) result.min_seeds = std::min(result.min_seeds.value_or(*at_end), *at_end);
    result.max_seeds = at_end && (end == range.low || result.max_seeds)
                           ? std::optional(std::max(result.max_seeds.value_or(0), *at_end))
                           : std::nullopt;
  }
  result.status = result.seeds ? Status::kKnown : Status::kTooMany;
  return result;
}

/// Whether a test at the last look, with this error there, hardly decides, given the estimate at this share of the
/// seeds.
bool is_hardly_decided(const Estimate& now, const PlannedError& last, double margin, double information,
                       const EffectRules& rules) {
  if (!(last.se > 0.0)) return false;
  const double alpha = rules.nominal_p.value_or(rules.alpha);
  const double outer = -t_quantile(alpha / 2.0, last.df);
  const double inner = margin / last.se + t_quantile(alpha, last.df);
  const double z = t_of(now), root = std::sqrt(information);
  return std::all_of(kFutileErrors.begin(), kFutileErrors.end(), [&](double errors) {
    return conditional_power(z, information, (z + errors) / root, outer, inner) < kFutile;
  });
}

}  // namespace

bool is_futile(const EffectResult& effect, const EffectRules& rules, int most) {
  const int have = std::min(effect.loss.n, effect.log_time.n);
  if (have < 2 || most <= have || !effect.seconds.equal_loss.is_converted() || !effect.seconds.reference_s)
    return false;
  return is_hardly_decided(effect.seconds.equal_loss.estimate, error_with(effect, rules, have)(most),
                           seconds_margin(effect, rules), static_cast<double>(have) / most, rules);
}

namespace {

/// The same as is_futile(), for one metric.
bool is_futile_part(const MeasuredEffect& effect, double margin, const EffectRules& rules, int most) {
  if (!effect.estimate || effect.n < 2 || most <= effect.n) return false;
  const double scale = static_cast<double>(effect.n) / most;
  const PlannedError last =
      effect.forecast ? effect.forecast->at(most)
                      : PlannedError{.se = effect.estimate->se * std::sqrt(scale), .df = effect.estimate->df / scale};
  return is_hardly_decided(*effect.estimate, last, margin, scale, rules);
}

}  // namespace

Prospect prospect_of(const EffectResult& effect, const EffectRules& rules, int most) {
  if (!effect.other_code.empty()) return Prospect::kUndecidable;
  if (effect.seconds.equal_loss.is_converted())
    return is_futile(effect, rules, most) ? Prospect::kFutile : Prospect::kOpen;
  struct Part {
    const MeasuredEffect& effect;
    double margin;
  };
  bool is_futile_in_all = true, is_decided_in_all = effect.loss.n > 0;
  for (const Part& part :
       {Part{effect.loss, rules.loss_margin}, Part{effect.log_time, std::log1p(rules.time_margin)}}) {
    if (part.effect.n == 0 || is_decided(part.effect.verdict)) continue;
    is_decided_in_all = false;
    is_futile_in_all &= is_futile_part(part.effect, part.margin, rules, most);
  }
  if (is_decided_in_all) return Prospect::kByParts;
  return is_futile_in_all && effect.loss.n > 0 ? Prospect::kFutile : Prospect::kOpen;
}

std::string seeds_range(const SeedsForVerdict& needed) {
  const int from = needed.min_seeds ? *needed.min_seeds : needed.seeds.value();
  if (!needed.max_seeds) return std::to_string(from) + " or more";
  return *needed.max_seeds > from ? std::to_string(from) + " to " + std::to_string(*needed.max_seeds)
                                  : std::to_string(from);
}

std::vector<std::optional<SeedsForVerdict>> seeds_needed(const std::vector<EffectResult>& effects,
                                                         const EffectRules& rules) {
  const double alpha = alpha_left(effects, rules);
  std::vector<std::optional<SeedsForVerdict>> needed;
  for (const EffectResult& effect : effects) {
    const bool is_open = effect.verdict == FeatureVerdict::kInconclusive;
    needed.push_back(is_open ? std::optional(seeds_for(effect, rules, alpha)) : std::nullopt);
  }
  return needed;
}

}  // namespace nanobench::reports
