// Charts of a step: its memory, its phases, how steady its time is, and its speed-up.
#include <algorithm>
#include <array>
#include <cmath>

#include "reports/charts/charts.h"
#include "reports/charts/rows.h"
#include "reports/stats/distributions.h"
#include "reports/stats/summary.h"
#include "results/provenance.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr std::array<const char*, 4> kPhaseOrder = {"data", "forward", "backward", "optimizer"};

/// In the order in which a step runs them; other phases follow.
std::size_t place_of(const std::string& phase) {
  return static_cast<std::size_t>(std::find(kPhaseOrder.begin(), kPhaseOrder.end(), phase) - kPhaseOrder.begin());
}

constexpr const char* kQuiet = "quiet";
constexpr const char* kDisturbed = "disturbed";

/// The same marks, whichever kinds of runs occur.
OrderedJson shape_of_states() {
  return {{"field", "state"},
          {"type", "nominal"},
          {"title", "machine"},
          {"scale", {{"domain", {kQuiet, kDisturbed}}, {"range", {"circle", "triangle-up"}}}}};
}

OrderedJson size_of_states() {
  return {{"field", "state"},
          {"type", "nominal"},
          {"title", "machine"},
          {"scale", {{"domain", {kQuiet, kDisturbed}}, {"range", {45, 130}}}}};
}

/// One run in the order chart.
struct Began {
  double minutes = 0.0;
  const CellMeasures* cell = nullptr;
  const RunMeasure* run = nullptr;
  double change = 0.0;  ///< relative to the cell's median
};

std::vector<Began> in_order(const std::vector<CellMeasures>& cells) {
  std::vector<Began> runs;
  for (const CellMeasures& cell : cells) {
    std::vector<double> times;
    for (const RunMeasure& run : cell.runs) {
      if (run.step_ms && *run.step_ms > 0.0) times.push_back(*run.step_ms);
    }
    if (times.size() < 2) continue;
    const double middle = *median(times);
    for (const RunMeasure& run : cell.runs) {
      const auto began = results::seconds_since_epoch(run.run.started_at);
      if (run.step_ms && *run.step_ms > 0.0 && began)
        runs.push_back({*began / 60.0, &cell, &run, *run.step_ms / middle - 1.0});
    }
  }
  std::sort(runs.begin(), runs.end(), [](const Began& a, const Began& b) { return a.minutes < b.minutes; });
  for (std::size_t i = runs.size(); i-- > 0;) runs[i].minutes -= runs.front().minutes;
  return runs;
}

}  // namespace

std::optional<Chart> memory_chart(const ComparisonTable& table) {
  Chart chart{
      .id = "memory", .title = "Peak memory", .text = "Peak memory of the process, mean over the runs of each row."};
  chart.data = {.id = "memory",
                .title = "",
                .columns = {text_column("row", "row"), number_column("mebibytes", "MiB"), number_column("n", "runs")}};
  for (const Comparison& row : table.rows) {
    if (!row.peak_bytes.mean) continue;
    chart.data.rows.push_back(
        {text_cell(row.label), plotted_cell(*row.peak_bytes.mean / kBytesPerMebibyte), count_cell(row.peak_bytes.n)});
  }
  if (chart.data.rows.empty()) return std::nullopt;
  OrderedJson x = number_axis("mebibytes", "MiB");
  x["scale"] = {{"zero", true}};
  chart.spec = bar_rows(20);
  chart.spec.update(OrderedJson{
      {"mark", {{"type", "bar"}}},
      {"encoding",
       {{"y", name_axis("row")},
        {"x", x},
        {"color", cell_color("row", names_of(table), false)},
        {"tooltip", {tooltip("row", "row"), tooltip("mebibytes", "MiB", ".1f"), tooltip("n", "runs", "d")}}}}});
  return chart;
}

