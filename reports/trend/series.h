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

/// One value of a series: of one run, or for the loss the mean over the runs of one seed and revision, because a
/// program gives one seed one loss.
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
  std::string failure;  ///< how the last failed one ended
};

/// Runs that are not comparable with a series, and why.
struct LeftOutRuns {
  std::string cell;
  std::vector<TrendMetric> metrics;
  std::string reason;
  int runs = 0;           ///< completed
  bool is_newer = false;  ///< one of them began after the last run of the series
};

struct TrendSeries {
  std::string cell;
  TrendMetric metric = TrendMetric::kLoss;
  TrendConditions conditions;             ///< of all its runs; the host of times only
  std::vector<SeriesRevision> revisions;  ///< in the order of Revisions::all
};

struct SeriesChoice {
  std::vector<std::string> cells;             ///< empty: all
  std::vector<TrendMetric> metrics;           ///< in the order of the answer
  std::optional<std::string> host;            ///< only runs of this one
  std::optional<std::size_t> last_revisions;  ///< only the newest so many
};

struct SeriesSet {
  std::vector<Revision> revisions;  ///< all that the chosen runs have, by their first run
  std::vector<TrendSeries> series;  ///< cells in the order of their first run, then metrics
  std::vector<LeftOutRuns> left_out;
};

/// Of the groups of comparable runs of a cell the one with the most completed runs is its series (of equal ones the
/// newest); the others are left out with what sets them apart. Imported logs are left out: when they were run is not
/// known. `last_revisions` counts those of the chosen cells.
SeriesSet make_series(std::span<const TrendRun> runs, const SeriesChoice& choice);

}  // namespace nanobench::reports
