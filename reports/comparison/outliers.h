/// Finds outliers among the runs of a cell. They are flagged but kept in every mean, because a wild run is a finding
/// too. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::reports {

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

}  // namespace nanobench::reports
