#include "reports/effects/effects.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/factorial_effects.h"
#include "reports/stats/multiple.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kLeastForLenth = 7;
constexpr double kLeastNominal = 1e-12;  // below it 1 - p loses its digits

/// Factorial effects that have no error of their own get that of the small ones among them.
void add_lenth(std::vector<EffectResult>& results, MeasuredEffect EffectResult::*metric) {
  std::vector<double> values;
  std::vector<MeasuredEffect*> effects;
  for (EffectResult& result : results) {
    const bool is_factorial = result.contrast.kind == "main" || result.contrast.kind == "interaction";
    MeasuredEffect& effect = result.*metric;
    if (!is_factorial || !effect.value || effect.estimate || effect.n != 1) return;
    values.push_back(*effect.value);
    effects.push_back(&effect);
  }
  if (values.size() < kLeastForLenth) return;
  const std::optional<Lenth> lenth_error = lenth(values);
  if (!lenth_error) return;
  for (MeasuredEffect* effect : effects) {
    effect->estimate = Estimate{.value = *effect->value, .se = lenth_error->pse, .df = lenth_error->df};
    effect->source = ErrorSource::kLenth;
  }
}

/// Every seed says just the same: there is nothing to test.
Verdict exact_verdict(double value, double margin) {
  if (std::abs(value) <= margin) return Verdict::kUnchanged;
  return value < 0.0 ? Verdict::kImproved : Verdict::kRegressed;
}

/// p-values, Holm's adjustment and simultaneous intervals of one metric over all effects.
void test_all(std::vector<EffectResult>& results, MeasuredEffect EffectResult::*metric, double margin,
              const EffectRules& rules) {
  std::vector<std::optional<double>> p;
  std::vector<std::optional<Estimate>> estimates;
  for (EffectResult& result : results) {
    MeasuredEffect& effect = result.*metric;
    if (effect.estimate) effect.p = p_of(*effect.estimate);
    p.push_back(effect.p);
    estimates.push_back(effect.estimate);
  }
  const auto adjusted = rules.nominal_p ? p : holm(p);
  const auto intervals = simultaneous_intervals(estimates, 1.0 - rules.alpha);
  for (std::size_t i = 0; i < results.size(); ++i) {
    MeasuredEffect& effect = results[i].*metric;
    effect.adjusted_p = adjusted[i];
    effect.interval = intervals[i];
    // Of a look: an interval that holds at all looks together.
    if (rules.nominal_p && effect.estimate)
      effect.interval = interval_of(*effect.estimate, 1.0 - std::max(*rules.nominal_p, kLeastNominal));
    if (effect.is_exact() && effect.n >= rules.least_n) {
      effect.verdict = exact_verdict(*effect.value, margin);
      continue;
    }
    const bool has_lenth = effect.source == ErrorSource::kLenth;
    effect.verdict = verdict_of({.effect = effect.estimate,
                                 .n = has_lenth ? rules.least_n : effect.n,
                                 .p = effect.adjusted_p,
                                 .p_equivalence = std::nullopt},
                                {.margins = Margins::symmetric(margin),
                                 .alpha = rules.nominal_p.value_or(rules.alpha),
                                 .least_n = rules.least_n});
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

bool is_single_change(const results::PlanContrast& contrast) {
  return contrast.kind == "simple" || contrast.kind == "main";
}

void judge_feature(EffectResult& result, const EffectRules& rules) {
  result.verdict = FeatureVerdict::kInconclusive;
  const int n = std::min(result.loss.n, result.log_time.n);
  if (n == 0) {
    result.reason = "not every cell has a completed run";
    return;
  }
  if (!result.seconds.equal_loss.is_converted()) {
    result.reason = result.seconds.equal_loss.status == EqualLoss::Status::kSlopeUncertain
                        ? "the loss curve is too flat or too noisy at its end to turn loss into steps"
                    : n == 1 ? "n = 1 has no error"
                             : "the runs give no error to judge by";
    return;
  }
  if (n < rules.least_n) {
    result.reason = "n = " + std::to_string(n) + "; a verdict needs " + std::to_string(rules.least_n);
    return;
  }
  const double margin = rules.time_margin * *result.seconds.reference_s;
  result.verdict = feature_verdict_of({.effect = negated(result.seconds.equal_loss.seconds),
                                       .n = n,
                                       .p = result.adjusted_p,
                                       .p_equivalence = std::nullopt},
                                      margin, rules.nominal_p.value_or(rules.alpha), rules.least_n);
}

void judge_features(std::vector<EffectResult>& results, const EffectRules& rules) {
  std::vector<std::optional<double>> p;
  for (const EffectResult& result : results) {
    const Estimate& seconds = result.seconds.equal_loss.seconds;
    const bool is_asked =
        result.contrast.kind != "noise" && result.seconds.equal_loss.is_converted() && seconds.is_usable();
    p.push_back(is_asked ? std::optional<double>(p_of(seconds)) : std::nullopt);
  }
  const auto adjusted = rules.nominal_p ? p : holm(p);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].p = p[i];
    results[i].adjusted_p = adjusted[i];
    if (is_single_change(results[i].contrast)) judge_feature(results[i], rules);
  }
}

}  // namespace

std::vector<Look> looks_of(const results::SequentialLook& look) {
  return sequential_looks(look.first, look.most, look.step, {.alpha = look.alpha / look.family});
}

EffectRules rules_of(const results::PlanRecord& plan, EffectRules rules) {
  if (!plan.sequential) return rules;
  const std::vector<Look> looks = looks_of(*plan.sequential);
  const auto index = static_cast<std::size_t>(std::max(1, plan.sequential->look) - 1);
  rules.nominal_p = looks.at(std::min(index, looks.size() - 1)).nominal_p;
  rules.least_n = std::min(rules.least_n, plan.sequential->first);
  return rules;
}

int single_changes(const std::vector<results::PlanContrast>& contrasts) {
  return static_cast<int>(std::count_if(contrasts.begin(), contrasts.end(), is_single_change));
}

std::vector<EffectResult> analyse_effects(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                          const EffectRules& given) {
  const EffectRules rules = rules_of(plan, given);
  std::vector<EffectResult> results;
  for (const results::PlanContrast& contrast : plan.contrasts) {
    EffectResult& result = results.emplace_back();
    result.contrast = contrast;
    const std::vector<ContrastPart> parts = parts_of(contrast, cells);
    result.missing = cells_without_result(parts);
    result.loss = loss_effect(parts);
    result.log_time = log_time_effect(parts);
  }
  add_lenth(results, &EffectResult::loss);
  add_lenth(results, &EffectResult::log_time);
  test_all(results, &EffectResult::loss, rules.loss_margin, rules);
  test_all(results, &EffectResult::log_time, std::log1p(rules.time_margin), rules);
  for (EffectResult& result : results)
    result.seconds =
        seconds_at_equal_loss(parts_of(result.contrast, cells), result.loss, result.log_time, 1.0 - rules.alpha);
  judge_features(results, rules);
  return results;
}

}  // namespace nanobench::reports
