/// Checks one cell, candidate against baseline, metric by metric, before Holm's adjustment over all cells. Pure,
/// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/gate/gate_policy.h"
#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"
#include "reports/stats/verdict.h"

namespace nanobench::reports {

/// One metric of one cell.
struct GateCheck {
  std::string cell;
  GateMetric metric = GateMetric::kLoss;
  std::string name;  ///< "loss", "training clock", "peak memory", "flops_per_step"
  std::string unit;  ///< unit of the means
  bool gates = true;
  Summary baseline;  ///< means and spreads, in the metric's unit
  Summary candidate;
  int pairs = 0;                     ///< number of pairs; 0: not paired
  bool is_by_median = false;         ///< "step time": a side's file has medians of step times, and no training clocks
  bool is_ratio = true;              ///< `change` is a ratio - 1; else a difference
  std::optional<double> change;      ///< candidate against baseline; above 0 is worse
  std::optional<double> bound;       ///< the worst change that the data allow at level 1 - alpha
  double margin = 0.0;               ///< in the same form as `change`
  std::optional<double> p;           ///< one-sided p-value of "not worse"
  std::optional<double> adjusted_p;  ///< by Holm over the gate's tests
  std::optional<double> pass_power;  ///< chance that an unchanged candidate passes with these runs
  Verdict verdict = Verdict::kMissing;
  std::string reason;  ///< one sentence
};

/// A change of this check for people: "+0.00120" for nats, "+1.20 %".
std::string change_text(const GateCheck& check, double change);

/// Converts `change` to the scale of the tests, where a ratio is a logarithm, and back.
double to_scale(double change, bool is_ratio);
double from_scale(double value, bool is_ratio);

/// A check and, if its verdict is still open, the estimate to judge it by: the difference of losses, or of logarithms
/// for a ratio.
struct CellCheck {
  GateCheck check;
  std::optional<Estimate> open;  ///< absent: the verdict stands
  bool is_mismatch = false;      ///< the sides cannot be compared
};

struct CellComparison {
  const ArmCell* baseline = nullptr;  ///< null: the baseline lacks this cell
  const ArmCell& candidate;
  const Comparability& comparability;
  const GatePolicy& policy;
  bool is_interleaved = false;  ///< times are compared pair by pair only if so
};

/// Loss, time and memory, then the counts by name, then instructions if either side was counted.
std::vector<CellCheck> cell_checks(const CellComparison& comparison);

}  // namespace nanobench::reports
