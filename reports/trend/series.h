/// Groups the runs of a suite into series that may be compared over time, one per cell and metric, and measures the
/// shift from one group of values of a series to the next. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"
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
/// What differs between runs that are left out and those of the series.
struct OtherCondition {
  enum class Kind { kImported, kEngine, kScale, kConfiguration, kData, kDtype, kHardware, kThreads, kHost, kGpu };
  Kind kind = Kind::kConfiguration;
  std::string value = {};  ///< of the runs that are left out; empty: for kImported, kConfiguration, kData, and no GPU

  bool operator==(const OtherCondition&) const = default;
};

struct LeftOutRuns {
  std::string cell;
  std::vector<TrendMetric> metrics;
  std::vector<OtherCondition> others;
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

/// After relative to before: nats per token for the loss, else a fraction (0.02: 2 % more).
struct Shift {
  double value = 0.0;
  std::optional<ConfidenceInterval> interval;  ///< absent: too few values, or none of them differ
  std::optional<double> p;                     ///< p-value of "no difference"; absent if the interval is
  bool is_exact = false;                       ///< neither side has a spread: the difference is not due to chance

  /// Whether it is a rise or fall that chance does not explain.
  bool is_clear() const;
};

/// For times and bytes: the ratio, with Welch's interval of the logarithms. nullopt without a value on both sides, or
/// if a value is not above 0.
std::optional<Shift> ratio_shift(std::span<const double> before, std::span<const double> after);

/// For losses: the newest revision against those before, by seed, in a layout of revision x seed.
///   before   one entry per revision, in any order
///   own      the newest revision
/// Uses the seeds that `own` shares with the last revision before, and the revisions that have them all. Revisions with
/// the same losses are one: a program repeats them until it computes differently. Two or more different ones leave the
/// residual of revision + seed as the error, with (different ones) * (seeds - 1) degrees of freedom, the newest's own
/// included. With one, the newest's losses are drawn anew, and the spread over seeds of both sides is the error, with
/// 2 (seeds - 1). Losses equal to those of a revision before are no shift. The interval has the given level.
/// nullopt for fewer than two common seeds, or residuals without a spread.
std::optional<Shift> newest_loss_shift(std::span<const BySeed> before, const BySeed& own, double level = 0.95);

/// For losses: each seed counts once on each side, with its mean. Two or more common seeds are paired; otherwise
/// Welch's interval is used. nullopt without a value on both sides.
std::optional<Shift> loss_shift(std::span<const SeriesValue> before, std::span<const SeriesValue> after,
                                double level = 0.95);

}  // namespace nanobench::reports
