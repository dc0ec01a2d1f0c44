#include <algorithm>
#include <limits>
#include <string>

#include "reports/charts/charts.h"
#include "reports/charts/rows.h"
#include "reports/trend/trend.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

struct Unit {
  const char* title;
  double size = 1.0;
};

Unit unit_of(TrendMetric metric) {
  switch (metric) {
    case TrendMetric::kLoss: return {"loss, nats/token"};
    case TrendMetric::kStepTime: return {"step time, ms"};
    case TrendMetric::kTrainTime: return {"training time, s", 1000.0};
    case TrendMetric::kPeakMemory: break;
  }
  return {"peak memory, MiB", kBytesPerMebibyte};
}

/// The mean of the level that a revision belongs to; absent in a series without changes.
std::optional<double> level_at(const SeriesTrend& item, std::size_t index) {
  std::optional<double> level;
  for (const TrendChange& change : item.changes) {
    if (!level) level = change.mean_before;
    if (index >= change.after) level = change.mean_after;
  }
  return level;
}

bool begins_level(const SeriesTrend& item, std::size_t index) {
  return std::any_of(item.changes.begin(), item.changes.end(),
                     [&](const TrendChange& change) { return change.after == index; });
}

void add_row(Table& table, const Trend& trend, const SeriesTrend& item, std::size_t index) {
  const SeriesRevision& revision = item.series.revisions[index];
  const RevisionTrend& row = item.rows[index];
  if (!row.summary.mean) return;
  const double size = unit_of(item.series.metric).size;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const SeriesValue& value : revision.values) {
    low = std::min(low, value.value);
    high = std::max(high, value.value);
  }
  const auto& interval = row.expectation.interval;
  const auto level = level_at(item, index);
  table.rows.push_back({text_cell(trend.revisions[revision.revision].label), text_cell(revision.first_at),
                        plotted_cell(*row.summary.mean / size), plotted_cell(low / size), plotted_cell(high / size),
                        count_cell(row.summary.n),
                        plotted_cell(interval ? std::optional(interval->low / size) : std::nullopt),
                        plotted_cell(interval ? std::optional(interval->high / size) : std::nullopt),
                        plotted_cell(level ? std::optional(*level / size) : std::nullopt),
                        begins_level(item, index) ? text_cell("new level") : missing_cell()});
}

OrderedJson x_axis() {
  OrderedJson x = {{"field", "revision"}, {"type", "ordinal"}, {"sort", nullptr}, {"title", nullptr}};
  x["axis"] = {{"labelAngle", -40}, {"labelOverlap", true}};
  return x;
}

OrderedJson spec_of(const char* axis, bool has_levels) {
  const OrderedJson items = {tooltip("revision", "revision"),
                             tooltip("first_at", "first run"),
                             tooltip("mean", "mean", ".6~g"),
                             tooltip("low", "lowest", ".6~g"),
                             tooltip("high", "highest", ".6~g"),
                             tooltip("n", "values", "d"),
                             tooltip("expected_low", "expected from", ".6~g"),
                             tooltip("expected_high", "to", ".6~g"),
                             tooltip("mark", "mark")};
  OrderedJson layers = {
      {{"transform", {{{"filter", "isValid(datum.expected_low)"}}}},
       {"mark", {{"type", "area"}, {"opacity", 0.15}}},
       {"encoding", {{"y", number_axis("expected_low", axis)}, {"y2", {{"field", "expected_high"}}}}}},
      {{"transform", {{{"filter", "datum.mark != null"}}}},
       {"mark", {{"type", "rule"}, {"strokeDash", {5, 4}}, {"strokeWidth", 2}}}},
      {{"mark", {{"type", "rule"}, {"opacity", 0.6}}},
       {"encoding", {{"y", number_axis("low", axis)}, {"y2", {{"field", "high"}}}}}},
      {{"mark", {{"type", "point"}, {"filled", true}, {"size", 55}}},
       {"encoding", {{"y", number_axis("mean", axis)}, {"tooltip", items}}}}};
  if (has_levels) {
    layers.push_back({{"mark", {{"type", "line"}, {"interpolate", "step"}, {"strokeWidth", 1.5}, {"opacity", 0.7}}},
                      {"encoding", {{"y", number_axis("level", axis)}}}});
  }
  return {{"width", "container"}, {"height", 220}, {"encoding", {{"x", x_axis()}}}, {"layer", std::move(layers)}};
}

Chart chart_of(const Trend& trend, const SeriesTrend& item, std::size_t number) {
  const Unit unit = unit_of(item.series.metric);
  Chart chart{
      .id = "trend_" + std::to_string(number),
      .title = std::string(title_of(item.series.metric)) + " of " + item.series.cell,
      .text =
          "Mean of each revision with the range of its values, oldest first. The band is the range that the values "
          "since the last change predict for a mean."};
  if (!item.changes.empty())
    chart.text += " A dashed line marks the beginning of a new level; the steps are the levels' means.";
  chart.data = {
      .id = chart.id,
      .title = "",
      .columns = {text_column("revision", "revision"), text_column("first_at", "first run"),
                  number_column("mean", "mean"), number_column("low", "lowest"), number_column("high", "highest"),
                  number_column("n", "values"), number_column("expected_low", "expected from"),
                  number_column("expected_high", "to"), number_column("level", "level"), text_column("mark", "mark")}};
  for (std::size_t i = 0; i < item.rows.size(); ++i) add_row(chart.data, trend, item, i);
  chart.spec = spec_of(unit.title, !item.changes.empty());
  return chart;
}

}  // namespace

std::vector<Chart> trend_charts(const Trend& trend, std::size_t max) {
  std::vector<Chart> charts;
  for (const SeriesTrend& item : trend.series) {
    if (charts.size() == max) break;
    Chart chart = chart_of(trend, item, charts.size() + 1);
    if (chart.data.rows.size() >= 2) charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace nanobench::reports
