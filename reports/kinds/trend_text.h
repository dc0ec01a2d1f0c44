/// The wording of a trend report, and cells that its parts share. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/document/document.h"
#include "reports/trend/trend.h"

namespace nanobench::reports {

/// A change and its series.
struct PlacedChange {
  const SeriesTrend* item = nullptr;
  const TrendChange* change = nullptr;
};

/// Worst first.
std::vector<PlacedChange> all_changes(const Trend& trend);

/// The runs of all revisions.
SeriesRevision sum_of(const TrendSeries& series);

/// "step time of record12"
std::string name_of(const TrendSeries& series);
/// "3.2791", "74.80 ms", "12.3 s", "178 MiB"
std::string trend_value_text(TrendMetric metric, double value);
/// "+2.1 %" or "+0.0012"; "2.1 %" without a sign.
std::string shift_text(TrendMetric metric, double shift, bool has_sign);
/// "[1.8 %, 2.4 %]"; empty without an interval.
std::string shift_interval_text(TrendMetric metric, const Shift& shift);
/// Where it happened: "between 1a2b3c4 and 4d5e6f7", "within 1a2b3c4".
std::string place_text(const Trend& trend, const SeriesTrend& item, const TrendChange& change);
/// "rose by 2.1 % [1.8 %, 2.4 %] between 1a2b3c4 and 4d5e6f7"
std::string change_text(const Trend& trend, const SeriesTrend& item, const TrendChange& change);

const Revision& revision_at(const Trend& trend, const SeriesTrend& item, std::size_t index);
/// The label for people, the full name for machines; a missing cell for a series without runs.
TableCell revision_cell(const Revision& revision);
/// "2026-11-22" for people, the whole time for machines.
TableCell date_cell(const std::string& time);
TableCell shift_cell(TrendMetric metric, const std::optional<Shift>& shift);
/// The range in which the newest or any other revision was expected.
TableCell expectation_cell(TrendMetric metric, const Expectation& expectation);

}  // namespace nanobench::reports
