/// The values of a series for the search for changes, the placement of a split between revisions, and the test for a
/// machine whose speed varies by day. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "reports/trend/series.h"

namespace nanobench::reports {

/// One value of the search: a run, or a revision.
struct TrendValue {
  double value = 0.0;        ///< mean of the members; for a revision's losses, without the levels of their seeds
  std::size_t revision = 0;  ///< index into TrendSeries::revisions
  std::vector<SeriesValue> members;  ///< at least one
};

int revisions_with_values(const TrendSeries& series);

/// Whether two revisions with values have different seeds.
bool seeds_differ(const TrendSeries& series);

/// The level of each seed against the others, by an additive model of revision and seed; empty unless the series is a
/// loss. A seed that only one revision has carries no information on that revision. Sums to about 0.
std::map<std::uint64_t, double> seed_levels(const TrendSeries& series);

/// Ordered by revision, then by time. `is_by_revision`: one value for each revision that has any. Else each value
/// unchanged: removing the seeds' levels would leave too little spread between few revisions.
std::vector<TrendValue> trend_values(const TrendSeries& series, bool is_by_revision);

std::vector<double> plain(std::span<const TrendValue> values);
std::vector<SeriesValue> members_of(std::span<const TrendValue> values);

/// At most `max` means of neighbours, or the values themselves if there are no more than that. The i-th mean begins
/// with the value i * values.size() / averaged.size().
std::vector<double> averaged(std::span<const double> values, std::size_t max);

/// The best place of a step of the mean by least squares, at most `reach` values from `split`, with `min` values on
/// each side.
std::size_t refined_split(std::span<const double> values, std::size_t split, std::size_t reach, std::size_t min);

/// Where a new level begins.
struct Boundary {
  std::size_t index = 0;   ///< index of its first value
  std::size_t before = 0;  ///< revision of the previous value
  std::size_t after = 0;   ///< revision of its first value
};

/// A split near a boundary of revisions moves to it, because noise shifts a split by a few values. A split with `min`
/// values and a tenth of its revision on both sides, or in a series' only revision, happened within the revision.
Boundary boundary_at(std::span<const TrendValue> values, std::size_t split, std::size_t min);

/// p of "the revisions of one level differ by no more than their runs do": the F test of one-way analysis of variance,
/// within the levels that begin at `boundaries` (ascending). Assumes near normal runs. nullopt if no level has two
/// revisions, no revision has two values, or nothing differs.
std::optional<double> day_effect_p(std::span<const TrendValue> values, std::span<const std::size_t> boundaries);

}  // namespace nanobench::reports
