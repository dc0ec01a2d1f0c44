/// Before a gate runs: the noise of its checks, the chance that an unchanged candidate passes, and the margins and
/// seeds that it takes. A check passes when its change is proved to be below the margin, by a one-sided t test; what is
/// proved equal or better is that too, so its chance is the power of this test. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/gate/gate_policy.h"
#include "reports/stats/power.h"

namespace nanobench::reports {

/// The spread that judges one metric, in the unit of its test: nats, or logarithms.
struct CheckNoise {
  double sd = 0.0;        ///< of a pair's difference, or of one run where the sides are not paired; 0: pairs are equal
  double df = 0.0;        ///< degrees of freedom of `sd`, above 0
  bool is_paired = true;  ///< else both sides have this sd, independently
  bool is_bound = false;  ///< the spread is at most this: the chance is at least what follows from it
};

/// The noise of each metric of a gate; absent: not known. Counts have none.
struct GateNoise {
  std::optional<CheckNoise> loss, time, memory;
  std::string source;  ///< in words: "the calibration in plan 3"

  const std::optional<CheckNoise>& of(GateMetric metric) const;  ///< not for kCost
};

/// The size of a planned gate.
struct GateSize {
  int n = 0;      ///< seeds of each side
  int cells = 1;  ///< whose paired losses and times share their spread (share_spreads)
};

/// The error of the metric's change in one cell, as the gate will estimate it. REQUIRES noise.sd > 0 and size.n >= 2.
PlannedError planned_check_error(GateMetric metric, const CheckNoise& noise, const GateSize& size);

/// The margin, in the unit of the test, within which an unchanged candidate passes with this power, on average over
/// estimates of the spread like this one. REQUIRES as above.
double margin_with_power(GateMetric metric, const CheckNoise& noise, const GateSize& size, double alpha, double power);

struct MetricForecast {
  GateMetric metric = GateMetric::kLoss;
  double margin = 0.0;           ///< of the policy
  std::optional<double> sd;      ///< CheckNoise::sd; absent: not known
  bool is_bound = false;         ///< CheckNoise::is_bound
  std::optional<double> chance;  ///< that all cells pass this metric
  std::optional<double> needed;  ///< margin that gives all cells kAimedChance with these seeds, in the policy's form
};

struct PassForecast {
  GateSize size;
  bool has_looks = false;               ///< seeds are added up to size.n: the chances are those of the last look alone
  std::vector<MetricForecast> metrics;  ///< those that gate, without costs
  std::optional<double> chance;         ///< of the gate, if checks are independent; absent: no noise is known
  std::optional<int> seeds;             ///< that give kAimedChance; absent: no number does, or nothing is known
  std::string source;                   ///< GateNoise::source

  static constexpr double kAimedChance = 0.9;
  static constexpr double kLowChance = 0.5;  ///< below it a gate is likely to be run in vain
  bool is_low() const { return chance && *chance < kLowChance; }
};

/// Fewer seeds than the policy's min_runs prove nothing, so that the chance is 0. `alpha`: of each check's test, for a
/// gate with looks that of the last one.
PassForecast forecast_pass(const GateNoise& noise, const GatePolicy& policy, const GateSize& size, double alpha);

}  // namespace nanobench::reports
