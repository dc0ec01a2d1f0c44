/// The results of a suite over the revisions of a program: when a series changed, by how much, and whether the newest
/// revision fits the earlier ones. Pure and seeded: gives the same result on every machine. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/enum_names.h"
#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"
#include "reports/trend/series.h"

namespace nanobench::reports {

inline constexpr int kMinBeside = 4;  ///< min values on each side of a change, and before a judged revision

struct TrendSettings {
  double alpha = 0.05;     ///< chance of at least one false change over all requested series
  std::uint64_t seed = 0;  ///< seed of the permutations
};

enum class TrendAnswer { kChanged, kSteady, kTooFew };
NB_ENUM_NAMES(TrendAnswer, {TrendAnswer::kChanged, "changed"}, {TrendAnswer::kSteady, "steady"},
              {TrendAnswer::kTooFew, "too few"});

/// The position of a revision's mean relative to the range that earlier values predict.
enum class TrendPosition { kInside, kAbove, kBelow, kUnknown };
NB_ENUM_NAMES(TrendPosition, {TrendPosition::kInside, "inside"}, {TrendPosition::kAbove, "above"},
              {TrendPosition::kBelow, "below"}, {TrendPosition::kUnknown, "too few"});

struct Expectation {
  TrendPosition position = TrendPosition::kUnknown;
  int before = 0;  ///< values since the last change; fewer than kMinBeside predict nothing
  std::optional<double> mean_before;
  std::optional<ConfidenceInterval> interval;  ///< of the mean, at 1 - alpha; absent if all earlier values are equal
  std::optional<double> p;                     ///< p-value of "it fits the earlier values"; absent if the interval is
};

struct RevisionTrend {
  Summary summary;  ///< summary of its values
  Expectation expectation;
};

struct TrendChange {
  std::size_t before = 0;  ///< last revision of the old level: index into TrendSeries::revisions
  std::size_t after = 0;   ///< first revision of the new level; equal to `before` for a change within one revision
  int n_before = 0;        ///< values of the old level, back to the previous change
  int n_after = 0;
  double mean_before = 0.0;
  double mean_after = 0.0;
  std::optional<Shift> shift;
  double p = 0.0;           ///< by permutation
  double adjusted_p = 0.0;  ///< over all series
  double harm = 0.0;        ///< the shift in units of a gate's usual margin; 0 if it is not clear

  bool is_within_revision() const { return before == after; }
};

struct SeriesTrend {
  TrendSeries series;
  TrendAnswer answer = TrendAnswer::kTooFew;
  bool is_by_revision = false;   ///< the values are means of revisions; else single runs
  bool has_mixed_seeds = false;  ///< a loss whose revisions have different seeds
  bool has_days = false;  ///< changed when judged by single runs, but its revisions differ more than their runs do
  int values = 0;         ///< values in the search
  int needed = 0;         ///< values below which no change can be found at this alpha
  std::vector<TrendChange> changes;  ///< in the order of time
  std::vector<RevisionTrend> rows;   ///< one for each of series.revisions
  std::optional<double> newest_p;    ///< p-value of the last row, adjusted over all series
  bool is_newest_apart = false;  ///< newest_p is at most alpha; without a p: apart by more than a gate's usual margin

  double harm() const;  ///< harm of the worst change
};

struct Trend {
  std::vector<Revision> revisions;
  std::vector<SeriesTrend> series;  ///< worst first
  std::vector<LeftOutRuns> left_out;
  double alpha = 0.05;

  int family() const { return static_cast<int>(series.size()); }
  /// Whether some series has an answer, or its newest revision could be judged.
  bool has_answer() const;
};

/// The values that a series needs before a permutation test can find a change among `family` series.
int needed_values(int family, double alpha);

/// E-divisive searches each series. Holm's method then judges all of them together, and likewise the newest revisions.
/// The values are means of revisions if there are enough of them to find a change; else single runs. Times may be
/// autocorrelated up to 0.5 from value to value; other metrics count as independent in time. A series of more than
/// kMaxSearched values is searched by averaging neighbours; the place of a change is then the best step among them.
/// Throws Error{kInvalidArgument} for an alpha outside (0, 1).
Trend analyse_trend(SeriesSet set, const TrendSettings& settings = {});

inline constexpr std::size_t kMaxSearched = 200;  ///< the search takes time proportional to its square

}  // namespace nanobench::reports
