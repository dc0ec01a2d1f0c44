/// One check of a gate: a metric of a cell, candidate against baseline. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>

#include "reports/gate/gate_policy.h"
#include "reports/stats/summary.h"
#include "reports/stats/verdict.h"

namespace nanobench::reports {

/// One metric of one cell.
struct GateCheck {
  std::string cell;
  GateMetric metric = GateMetric::kLoss;
  std::string name;  ///< "loss", "step time", "peak memory", "flops_per_step"
  std::string unit;  ///< of the means
  bool gates = true;
  Summary baseline;  ///< means and spreads, in the metric's unit
  Summary candidate;
  int pairs = 0;                     ///< 0: not paired
  bool is_ratio = true;              ///< change is a ratio - 1; else a difference
  std::optional<double> change;      ///< candidate against baseline; above 0 is worse
  std::optional<double> bound;       ///< the worst that the data bear at level 1 - alpha
  double margin = 0.0;               ///< in the form of `change`
  std::optional<double> p;           ///< of "not worse"; one-sided
  std::optional<double> adjusted_p;  ///< by Holm over the gate's tests
  std::optional<double> pass_power;  ///< chance that an unchanged candidate is proved unchanged with these runs
  Verdict verdict = Verdict::kMissing;
  std::string reason;  ///< one sentence
};

/// A change of this check for people: "+0.00120" nats, "+1.20 %".
std::string change_text(const GateCheck& check, double change);

/// `change` in the scale of the tests, where ratios are logarithms, and back.
double to_scale(double change, bool is_ratio);
double from_scale(double value, bool is_ratio);

}  // namespace nanobench::reports
