#include "reports/forecast/detectable.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/stats/power.h"

namespace nanobench::reports {
namespace {

using core::Error;
using core::ErrorCode;

constexpr int kMostSeeds = 1000000;

void require(bool holds, const std::string& option, double value, const std::string& expected) {
  if (holds) return;
  throw Error(ErrorCode::kInvalidArgument,
              option + " expects " + expected + ", got " + (std::isnan(value) ? "no number" : std::to_string(value)));
}

/// Of one seed's contrast, when the cells' runs are independent but for what a seed gives all of them.
double contrast_sd(const results::PlanContrast& contrast, double sd) {
  double squares = 0.0;
  for (const auto& [cell, coefficient] : contrast.coefficients) squares += coefficient * coefficient;
  return std::sqrt(squares) * sd;
}

/// nullopt where n runs give no error.
std::optional<PlannedError> error_of(double sd, const DetectionPlan& plan) {
  if (plan.seeds >= 2) return planned_error(sd, plan.seeds);
  if (plan.has_lenth) return PlannedError{.se = sd, .df = plan.tests / 3.0};
  return std::nullopt;
}

}  // namespace

void check_rules(const DetectionRules& rules) {
  require(rules.alpha > 0.0 && rules.alpha < 1.0, "--alpha", rules.alpha, "a number between 0 and 1");
  require(rules.power > rules.alpha && rules.power < 1.0, "--power", rules.power, "a number between alpha and 1");
  if (rules.loss) require(*rules.loss > 0.0 && std::isfinite(*rules.loss), "--detect", *rules.loss, "a number above 0");
  if (rules.time)
    require(*rules.time > 0.0 && std::isfinite(*rules.time), "--detect-time", *rules.time, "a number above 0");
}

Detectable detectable(const results::PlanContrast& contrast, const NoiseFigure& noise, const DetectionPlan& plan,
                      const DetectionRules& rules, const std::optional<double>& asked) {
  Detectable result{.is_bound = noise.is_bound};
  if (!noise.spread) {
    result.reason = noise.source;
    return result;
  }
  const double sd = contrast_sd(contrast, noise.spread->sd);
  result.sd = sd;
  if (!(sd > 0.0)) {
    result.reason = "the stored runs of one seed do not differ";
    return result;
  }
  const PowerSettings alone{.alpha = rules.alpha};
  const PowerSettings among_all{.alpha = rules.alpha / plan.tests};
  if (asked) {
    const auto error = [sd](int n) { return planned_error(sd, n); };
    result.seeds = required_runs(*asked, error, rules.power, alone, kMostSeeds);
    result.seeds_among_all = required_runs(*asked, error, rules.power, among_all, kMostSeeds);
    if (!result.seeds || !result.seeds_among_all)
      result.reason = "more than " + format_count(kMostSeeds) + " seeds would be needed";
    return result;
  }
  const std::optional<PlannedError> error = error_of(sd, plan);
  if (!error) {
    result.reason = "one seed gives no error: --seeds 2 or more";
    return result;
  }
  result.effect = minimum_detectable_effect(*error, rules.power, alone);
  result.effect_among_all = minimum_detectable_effect(*error, rules.power, among_all);
  return result;
}

}  // namespace nanobench::reports
