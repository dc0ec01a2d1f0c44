#include <algorithm>
#include <limits>
#include <set>

#include "reports/charts/charts.h"
#include "reports/charts/rows.h"
#include "reports/charts/stills.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMaxPoints = 2400;      ///< points of the whole chart
constexpr std::size_t kMinPoints = 40;        ///< points of each curve
constexpr std::size_t kMaxFullRows = 400000;  ///< about 12 MB in a page

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

std::map<std::int64_t, Point> points_of(const LossLine& line) {
  std::map<std::int64_t, Point> points;
  for (const LossLine::Run& run : line.runs) {
    for (const CurvePoint& point : run.points) {
      if (std::isfinite(point.loss)) points[point.step].add(point);
    }
  }
  return points;
}

/// Chooses the points to draw, at most `most`: all, or the first, the last, and the lowest and highest of each section
/// between them, so that no spike is lost.
std::set<std::size_t> chosen(const std::vector<Point>& points, std::size_t most) {
  std::set<std::size_t> indexes;
  if (points.size() <= std::max<std::size_t>(most, 2)) {
    for (std::size_t i = 0; i < points.size(); ++i) indexes.insert(i);
    return indexes;
  }
  indexes = {0, points.size() - 1};
  const std::size_t stretches = std::max<std::size_t>(1, most / 2 - 1);
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const auto at = [&](std::size_t i) { return points.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto first = at(stretch * points.size() / stretches), end = at((stretch + 1) * points.size() / stretches);
    const auto low = std::min_element(first, end, [](const Point& a, const Point& b) { return a.low < b.low; });
    const auto high = std::max_element(first, end, [](const Point& a, const Point& b) { return a.high < b.high; });
    indexes.insert(static_cast<std::size_t>(low - points.begin()));
    indexes.insert(static_cast<std::size_t>(high - points.begin()));
  }
  return indexes;
}

void add_line(Table& table, const LossLine& line, std::size_t most) {
  const std::map<std::int64_t, Point> by_step = points_of(line);
  std::vector<Point> points;
  for (const auto& [step, point] : by_step) points.push_back(point);
  const std::set<std::size_t> drawn = chosen(points, most);
  double step_tokens = kUnknown;
  for (const LossLine::Run& run : line.runs) step_tokens = run.step_tokens.value_or(step_tokens);
  std::size_t index = 0;
  for (const auto& [step, point] : by_step) {
    const std::size_t i = index++;
    if (!drawn.contains(i)) continue;
    const double progress = points.size() == 1 ? 1.0 : static_cast<double>(i) / static_cast<double>(points.size() - 1);
    table.rows.push_back(
        {text_cell(line.label), count_cell(step), plotted_cell(step_tokens * static_cast<double>(step), 10),
         plotted_cell(point.clocks > 0 ? point.clock_sum / point.clocks : kUnknown), plotted_cell(point.sum / point.n),
         plotted_cell(point.low), plotted_cell(point.high), count_cell(point.n), plotted_cell(progress)});
  }
}

/// Logs have no tokens, and some have no clock; an axis without any value cannot be drawn.
std::vector<const char*> known_axes(const Table& table) {
  const auto has = [&](std::size_t column) {
    return std::any_of(table.rows.begin(), table.rows.end(),
                       [&](const std::vector<TableCell>& row) { return !row[column].value.is_null(); });
  };
  std::vector<const char*> axes = {"steps"};
  if (has(2)) axes.push_back("tokens");
  if (has(3)) axes.push_back("seconds");
  return axes;
}

/// Every validation of every run; empty if that is too much for a page.
FullData full_data(const std::vector<LossLine>& lines, const std::string& run_key) {
  FullData full{.name_columns = {"cell", run_key}, .columns = {"step", "loss", "seconds"}};
  std::size_t rows = 0;
  for (const LossLine& line : lines) {
    for (const LossLine::Run& run : line.runs) {
      rows += run.points.size();
      if (run.points.empty()) continue;
      FullData::Block& block = full.blocks.emplace_back();
      block.names = {line.label, run.name};
      for (const CurvePoint& point : run.points)
        block.values.insert(block.values.end(), {static_cast<double>(point.step), point.loss, point.clock_s});
    }
  }
  if (rows > kMaxFullRows) full.blocks.clear();
  return full;
}

OrderedJson choices(const char* name, const char* label, const std::vector<const char*>& options) {
  return {{"name", name},
          {"value", options.front()},
          {"bind", {{"input", "radio"}, {"options", options}, {"name", label}}}};
}

OrderedJson loss_spec(std::optional<double> floor, bool has_bands, const std::vector<const char*>& axes,
                      const std::vector<std::string>& names) {
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
    // Only beside the whole curve: it is far below the ends that the other choices show.
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
           {choices("axis", "against: ", axes),
            choices("part", "of the curve: ", {"the last half", "all", "the last tenth"})}},
          {"transform",
           {{{"filter", "datum.progress >= (part == 'all' ? 0 : part == 'the last half' ? 0.5 : 0.9)"}},
            {{"calculate", "axis == 'tokens' ? datum.tokens : axis == 'seconds' ? datum.seconds : datum.step"},
             {"as", "x"}},
            {{"filter", "isValid(datum.x)"}}}},
          {"encoding", {{"x", x}, {"color", cell_color("cell", names, true)}}},
          {"layer", std::move(layers)}};
}

}  // namespace

std::optional<Chart> loss_chart(const std::vector<LossLine>& lines, const std::string& run_key) {
  Chart chart{
      .id = "loss",
      .title = "Validation loss",
      .text =
          "Mean over the runs of each line; the band reaches from the lowest to the highest run. Click a name to "
          "hide or show it, twice to see it alone. Drag over the curves to zoom, twice to see all again."};
  chart.data = {
      .id = "loss",
      .title = "",
      .columns = {text_column("cell", "cell"), number_column("step", "step"), number_column("tokens", "tokens"),
                  number_column("seconds", "seconds"), number_column("loss", "loss, mean"),
                  number_column("low", "lowest"), number_column("high", "highest"), number_column("n", "runs"),
                  number_column("progress", "part of the run")}};
  std::optional<double> floor;
  bool has_bands = false;
  const std::size_t most = std::max(kMinPoints, kMaxPoints / std::max<std::size_t>(lines.size(), 1));
  for (const LossLine& line : lines) {
    add_line(chart.data, line, most);
    has_bands = has_bands || line.runs.size() > 1;
    for (const LossLine::Run& run : line.runs) floor = floor ? floor : run.floor_nats;
  }
  if (chart.data.rows.empty()) return std::nullopt;
  if (floor)
    chart.text += " The dashed line under the whole curve is the entropy of the data, " + format_fixed(*floor, 4) +
                  ": no model can be below it.";
  std::vector<std::string> names;
  for (const LossLine& line : lines) names.push_back(line.label);
  chart.spec = loss_spec(floor, has_bands, known_axes(chart.data), names);
  chart.is_curves = true;
  chart.still = curves_still(chart.data, names);
  chart.full = full_data(lines, run_key);
  return chart;
}

std::optional<Chart> loss_chart(const std::vector<CellMeasures>& cells) {
  std::vector<LossLine> lines;
  for (const CellMeasures& cell : cells) {
    LossLine& line = lines.emplace_back();
    line.label = cell.cell.label;
    for (const RunMeasure& run : cell.runs)
      line.runs.push_back({.name = std::to_string(run.run.seed),
                           .points = run.curve,
                           .step_tokens = run.step_tokens,
                           .floor_nats = run.run.data_floor_nats});
  }
  return loss_chart(lines, "seed");
}

}  // namespace nanobench::reports
