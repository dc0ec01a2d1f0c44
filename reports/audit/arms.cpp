#include "reports/audit/arms.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "reports/stats/multiple.h"
#include "reports/stats/power.h"
#include "results/import/speedrun_line.h"

namespace nanobench::reports {
namespace {

/// The last digit that logs print, in the metric's unit.
double printed_digit(ArmMetric metric) {
  switch (metric) {
    case ArmMetric::kLoss: return results::kPrintedLoss;
    case ArmMetric::kStepTime: return results::kPrintedStepMs;
    case ArmMetric::kTrainTime:
    case ArmMetric::kTargetTime: break;
  }
  return results::kPrintedMs;
}

/// The error of means whose values agree in every printed digit: each value is uniform within its last one.
Estimate rounding_estimate(const Moments& candidate, const Moments& control, double digit) {
  const double variance = rounding_variance(digit);
  return {.value = candidate.mean - control.mean,
          .se = std::sqrt(variance / candidate.n + variance / control.n),
          .df = kInfinity};
}

/// Why the metric of the two arms is no question; kNone if it is one.
ArmReason why_no_question(const LogArm& a, const LogArm& b, ArmMetric metric) {
  if (metric == ArmMetric::kLoss) return ArmReason::kNone;
  if (a.hardware.empty() || a.hardware != b.hardware) return ArmReason::kOtherHardware;
  const auto all_reach = [](const LogArm& arm) { return arm.target_ms.size() == arm.losses.size(); };
  if (metric == ArmMetric::kTargetTime && (!all_reach(a) || !all_reach(b))) return ArmReason::kTargetMissed;
  return ArmReason::kNone;
}

/// The difference and its error; no p-value yet.
ArmEffect measured_effect(const LogArm& candidate, const LogArm& control, ArmMetric metric) {
  ArmEffect effect;
  effect.reason = why_no_question(candidate, control, metric);
  if (effect.reason != ArmReason::kNone) return effect;
  const std::vector<double>& first = values_of(candidate, metric);
  const std::vector<double>& second = values_of(control, metric);
  const std::optional<double> mean = mean_of(first);
  const std::optional<double> reference = mean_of(second);
  if (!mean || !reference) {
    effect.reason = ArmReason::kNoValue;
    return effect;
  }
  effect.difference = *mean - *reference;
  effect.verdict = Verdict::kInconclusive;
  const std::optional<Moments> a = moments_of(first);
  const std::optional<Moments> b = moments_of(second);
  if (!a || !b) {
    effect.reason = ArmReason::kOneRun;
    return effect;
  }
  effect.is_from_rounding = !a->has_spread() && !b->has_spread();
  effect.estimate = effect.is_from_rounding ? rounding_estimate(*a, *b, printed_digit(metric)) : welch(*a, *b);
  return effect;
}

int smaller_n(const LogArm& a, const LogArm& b, ArmMetric metric) {
  return static_cast<int>(std::min(values_of(a, metric).size(), values_of(b, metric).size()));
}

void judge(ArmEffect& effect, int n) {
  if (!effect.adjusted_p) return;
  if (n < kMinArmRuns) {
    effect.reason = ArmReason::kFewRuns;
    return;
  }
  if (*effect.adjusted_p >= kArmAlpha) return;
  effect.verdict = *effect.difference < 0 ? Verdict::kImproved : Verdict::kRegressed;
}

/// The same for the effect's pair in a family of `family` questions.
std::optional<int> settling_runs(const ArmEffect& effect, const LogArm& candidate, const LogArm& control,
                                 ArmMetric metric, std::size_t family) {
  if (effect.verdict != Verdict::kInconclusive || !effect.estimate || effect.is_from_rounding) return std::nullopt;
  if (*effect.difference == 0) return std::nullopt;
  const double rounding = std::sqrt(rounding_variance(printed_digit(metric)));  // one arm may lack a spread
  const double first = std::max(moments_of(values_of(candidate, metric))->sd, rounding);
  const double second = std::max(moments_of(values_of(control, metric))->sd, rounding);
  const auto error = [&](int n) { return planned_error(first, n, second, n); };
  const PowerSettings settings{.alpha = kArmAlpha / static_cast<double>(family)};
  const std::optional<int> runs =
      required_runs(std::abs(*effect.difference), error, kSettlePower, settings, kMaxSettleRuns);
  return runs ? std::optional(std::max(*runs, kMinArmRuns)) : std::nullopt;
}

std::vector<ArmEffect> settled_effects(const ArmComparison& comparison, ArmMetric metric) {
  std::vector<ArmEffect> effects = arm_effects(comparison.arms, comparison.pairs, metric);
  const auto family = static_cast<std::size_t>(
      std::count_if(comparison.pairs.begin(), comparison.pairs.end(), [&](const ArmPair& pair) {
        return why_no_question(comparison.arms[pair.candidate], comparison.arms[pair.control], metric) ==
               ArmReason::kNone;
      }));
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const ArmPair& pair = comparison.pairs[i];
    effects[i].settling_runs =
        settling_runs(effects[i], comparison.arms[pair.candidate], comparison.arms[pair.control], metric, family);
  }
  return effects;
}

void read_target_times(LogArm& arm, double target) {
  for (const LogCurve& curve : arm.curves) {
    if (curve.points.size() < 2) continue;  // one validation says that the target is reached, not when
    const TimeToTarget time = time_to_target(curve.points, target);
    if (time.is_reached()) arm.target_ms.push_back(time.seconds * 1000.0);
  }
}

}  // namespace

