/// Groups the runs of a suite into series that may be compared over time: one per cell and metric. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/trend/trend_runs.h"

namespace nanobench::reports {

/// One value of a series: that of one run. For the loss, it is the mean over the runs of one seed and revision, because
/// a program gives the same loss for the same seed.
struct SeriesValue {
  std::uint64_t seed = 0;
  double value = 0.0;
};

/// One revision within a series.
struct SeriesRevision {
  std::size_t revision = 0;         ///< index into Revisions::all
  std::string first_at;             ///< start of its first run in the series
  std::vector<SeriesValue> values;  ///< in order of time; empty if no run completed
  int completed = 0;
  int failed = 0;       ///< diverged, crashed, timed out, ...
  int unfinished = 0;   ///< interrupted or running
  int disturbed = 0;    ///< number of disturbed ones among the completed
  std::string failure;  ///< outcome of the last failed run
};

/// Runs that are not comparable with a series, and why.
struct LeftOutRuns {
  std::string cell;
  std::vector<TrendMetric> metrics;
  std::string reason;
  int runs = 0;           ///< completed
  bool is_newer = false;  ///< one of them began after the series' last run
};

struct TrendSeries {
  std::string cell;
  TrendMetric metric = TrendMetric::kLoss;
  TrendConditions conditions;             ///< common to all its runs; the host only for times
  std::vector<SeriesRevision> revisions;  ///< in the order of Revisions::all
};

struct SeriesChoice {
  std::vector<std::string> cells;             ///< empty: all
  std::vector<TrendMetric> metrics;           ///< in the order of the report
  std::optional<std::string> host;            ///< only runs of this host
  std::optional<std::size_t> last_revisions;  ///< only this many of the newest
};

struct SeriesSet {
  std::vector<Revision> revisions;  ///< all revisions of the chosen runs, ordered by their first run
  std::vector<TrendSeries> series;  ///< ordered by the cells' first runs, then by metric
  std::vector<LeftOutRuns> left_out;
};

/// A cell's series is its group of comparable runs with the most completed ones; among equal groups, the newest. The
/// others are left out, with the reason. Imported logs are left out, because their dates are unknown. `last_revisions`
/// counts revisions of the chosen cells.
SeriesSet make_series(std::span<const TrendRun> runs, const SeriesChoice& choice);

}  // namespace nanobench::reports
