#include <algorithm>
#include <limits>
#include <set>

#include "reports/charts/charts.h"
#include "reports/charts/rows.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostPoints = 6000;  ///< of the whole chart
constexpr std::size_t kLeastPoints = 40;   ///< of each curve

/// One step of one cell over its runs.
struct Point {
  double sum = 0.0, clock_sum = 0.0;
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  int n = 0, clocks = 0;

  void add(const CurvePoint& point) {
    sum += point.loss;
    low = std::min(low, point.loss);
    high = std::max(high, point.loss);
    ++n;
    if (!point.clock_s) return;
    clock_sum += *point.clock_s;
    ++clocks;
  }
};

std::map<std::int64_t, Point> points_of(const CellMeasures& cell) {
  std::map<std::int64_t, Point> points;
  for (const RunMeasure& run : cell.runs) {
    for (const CurvePoint& point : run.curve) {
      if (std::isfinite(point.loss)) points[point.step].add(point);
    }
  }
  return points;
}

/// Which of `count` points are drawn: the first, the last, and as many between them, evenly.
std::set<std::size_t> chosen(std::size_t count, std::size_t most) {
  std::set<std::size_t> indexes;
  if (count == 0) return indexes;
  const std::size_t drawn = std::min(count, std::max<std::size_t>(most, 2));
  for (std::size_t i = 0; i < drawn; ++i) indexes.insert(drawn == 1 ? 0 : i * (count - 1) / (drawn - 1));
  return indexes;
}

void add_cell(Table& table, const CellMeasures& cell, std::size_t most) {
  const std::map<std::int64_t, Point> points = points_of(cell);
  const std::set<std::size_t> drawn = chosen(points.size(), most);
  double step_tokens = kUnknown;
  for (const RunMeasure& run : cell.runs) step_tokens = run.step_tokens.value_or(step_tokens);
  std::size_t index = 0;
  for (const auto& [step, point] : points) {
    const std::size_t i = index++;
    if (!drawn.contains(i)) continue;
    const double progress = points.size() == 1 ? 1.0 : static_cast<double>(i) / static_cast<double>(points.size() - 1);
    table.rows.push_back(
        {text_cell(cell.cell.label), count_cell(step), number_cell(step_tokens * static_cast<double>(step), 10),
         number_cell(point.clocks > 0 ? point.clock_sum / point.clocks : kUnknown), number_cell(point.sum / point.n),
         number_cell(point.low), number_cell(point.high), count_cell(point.n), number_cell(progress)});
  }
}

OrderedJson choices(const char* name, const char* label, const std::vector<const char*>& options) {
  return {{"name", name},
          {"value", options.front()},
          {"bind", {{"input", "radio"}, {"options", options}, {"name", label}}}};
}

OrderedJson spec_of(const std::optional<double>& floor, bool has_bands) {
  const OrderedJson x = {
      {"field", "x"}, {"type", "quantitative"}, {"title", nullptr}, {"scale", {{"zero", false}, {"nice", false}}}};
  OrderedJson loss = number_axis("loss", "validation loss, nats/token");
  OrderedJson layers = OrderedJson::array();
  if (has_bands) {
    layers.push_back(
        {{"mark", {{"type", "area"}, {"opacity", 0.15}}},
         {"encoding", {{"y", number_axis("low", "validation loss, nats/token")}, {"y2", {{"field", "high"}}}}}});
  }
  layers.push_back(
      {{"params", {{{"name", "cell"}, {"select", {{"type", "point"}, {"fields", {"cell"}}}}, {"bind", "legend"}}}},
       {"mark", {{"type", "line"}, {"point", {{"size", 12}}}, {"strokeWidth", 1.5}}},
       {"encoding",
        {{"y", loss},
         {"opacity", {{"condition", {{"param", "cell"}, {"value", 1}}}, {"value", 0.12}}},
         {"tooltip",
          {tooltip("cell", "cell"), tooltip("step", "step", "d"), tooltip("tokens", "tokens", ".4s"),
           tooltip("seconds", "seconds", ".4~g"), tooltip("loss", "loss, mean", ".4f"), tooltip("low", "lowest", ".4f"),
           tooltip("high", "highest", ".4f"), tooltip("n", "runs", "d")}}}}});
  if (floor) {
    // Beside the whole curve only: it is far below the ends that the other choices show.
    layers.push_back({{"transform",
                       {{{"filter", "part == 'all'"}},
                        {{"aggregate", {{{"op", "count"}, {"as", "points"}}}}},
                        {{"filter", "datum.points > 0"}},
                        {{"calculate", std::to_string(*floor)}, {"as", "floor"}}}},
                      {"mark", {{"type", "rule"}, {"strokeDash", {6, 4}}}},
                      {"encoding", {{"y", number_axis("floor", "")}, {"x", nullptr}, {"color", nullptr}}}});
  }
  return {{"width", "container"},
          {"height", 380},
          {"params",
           {choices("axis", "against: ", {"steps", "tokens", "seconds"}),
            choices("part", "of the curve: ", {"the last half", "all", "the last tenth"})}},
          {"transform",
           {{{"filter", "datum.progress >= (part == 'all' ? 0 : part == 'the last half' ? 0.5 : 0.9)"}},
            {{"calculate", "axis == 'tokens' ? datum.tokens : axis == 'seconds' ? datum.seconds : datum.step"},
             {"as", "x"}},
            {{"filter", "isValid(datum.x)"}}}},
          {"encoding",
           {{"x", x}, {"color", {{"field", "cell"}, {"type", "nominal"}, {"sort", nullptr}, {"title", nullptr}}}}},
          {"layer", std::move(layers)}};
}

}  // namespace

std::optional<Chart> loss_chart(const std::vector<CellMeasures>& cells) {
  Chart chart{.id = "loss",
              .title = "Validation loss",
              .text =
                  "Mean over the runs of each cell; the band is from the lowest to the highest run. Choose below "
                  "what it is drawn against, and click a name in the legend to single it out."};
  chart.data = {
      .id = "loss",
      .title = "",
      .columns = {text_column("cell", "cell"), number_column("step", "step"), number_column("tokens", "tokens"),
                  number_column("seconds", "seconds"), number_column("loss", "loss, mean"),
                  number_column("low", "lowest"), number_column("high", "highest"), number_column("n", "runs"),
                  number_column("progress", "part of the run")}};
  std::optional<double> floor;
  bool has_bands = false;
  const std::size_t most = std::max(kLeastPoints, kMostPoints / std::max<std::size_t>(cells.size(), 1));
  for (const CellMeasures& cell : cells) {
    add_cell(chart.data, cell, most);
    has_bands = has_bands || cell.runs.size() > 1;
    for (const RunMeasure& run : cell.runs) floor = floor ? floor : run.run.data_floor_nats;
  }
  if (chart.data.rows.empty()) return std::nullopt;
  if (floor)
    chart.text += " The dashed line under the whole curve is the entropy of the data, " + format_fixed(*floor, 4) +
                  ": no model can be below.";
  chart.spec = spec_of(floor, has_bands);
  return chart;
}

}  // namespace nanobench::reports