std::optional<Chart> order_chart(const std::vector<CellMeasures>& cells) {
  Chart chart{.id = "order",
              .title = "Step time in the order of the runs",
              .text =
                  "Each run's step time against the median of its cell, in the order in which the runs began: a "
                  "slope or a jump is caused by the machine. Disturbed runs have another shape."};
  chart.data = {
      .id = "order",
      .title = "",
      .columns = {number_column("minutes", "began, min"), text_column("cell", "cell"), number_column("seed", "seed"),
                  number_column("change", "against the median"), number_column("step_ms", "step, ms"),
                  text_column("state", "machine"), text_column("reason", "because")}};
  for (const Began& run : in_order(cells)) {
    chart.data.rows.push_back({plotted_cell(run.minutes), text_cell(run.cell->cell.label),
                               count_cell(static_cast<std::int64_t>(run.run->run.seed)), plotted_cell(run.change),
                               plotted_cell(run.run->step_ms), text_cell(run.run->disturbance ? kDisturbed : kQuiet),
                               run.run->disturbance ? text_cell(*run.run->disturbance) : missing_cell()});
  }
  if (chart.data.rows.empty()) return std::nullopt;
  OrderedJson y = number_axis("change", "step time against the cell's median");
  y["axis"] = {{"format", "+.2~%"}};
  chart.spec = {{"width", "container"},
                {"height", 260},
                {"layer",
                 {{{"mark", {{"type", "rule"}, {"strokeDash", {4, 4}}}}, {"encoding", {{"y", {{"datum", 0}}}}}},
                  {{"mark", {{"type", "point"}, {"filled", true}}},
                   {"encoding",
                    {{"x", number_axis("minutes", "minutes after the first run's begin")},
                     {"y", y},
                     {"color", cell_color("cell", names_of(cells), true)},
                     {"shape", shape_of_states()},
                     {"size", size_of_states()},
                     {"tooltip",
                      {tooltip("cell", "cell"), tooltip("seed", "seed", "d"), tooltip("step_ms", "step, ms", ".4~g"),
                       tooltip("change", "against the median", "+.2%"), tooltip("state", "machine"),
                       tooltip("reason", "because")}}}}}}}};
  return chart;
}

std::optional<Chart> phase_chart(const std::vector<PhaseTimes>& cells) {
  Chart chart{.id = "phases",
              .title = "Where a step's time goes",
              .text = "Mean milliseconds of a timed step by phase, over the first runs of each cell (at most 5)."};
  chart.data = {.id = "phases",
                .title = "",
                .columns = {text_column("cell", "cell"), text_column("phase", "phase"), number_column("ms", "ms"),
                            number_column("share", "share of the step"), number_column("place", "place")}};
  for (const PhaseTimes& cell : cells) {
    double sum = 0.0;
    for (const auto& [phase, ms] : cell.phases) sum += ms;
    for (const auto& [phase, ms] : cell.phases) {
      chart.data.rows.push_back({text_cell(cell.cell), text_cell(phase), plotted_cell(ms),
                                 plotted_cell(sum > 0.0 ? std::optional(ms / sum) : std::nullopt),
                                 count_cell(static_cast<std::int64_t>(place_of(phase)))});
    }
  }
  if (chart.data.rows.empty()) return std::nullopt;
  OrderedJson x = number_axis("ms", "ms per step");
  x["stack"] = "zero";
  chart.spec = bar_rows(20);
  chart.spec.update(OrderedJson{
      {"mark", {{"type", "bar"}}},
      {"encoding",
       {{"y", name_axis("cell")},
        {"x", x},
        {"color", {{"field", "phase"}, {"type", "nominal"}, {"title", nullptr}, {"sort", {{"field", "place"}}}}},
        {"order", {{"field", "place"}, {"type", "quantitative"}}},
        {"tooltip",
         {tooltip("cell", "cell"), tooltip("phase", "phase"), tooltip("ms", "ms", ".4~g"),
          tooltip("share", "share of the step", ".1%")}}}}});
  return chart;
}