const std::vector<double>& values_of(const LogArm& arm, ArmMetric metric) {
  switch (metric) {
    case ArmMetric::kLoss: return arm.losses;
    case ArmMetric::kStepTime: return arm.step_ms;
    case ArmMetric::kTargetTime: return arm.target_ms;
    case ArmMetric::kTrainTime: break;
  }
  return arm.train_ms;
}

std::vector<ArmPair> pairs_with(std::size_t control, std::size_t arms) {
  std::vector<ArmPair> pairs;
  for (std::size_t i = 0; i < arms; ++i) {
    if (i != control) pairs.push_back({.control = control, .candidate = i});
  }
  return pairs;
}

std::vector<ArmPair> all_pairs(std::size_t arms) {
  std::vector<ArmPair> pairs;
  for (std::size_t i = 0; i < arms; ++i) {
    for (std::size_t j = i + 1; j < arms; ++j) pairs.push_back({.control = i, .candidate = j});
  }
  return pairs;
}

std::vector<ArmEffect> arm_effects(std::span<const LogArm> arms, std::span<const ArmPair> pairs, ArmMetric metric) {
  std::vector<ArmEffect> effects;
  std::vector<std::size_t> family;  // indices of the effects that are questions
  std::vector<std::optional<Estimate>> estimates;
  std::vector<std::optional<double>> p;
  for (const ArmPair& pair : pairs) {
    const LogArm& candidate = arms[pair.candidate];
    const LogArm& control = arms[pair.control];
    ArmEffect effect = measured_effect(candidate, control, metric);
    if (effect.estimate) effect.p = p_of(*effect.estimate);
    if (why_no_question(candidate, control, metric) == ArmReason::kNone) {
      family.push_back(effects.size());
      estimates.push_back(effect.estimate);
      p.push_back(effect.p);
    }
    effects.push_back(effect);
  }
  const std::vector<std::optional<double>> adjusted = holm(p);
  const std::vector<std::optional<ConfidenceInterval>> intervals = simultaneous_intervals(estimates, 1 - kArmAlpha);
  for (std::size_t i = 0; i < family.size(); ++i) {
    ArmEffect& effect = effects[family[i]];
    const ArmPair& pair = pairs[family[i]];
    effect.adjusted_p = adjusted[i];
    effect.interval = intervals[i];
    judge(effect, smaller_n(arms[pair.candidate], arms[pair.control], metric));
  }
  return effects;
}

ArmComparison compare_arms(std::vector<LogArm> arms, std::size_t control, const TrackRule& rule) {
  if (arms.size() < 2) refuse("two arms or more are needed for a comparison");
  if (control >= arms.size()) refuse("the control is none of the arms");
  ArmComparison result{.rule = rule, .arms = std::move(arms), .control = control};
  result.pairs = pairs_with(control, result.arms.size());
  for (LogArm& arm : result.arms) read_target_times(arm, rule.target);
  result.loss = settled_effects(result, ArmMetric::kLoss);
  result.time = settled_effects(result, ArmMetric::kTrainTime);
  result.step_time = settled_effects(result, ArmMetric::kStepTime);
  result.target_time = settled_effects(result, ArmMetric::kTargetTime);
  for (const LogArm& arm : result.arms) {
    result.t.push_back(one_sample_t(arm.losses, rule.target));
    result.z.push_back(known_sigma_rule(arm.losses, rule.target));
  }
  return result;
}

}  // namespace nanobench::reports
