// The loss of tokens by bucket: each cell's line, and each change's difference with its interval.
#include <cmath>

#include "core/data/token_groups.h"
#include "reports/charts/charts.h"
#include "reports/charts/rows.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

/// The middle of a range's numbers on the logarithmic axis.
double middle_of(const BucketRange& range) {
  const auto first = static_cast<double>(core::log_bucket_begin(range.first));
  const double end = range.end < core::kLogBuckets ? static_cast<double>(core::log_bucket_begin(range.end) - 1) : first;
  return std::sqrt(first * std::max(first, end));
}

void add_cell_rows(Table& data, const CellBuckets& cell) {
  for (int bucket = 0; bucket < core::kLogBuckets; ++bucket) {
    const BucketRange range{bucket, bucket + 1};
    const Summary summary = cell.summary(range);
    if (!summary.mean) continue;
    const double spread = summary.sd.value_or(0.0);
    data.rows.push_back({text_cell(cell.cell), plotted_cell(middle_of(range)), text_cell(range_text(range)),
                         plotted_cell(summary.mean), plotted_cell(*summary.mean - spread),
                         plotted_cell(*summary.mean + spread), count_cell(summary.n)});
  }
}

void add_change_row(Table& data, const std::string& effect, const BucketRange& range, const MeasuredEffect& change) {
  if (!change.value) return;
  data.rows.push_back({text_cell(effect), plotted_cell(middle_of(range)), text_cell(range_text(range)),
                       plotted_cell(change.value), low_cell(change.interval), high_cell(change.interval),
                       count_cell(change.n)});
}

/// What the two charts of a metric differ in.
struct BucketPlot {
  const char* name;    ///< what a line is of
  const char* value;   ///< title of the vertical axis
  const char* format;  ///< of its values
  const char* count;   ///< what n counts
  bool has_zero;
};
constexpr BucketPlot kOfCells = {"cell", "loss, nats/token", ".4f", "runs", false};
constexpr BucketPlot kOfChanges = {"change", "difference, nats/token", "+.4f", "seeds", true};

OrderedJson bucket_spec(const BucketPlot& plot, const char* axis, const std::vector<std::string>& names) {
  const OrderedJson x = {
      {"field", "number"}, {"type", "quantitative"}, {"title", axis}, {"scale", {{"type", "log"}, {"nice", false}}}};
  OrderedJson layers = OrderedJson::array();
  if (plot.has_zero)
    layers.push_back({{"mark", {{"type", "rule"}, {"strokeDash", {4, 4}}}},
                      {"encoding", {{"y", {{"datum", 0}}}, {"x", nullptr}, {"color", nullptr}}}});
  layers.push_back({{"mark", {{"type", "area"}, {"opacity", 0.15}}},
                    {"encoding", {{"y", number_axis("low", plot.value)}, {"y2", {{"field", "high"}}}}}});
  layers.push_back({{"mark", {{"type", "line"}, {"point", {{"size", 14}}}, {"strokeWidth", 1.5}}},
                    {"encoding",
                     {{"y", number_axis("value", plot.value)},
                      {"tooltip",
                       {tooltip("name", plot.name), tooltip("range", axis), tooltip("value", plot.value, plot.format),
                        tooltip("low", "lower end", plot.format), tooltip("high", "upper end", plot.format),
                        tooltip("n", plot.count, "d")}}}}});
  return {{"width", "container"},
          {"height", 260},
          {"encoding", {{"x", x}, {"color", cell_color("name", names, true)}}},
          {"layer", std::move(layers)}};
}

Table bucket_data(const std::string& id, const BucketPlot& plot, const char* axis) {
  return {.id = id,
          .title = "",
          .columns = {text_column("name", plot.name), number_column("number", axis),
                      text_column("range", "numbers of the bucket"), number_column("value", plot.value),
                      number_column("low", "lower end"), number_column("high", "upper end"),
                      number_column("n", plot.count)}};
}

}  // namespace

std::vector<Chart> bucket_charts(const results::PlanRecord& plan, const PlanBuckets& buckets,
                                 const RangeEffects& effects, const BucketWords& words) {
  const std::string id = enum_name(buckets.metric);
  Chart losses{.id = id,
               .title = words.title,
               .text = "Each cell's mean loss by " + std::string(words.axis) +
                       "; the band is the standard deviation of its runs."};
  Chart changes{.id = id + "_changes",
                .title = words.title + std::string(": what each change does"),
                .text =
                    "The difference that each change makes, by doublings of the same number, with its interval; "
                    "below 0 is better."};
  losses.data = bucket_data(losses.id, kOfCells, words.axis);
  changes.data = bucket_data(changes.id, kOfChanges, words.axis);
  std::vector<std::string> cells, names;
  for (const CellBuckets& cell : buckets.cells) {
    cells.push_back(cell.cell);
    add_cell_rows(losses.data, cell);
  }
  for (std::size_t i = 0; i < plan.contrasts.size(); ++i) {
    names.push_back(plan.contrasts[i].effect);
    for (std::size_t range = 0; range < effects.ranges.size(); ++range)
      add_change_row(changes.data, names.back(), effects.ranges[range], effects.by_range[range][i]);
  }
  losses.spec = bucket_spec(kOfCells, words.axis, cells);
  changes.spec = bucket_spec(kOfChanges, words.axis, names);
  std::vector<Chart> charts;
  for (Chart* chart : {&losses, &changes}) {
    if (!chart->data.rows.empty()) charts.push_back(std::move(*chart));
  }
  return charts;
}

}  // namespace nanobench::reports