namespace {

constexpr const char* kMeasured = "measured here";
constexpr const char* kPublished = "published";

/// One bar, and the interval of its step.
struct SpeedBar {
  std::string row;
  const char* kind = kMeasured;
  double from = 1.0;
  double speed_up = 1.0;
  double step_ms = 0.0;
  std::optional<ConfidenceInterval> interval;  ///< of speed_up, from the spread of this step alone
};

/// Bars of one kind, row after row.
class SpeedBars {
 public:
  SpeedBars(std::vector<SpeedBar>& bars, const char* kind, bool is_waterfall)
      : bars_(bars), kind_(kind), is_waterfall_(is_waterfall) {}

  void add(const std::string& row, std::optional<double> first, std::optional<double> now,
           const std::optional<ConfidenceInterval>& step) {
    if (!first || !now || !(*first > 0.0) || !(*now > 0.0)) return;
    SpeedBar bar{.row = row, .kind = kind_, .from = is_waterfall_ ? last_ : 1.0, .speed_up = *first / *now};
    bar.step_ms = *now;
    if (step) bar.interval = {.low = bar.from * step->low, .high = bar.from * step->high};
    last_ = bar.speed_up;
    bars_.push_back(std::move(bar));
  }

 private:
  std::vector<SpeedBar>& bars_;
  const char* kind_;
  bool is_waterfall_;
  double last_ = 1.0;
};

/// The interval of the speed-up over the row's reference; absent without a spread.
std::optional<ConfidenceInterval> step_interval(const std::optional<Effect>& step) {
  constexpr double kIntervalLevel = 0.95;
  if (!step || !step->sd || step->n < 2) return std::nullopt;
  const double half = t_critical(kIntervalLevel, step->n - 1) * *step->sd / std::sqrt(static_cast<double>(step->n));
  return ConfidenceInterval{.low = step->value - half, .high = step->value + half};
}

AxisRange speed_range(const std::vector<SpeedBar>& bars) {
  std::vector<double> values;
  std::vector<ConfidenceInterval> intervals;
  for (const SpeedBar& bar : bars) {
    values.push_back(bar.speed_up);
    if (bar.interval) intervals.push_back(*bar.interval);
  }
  AxisRange range = axis_range(values, intervals, 1.0);
  range.low = std::max(range.low, 0.0);
  return range;
}

Table speed_data(const std::vector<SpeedBar>& bars, bool is_waterfall) {
  Table data{.id = "speed",
             .title = "",
             .columns = {text_column("row", "row"), text_column("kind", "kind"), number_column("from", "from"),
                         number_column("speed_up", "speed-up over the first row"),
                         number_column("step", is_waterfall ? "over the row before" : "over the first row"),
                         number_column("step_ms", "step, ms"), number_column("low", "interval from"),
                         number_column("high", "interval to"), number_column("drawn_low", "drawn from"),
                         number_column("drawn_high", "drawn to"), text_column("cut_low", "cut on the left"),
                         text_column("cut_high", "cut on the right")},
             .rows = {}};
  const AxisRange range = speed_range(bars);
  for (const SpeedBar& bar : bars) {
    std::vector<TableCell> cells = {text_cell(bar.row),
                                    text_cell(bar.kind),
                                    plotted_cell(bar.from),
                                    plotted_cell(bar.speed_up),
                                    plotted_cell(bar.speed_up / bar.from),
                                    plotted_cell(bar.step_ms),
                                    low_cell(bar.interval),
                                    high_cell(bar.interval)};
    for (TableCell& cell : drawn_cells(bar.interval, range)) cells.push_back(std::move(cell));
    data.rows.push_back(std::move(cells));
  }
  return data;
}

/// The bars of one kind.
OrderedJson bar_layer(const char* kind, const OrderedJson& x, const OrderedJson& color) {
  return {{"transform", {{{"filter", {{"field", "kind"}, {"equal", kind}}}}}},
          {"mark", {{"type", "bar"}, {"opacity", 0.75}}},
          {"encoding", {{"x", x}, {"x2", {{"field", "speed_up"}}}, {"color", color}}}};
}

OrderedJson speed_spec(const std::vector<SpeedBar>& bars, const std::vector<std::string>& names, bool is_waterfall,
                       bool has_published) {
  OrderedJson x = number_axis("from", "speed-up of the step over the first row");
  x["scale"] = range_scale(speed_range(bars));
  OrderedJson offset = {{"field", "kind"}, {"type", "nominal"}};
  offset["scale"] = {{"domain", has_published ? OrderedJson{kMeasured, kPublished} : OrderedJson{kMeasured}}};
  const OrderedJson grey = {{"value", "#7d8590"}};
  OrderedJson spec = bar_rows(has_published ? 13 : 22);
  spec.update(OrderedJson{
      {"encoding",
       {{"y", name_axis("row")},
        {"yOffset", offset},
        {"tooltip",
         {tooltip("row", "row"), tooltip("kind", "kind"), tooltip("speed_up", "speed-up over the first row", ".3f"),
          tooltip("low", "from", ".3f"), tooltip("high", "to", ".3f"),
          tooltip("step", is_waterfall ? "over the row before" : "over the first row", ".3f"),
          tooltip("step_ms", "step, ms", ".4~g")}}}},
      {"layer",
       {bar_layer(kMeasured, x, cell_color("row", names, false)),
        bar_layer(kPublished, x, grey),
        {{"mark", {{"type", "tick"}, {"thickness", 3}, {"color", "#7d8590"}}},
         {"encoding", {{"x", {{"field", "speed_up"}, {"type", "quantitative"}}}}}},
        {{"mark", {{"type", "rule"}, {"strokeWidth", 1.5}}},
         {"encoding", {{"x", {{"field", "drawn_low"}, {"type", "quantitative"}}}, {"x2", {{"field", "drawn_high"}}}}}},
        cut_layer("low", "triangle-left"),
        cut_layer("high", "triangle-right")}}});
  return spec;
}

}  // namespace

