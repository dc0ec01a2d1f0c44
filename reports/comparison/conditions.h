/// What limits a comparison: the conditions of runs, which must be equal before the noise of one run is evidence about
/// another; outliers among the runs of a cell, which are flagged but kept in every mean, because a wild run is a
/// finding too; and times that come from different code, because the engine has kernels for the settings of the latest
/// records and computes some others by single operations (engine/train/engine_facts.h). As thread-safe as the Store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/store.h"
#include "suites/design/plan.h"

namespace nanobench::reports {

/// What stands for the scale, data and number type of a trainer of the user's own, which have no names here.
inline constexpr const char* kOfTrainer = "external";

struct Conditions {
  std::string scale;
  std::string engine;    ///< with its kernels; any version
  std::string hardware;  ///< class (results/provenance.h)
  std::string dtype;
  int threads = 0;
  std::string trainer;  ///< suite name of an external trainer, because trainers share no scale; empty: our engines

  /// Whether the stored plan's scale and trainer allow its runs to count.
  bool apply_to(const results::PlanRecord& plan) const;
  /// Whether the run completed under these conditions. Only its plan knows the scale.
  bool hold_for(const results::RunRecord& run) const;
};

Conditions conditions_of(const suites::Plan& plan);

/// The conditions of the plan's first stored run; nullopt if it has none.
std::optional<Conditions> conditions_of(const results::Store& store, const results::PlanRecord& plan);

/// The newest plan of the design a_a at this scale whose runs all completed under these conditions.
std::optional<results::PlanRecord> newest_calibration(const results::Store& store, const Conditions& conditions);

struct CellMeasures;

/// With fewer runs, nothing shows which one is the outlier.
inline constexpr std::size_t kMinForOutliers = 5;
/// Robust standard deviations from the median (reports/stats/prediction.h).
inline constexpr double kOutlierLimit = 3.5;

struct OutlyingRun {
  std::uint64_t seed = 0;
  std::int64_t run_id = 0;
  double value = 0.0;
  double median = 0.0;  ///< median of the runs that it is compared with
  double score = 0.0;   ///< signed, in robust standard deviations
};

/// The outlying runs of a cell, in the order of its completed runs. Empty: none; absent: too few runs to judge.
struct CellOutliers {
  std::optional<std::vector<OutlyingRun>> val_loss;  ///< final, nats per token
  std::optional<std::vector<OutlyingRun>> step_ms;   ///< each against runs of the same machine and threads
};

CellOutliers outliers_of(const CellMeasures& cell);

/// A cell and its weight in a difference.
struct WeightedCell {
  const CellMeasures* cell = nullptr;
  double weight = 0.0;
};

/// The parts of a step for which the cells on one side of the difference lack a kernel while those on the other side
/// have one. Empty if there are none, or if the engine did not report them for every cell.
core::StepParts parts_without_kernel(const std::vector<WeightedCell>& difference);

/// The same for two runs, from their engines' reports (results::RunRecord::no_kernel_for).
core::StepParts parts_of_one_alone(const std::optional<core::StepParts>& a, const std::optional<core::StepParts>& b);

}  // namespace nanobench::reports
