/// What effect a plan can find, or how many seeds find a given effect. Pure, thread-safe.
///
/// A contrast is computed seed by seed and tested by t with n - 1 degrees of freedom, as reports/effects does; the
/// spread from the store is taken as true. A factorial that runs once is tested with Lenth's error.
#pragma once

#include <optional>
#include <string>

#include "reports/forecast/noise.h"
#include "results/records.h"

namespace nanobench::reports {

struct DetectionRules {
  double alpha = 0.05;  ///< two-sided
  double power = 0.8;
  std::optional<double> loss;  ///< effect to find, nats per token; absent: what n finds
  std::optional<double> time;  ///< effect to find, as a fraction of the step time
};

/// Throws Error{kInvalidArgument} for settings without meaning, named as the options are.
void check_rules(const DetectionRules& rules);

/// One metric of one contrast.
struct Detectable {
  std::optional<double> sd;                ///< of the effect from one seed
  bool is_bound = false;                   ///< the spread is at most that
  std::optional<double> effect;            ///< found with the power, tested alone
  std::optional<double> effect_among_all;  ///< found with the power, also when it is the only one of all tests (Holm)
  std::optional<int> seeds;                ///< that find the effect asked for
  std::optional<int> seeds_among_all;
  std::string reason;  ///< why something is absent
};

/// What the plan is like, as far as it counts here.
struct DetectionPlan {
  int seeds = 0;
  int tests = 1;           ///< contrasts, which are tested together
  bool has_lenth = false;  ///< a factorial whose effects have no error of their own with one seed
};

/// In the metric's own unit: nats, or logarithm of the time. `asked`: the effect to find.
Detectable detectable(const results::PlanContrast& contrast, const NoiseFigure& noise, const DetectionPlan& plan,
                      const DetectionRules& rules, const std::optional<double>& asked);

}  // namespace nanobench::reports
