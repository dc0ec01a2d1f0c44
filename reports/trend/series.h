/// From the runs of a suite to series that may be compared over time: one for each cell and metric. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/trend/trend_runs.h"

namespace nanobench::reports {

/// One value of a series: that of a run, or for the loss the mean over the runs of one seed and revision, because a
/// program gives the same loss for the same seed.
struct SeriesValue {
  std::uint64_t seed = 0;
  double value = 0.0;
};

/// One revision within a series.
struct SeriesRevision {
  std::size_t revision = 0;         ///< index into Revisions::all
  std::string first_at;             ///< of its first run here
  std::vector<SeriesValue> values;  ///< in the order of time; empty when no run completed
  int completed = 0;
  int failed = 0;       ///< diverged, crashed, timed out, ...
  int unfinished = 0;   ///< interrupted or running
  int disturbed = 0;    ///< of the completed ones
  std::string failure;  ///< outcome of the last failed run
};

/// Runs that are not comparable with a series, and why.
struct LeftOutRuns {
  std::string cell;
  std::vector<TrendMetric> metrics;
  std::string reason;
  int runs = 0;           ///< completed
  bool is_newer = false;  ///< a run of them began after the last run of the series
};

struct TrendSeries {
  std::string cell;
  TrendMetric metric = TrendMetric::kLoss;
  TrendConditions conditions;             ///< common to all its runs; the host for times only
  std::vector<SeriesRevision> revisions;  ///< in the order of Revisions::all
};

struct SeriesChoice {
  std::vector<std::string> cells;             ///< empty: all
  std::vector<TrendMetric> metrics;           ///< in the order of the report
  std::optional<std::string> host;            ///< only runs of this host
  std::optional<std::size_t> last_revisions;  ///< only this many of the newest
};

struct SeriesSet {
  std::vector<Revision> revisions;  ///< all that the chosen runs have, by their first run
  std::vector<TrendSeries> series;  ///< cells in the order of their first run, then metrics
  std::vector<LeftOutRuns> left_out;
};

/// The series of a cell is its group of comparable runs with the most completed ones; of equal groups, the newest. The
/// others are left out, with what sets them apart. Imported logs are left out, because their dates are unknown.
/// `last_revisions` counts revisions of the chosen cells.
SeriesSet make_series(std::span<const TrendRun> runs, const SeriesChoice& choice);

}  // namespace nanobench::reports