std::optional<Chart> speed_chart(const results::PlanRecord& plan, const ComparisonTable& table) {
  if (table.rows.size() < 2 || !table.has_one_yardstick) return std::nullopt;
  const bool is_waterfall = plan.design == results::Design::kHistory;
  Chart chart{.id = "speed",
              .title = is_waterfall ? "How the speed-ups add up" : "Speed-up of the step over the first row",
              .text = is_waterfall ? "Speed-up of one training step over the first row, record after record: each bar "
                                     "leads from the row before to this row."
                                   : "Speed-up of one training step over the first row."};
  std::vector<SpeedBar> bars;
  SpeedBars measured(bars, kMeasured, is_waterfall), published(bars, kPublished, is_waterfall);
  bool has_published = false;
  const Comparison& first = table.rows.front();
  for (const Comparison& row : table.rows) {
    measured.add(row.label, first.step_ms.mean, row.step_ms.mean, step_interval(row.step_speed_up));
    published.add(row.label, first.published_step_ms, row.published_step_ms, std::nullopt);
    has_published = has_published || (row.published_step_ms && first.published_step_ms);
  }
  const auto is_measured = [](const SpeedBar& bar) { return std::string_view(bar.kind) == kMeasured; };
  if (std::count_if(bars.begin(), bars.end(), is_measured) < 2) return std::nullopt;  // one bar compares nothing
  chart.data = speed_data(bars, is_waterfall);
  if (std::any_of(bars.begin(), bars.end(), [](const SpeedBar& bar) { return bar.interval.has_value(); }))
    chart.text += " A line is the 95 % interval of that step alone, over the seeds.";
  if (has_cut_ends(chart.data)) chart.text += " Arrows mark intervals that reach beyond the axis.";
  if (has_published) {
    chart.text +=
        " Grey: published, the official model on 8 H100, whose steps differ from this scale's. Compare the shapes, not "
        "the lengths.";
  }
  chart.spec = speed_spec(bars, names_of(table), is_waterfall, has_published);
  return chart;
}

}  // namespace nanobench::reports
