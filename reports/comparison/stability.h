/// How large learning rates may be before training diverges: the runs of a sweep over the factor on all rates
/// (/schedule/rate_factor), with and without whatever else the plan varies. Pure functions of store rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// Whether a run has diverged: one of its losses was not finite, or its last validation loss is not below `threshold`;
/// without one, not below its own first validation loss. nullopt if it did not end by itself, or has no losses.
///   curve   of a run that has completed
std::optional<bool> has_diverged(const RunMeasure& run, const std::optional<double>& threshold = std::nullopt);

/// The factor on all rates in a stored configuration; 1 where it has none.
double rate_factor_of(const std::string& config);

/// The runs with one factor.
struct StabilityPoint {
  double factor = 1.0;
  std::map<std::uint64_t, bool> diverged;      ///< by seed
  std::optional<ConfidenceInterval> interval;  ///< of the share that diverges (Wilson)

  int runs() const { return static_cast<int>(diverged.size()); }
  int count() const;
  double share() const { return static_cast<double>(count()) / runs(); }
};

/// A configuration at several factors.
struct StabilityArm {
  std::string label;                   ///< "qk_norm=off", or of the cell at factor 1
  std::vector<StabilityPoint> points;  ///< ascending factors, each with a run
  /// The metric eval/stable_rate: the largest factor up to which no run of any seed diverges. Absent: at least one
  /// diverges at the smallest.
  std::optional<double> stable_rate;
  bool is_open = false;   ///< no run diverges at the largest factor either, so the rate may be larger
  BySeed stable_by_seed;  ///< the same of each seed alone; half the smallest factor where that diverges
  BySeed share_by_seed;   ///< share of the factors at which the seed diverges
  std::optional<ConfidenceInterval> share_interval;  ///< Wilson, of all its runs
  int runs = 0, diverged = 0;
};

/// An arm against the first.
struct StabilityChange {
  std::string label;
  std::optional<double> share;                 ///< change of the share that diverges, mean over the seeds of both
  std::optional<ConfidenceInterval> interval;  ///< t, paired by seed; absent for one seed or no spread
  bool is_exact = false;                       ///< the same in all of two or more seeds
  std::optional<double> rate_ratio;            ///< of the stable rates, geometric mean over the seeds of both
  int n = 0;                                   ///< seeds of both
};

struct Stability {
  std::optional<double> threshold;  ///< loss above which a run counts as diverged; absent: its own first one
  std::vector<StabilityArm> arms;   ///< in the order of the plan's cells
  std::vector<StabilityChange> changes;
};

/// nullopt if no arm has two factors.
std::optional<Stability> stability_of(const std::vector<CellMeasures>& cells,
                                      const std::optional<double>& threshold = std::nullopt);

}  // namespace nanobench::reports
