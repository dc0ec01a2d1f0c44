#include "reports/audit/arms.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "reports/stats/multiple.h"
#include "results/import/speedrun_line.h"

namespace nanobench::reports {
namespace {

/// The last digit that logs print, in the metric's unit.
double printed_digit(ArmMetric metric) {
  return metric == ArmMetric::kLoss ? results::kPrintedLoss : results::kPrintedMs;
}

const std::vector<double>& values_of(const LogArm& arm, ArmMetric metric) {
  return metric == ArmMetric::kLoss ? arm.losses : arm.train_ms;
}

/// The error of means whose values agree in every printed digit: each value is uniform within its last one.
Estimate rounding_estimate(const Moments& candidate, const Moments& control, double digit) {
  const double variance = rounding_variance(digit);
  return {.value = candidate.mean - control.mean,
          .se = std::sqrt(variance / candidate.n + variance / control.n),
          .df = kInfinity};
}

bool is_same_machine(const LogArm& a, const LogArm& b) {
  return !a.hardware.empty() && a.hardware == b.hardware;
}

/// The difference and its error; no p-value yet.
ArmEffect measured_effect(const LogArm& candidate, const LogArm& control, ArmMetric metric) {
  ArmEffect effect;
  if (metric == ArmMetric::kTrainTime && !is_same_machine(candidate, control)) {
    effect.reason = "the arms ran on different hardware";
    return effect;
  }
  const std::vector<double>& first = values_of(candidate, metric);
  const std::vector<double>& second = values_of(control, metric);
  const std::optional<double> mean = mean_of(first);
  const std::optional<double> reference = mean_of(second);
  if (!mean || !reference) {
    effect.reason = "an arm has no value";
    return effect;
  }
  effect.difference = *mean - *reference;
  effect.verdict = Verdict::kInconclusive;
  const std::optional<Moments> a = moments_of(first);
  const std::optional<Moments> b = moments_of(second);
  if (!a || !b) {
    effect.reason = "an arm has one run, which has no spread";
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
    effect.reason = "a verdict needs " + std::to_string(kMinArmRuns) + " runs in each arm";
    return;
  }
  if (*effect.adjusted_p >= kArmAlpha) return;
  effect.verdict = *effect.difference < 0 ? Verdict::kImproved : Verdict::kRegressed;
}

}  // namespace

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
    if (metric == ArmMetric::kLoss || is_same_machine(candidate, control)) {
      family.push_back(effects.size());
      estimates.push_back(effect.estimate);
      p.push_back(effect.p);
    }
    effects.push_back(std::move(effect));
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
  result.loss = arm_effects(result.arms, result.pairs, ArmMetric::kLoss);
  result.time = arm_effects(result.arms, result.pairs, ArmMetric::kTrainTime);
  for (const LogArm& arm : result.arms) {
    result.t.push_back(one_sample_t(arm.losses, rule.target));
    result.z.push_back(known_sigma_rule(arm.losses, rule.target));
  }
  return result;
}

}  // namespace nanobench::reports
