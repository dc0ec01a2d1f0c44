#include "reports/kinds/trend_text.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {

using core::OrderedJson;

std::vector<PlacedChange> all_changes(const Trend& trend) {
  std::vector<PlacedChange> changes;
  for (const SeriesTrend& item : trend.series) {
    for (const TrendChange& change : item.changes) changes.push_back({.item = &item, .change = &change});
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const PlacedChange& a, const PlacedChange& b) { return a.change->harm > b.change->harm; });
  return changes;
}

SeriesRevision sum_of(const TrendSeries& series) {
  SeriesRevision sum;
  for (const SeriesRevision& revision : series.revisions) {
    sum.completed += revision.completed;
    sum.failed += revision.failed;
    sum.unfinished += revision.unfinished;
    sum.disturbed += revision.disturbed;
  }
  return sum;
}

std::string name_of(const TrendSeries& series) {
  return std::string(title_of(series.metric)) + " of " + series.cell;
}

std::string trend_value_text(TrendMetric metric, double value) {
  switch (metric) {
    case TrendMetric::kLoss: return format_fixed(value, 4);
    case TrendMetric::kStepTime: return format_significant(value, 4) + " ms";
    case TrendMetric::kTrainTime: return format_significant(value / 1000.0, 4) + " s";
    case TrendMetric::kPeakMemory: break;
  }
  return format_bytes(value);
}

std::string shift_text(TrendMetric metric, double shift, bool has_sign) {
  if (metric == TrendMetric::kLoss) return has_sign ? format_signed(shift, 4) : format_fixed(std::abs(shift), 4);
  const int digits = std::abs(shift) < 0.01 ? 2 : 1;
  return has_sign ? format_signed_percent(shift, digits) : format_percent(std::abs(shift), digits);
}

std::string shift_interval_text(TrendMetric metric, const Shift& shift) {
  if (!shift.interval) return "";
  return "[" + shift_text(metric, shift.interval->low, true) + ", " + shift_text(metric, shift.interval->high, true) +
         "]";
}

const Revision& revision_at(const Trend& trend, const SeriesTrend& item, std::size_t index) {
  return trend.revisions[item.series.revisions[index].revision];
}

std::string place_text(const Trend& trend, const SeriesTrend& item, const TrendChange& change) {
  const std::string before = revision_at(trend, item, change.before).label;
  if (change.is_within_revision()) return "within " + before;
  return "between " + before + " and " + revision_at(trend, item, change.after).label;
}

std::string change_text(const Trend& trend, const SeriesTrend& item, const TrendChange& change) {
  const std::string place = place_text(trend, item, change);
  if (!change.shift) return "changed " + place;
  const TrendMetric metric = item.series.metric;
  const std::string unit = metric == TrendMetric::kLoss ? " nats" : "";
  std::string interval = shift_interval_text(metric, *change.shift);
  if (!interval.empty()) interval = " " + interval;
  if (!change.shift->is_clear()) {
    return "changed " + place + ", without a clear direction (" + shift_text(metric, change.shift->value, true) + unit +
           interval + ")";
  }
  return std::string(change.shift->value > 0 ? "rose" : "fell") + " by " +
         shift_text(metric, change.shift->value, false) + unit + interval + " " + place;
}

TableCell revision_cell(const Revision& revision) {
  return value_cell(revision.label, revision.name);
}

TableCell date_cell(const std::string& time) {
  constexpr std::size_t kDateLetters = 10;  // of an ISO 8601 time
  return value_cell(time.substr(0, kDateLetters), time);
}

TableCell shift_cell(TrendMetric metric, const std::optional<Shift>& shift) {
  if (!shift) return missing_cell();
  OrderedJson value = {{"value", shift->value}};
  add_bounds(value, shift->interval);
  value["is_clear"] = shift->is_clear();
  return value_cell(shift_text(metric, shift->value, true), std::move(value), shift_interval_text(metric, *shift));
}

TableCell expectation_cell(TrendMetric metric, const Expectation& expectation) {
  OrderedJson value = {{"position", enum_name(expectation.position)}, {"before", expectation.before}};
  add_bounds(value, expectation.interval);
  TableCell cell = value_cell(enum_name(expectation.position), std::move(value));
  if (expectation.interval) {
    cell.detail = "[" + trend_value_text(metric, expectation.interval->low) + ", " +
                  trend_value_text(metric, expectation.interval->high) + "]";
  } else if (expectation.position != TrendPosition::kUnknown) {
    cell.detail = "(all before: " + trend_value_text(metric, *expectation.mean_before) + ")";
  }
  return cell;
}

}  // namespace nanobench::reports
