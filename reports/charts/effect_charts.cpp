// Charts of effects: each with its interval, and the interactions of pairs.
#include <algorithm>
#include <array>
#include <cmath>

#include "reports/audit/arms.h"
#include "reports/charts/charts.h"
#include "reports/charts/rows.h"
#include "reports/charts/stills.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr const char* kLoss = "loss, nats/token";
constexpr const char* kTime = "training time, %";
constexpr const char* kTargetTime = "time to the target, %";
constexpr const char* kSeconds = "seconds at equal loss";
constexpr std::array<const char*, 4> kFindings = {"better", "worse", "the same", "open"};

double percent_of(double log_ratio) {
  return 100.0 * std::expm1(log_ratio);
}

const char* finding_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kImproved: return kFindings[0];
    case Verdict::kRegressed: return kFindings[1];
    case Verdict::kUnchanged: return kFindings[2];
    case Verdict::kNotWorse:
    case Verdict::kInconclusive:
    case Verdict::kMissing: break;
  }
  return kFindings[3];
}

const char* finding_of(FeatureVerdict verdict) {
  switch (verdict) {
    case FeatureVerdict::kKeep: return kFindings[0];
    case FeatureVerdict::kDrop: return kFindings[1];
    case FeatureVerdict::kBarnacle: return kFindings[2];
    case FeatureVerdict::kInconclusive: break;
  }
  return kFindings[3];
}

/// One row of the chart.
struct ForestRow {
  std::string effect;
  const char* metric = kLoss;
  std::optional<double> value;
  std::optional<ConfidenceInterval> interval;
  std::optional<double> published;
  int n = 0;
  const char* finding = kFindings[3];
};

std::optional<ConfidenceInterval> percent_of(const std::optional<ConfidenceInterval>& interval) {
  if (!interval) return std::nullopt;
  return ConfidenceInterval{.low = percent_of(interval->low), .high = percent_of(interval->high)};
}

void add_forest_rows(std::vector<ForestRow>& rows, const EffectResult& effect,
                     const std::map<std::string, double>& published) {
  const std::string& name = effect.contrast.effect;
  const auto add = [&](ForestRow row) {
    if (row.value) rows.push_back(std::move(row));
  };
  add({.effect = name,
       .metric = kLoss,
       .value = effect.loss.value,
       .interval = effect.loss.interval,
       .n = effect.loss.n,
       .finding = finding_of(effect.loss.verdict)});
  const auto told = published.find(name);
  const MeasuredEffect& time = effect.log_time;
  add({.effect = name,
       .metric = kTime,
       .value = time.value ? std::optional(percent_of(*time.value)) : std::nullopt,
       .interval = percent_of(time.interval),
       .published = told == published.end() ? std::nullopt : std::optional(100.0 * (told->second - 1.0)),
       .n = time.n,
       .finding = finding_of(time.verdict)});
  const EqualLoss& equal = effect.seconds.equal_loss;
  if (!equal.is_converted()) return;
  add({.effect = name,
       .metric = kSeconds,
       .value = equal.seconds,
       .interval = equal.interval,
       .n = effect.loss.n,
       .finding = finding_of(effect.verdict.value_or(FeatureVerdict::kInconclusive))});
}

AxisRange range_of(const std::vector<ForestRow>& rows, const std::string& metric) {
  std::vector<double> values;
  std::vector<ConfidenceInterval> intervals;
  for (const ForestRow& row : rows) {
    if (row.metric != metric) continue;
    values.push_back(*row.value);
    if (row.published) values.push_back(*row.published);
    if (row.interval) intervals.push_back(*row.interval);
  }
  return axis_range(values, intervals, 0.0);
}

/// The panel of one metric, with its own axis.
OrderedJson panel(const char* metric, const std::vector<std::string>& names, const AxisRange& range) {
  OrderedJson y = name_axis("effect");
  y["scale"] = {{"domain", names}};  // all panels have all rows
  OrderedJson value = number_axis("value", metric);
  value["scale"] = range_scale(range);
  const OrderedJson low = {{"field", "drawn_low"}, {"type", "quantitative"}};
  const OrderedJson line = {{"mark", {{"type", "rule"}, {"strokeWidth", 2}}},
                            {"encoding", {{"x", low}, {"x2", {{"field", "drawn_high"}}}}}};
  const OrderedJson open_filter = {{"field", "finding"}, {"equal", kFindings[3]}};
  const OrderedJson proved = {{"transform", {{{"filter", {{"not", open_filter}}}}}},
                              {"mark", {{"type", "point"}, {"filled", true}, {"size", 70}, {"opacity", 1}}},
                              {"encoding", {{"x", value}}}};
  const OrderedJson open = {
      {"transform", {{{"filter", open_filter}}}},
      {"mark", {{"type", "point"}, {"filled", false}, {"size", 60}, {"strokeWidth", 1.7}, {"opacity", 1}}},
      {"encoding", {{"x", value}}}};
  const OrderedJson told = {
      {"transform", {{{"filter", "isValid(datum.published)"}}}},
      {"mark", {{"type", "point"}, {"shape", "diamond"}, {"filled", false}, {"size", 90}, {"strokeWidth", 1.5}}},
      {"encoding", {{"x", {{"field", "published"}, {"type", "quantitative"}}}, {"color", {{"value", "#7d8590"}}}}}};
  const OrderedJson zero = {{"mark", {{"type", "rule"}, {"strokeDash", {4, 4}}}},
                            {"encoding", {{"x", {{"datum", 0}}}, {"y", nullptr}, {"color", nullptr}}}};
  return {{"transform", {{{"filter", {{"field", "metric"}, {"equal", metric}}}}}},
          {"width", 260},
          {"height", {{"step", 22}}},
          {"encoding",
           {{"y", y},
            {"color",
             {{"field", "finding"},
              {"type", "nominal"},
              {"title", nullptr},
              {"scale", {{"domain", kFindings}, {"range", "ordinal"}}}}},
            {"tooltip",
             {tooltip("effect", "change"), tooltip("metric", "on"), tooltip("value", "effect", ".4~g"),
              tooltip("low", "from", ".4~g"), tooltip("high", "to", ".4~g"), tooltip("published", "published", ".4~g"),
              tooltip("n", "n", "d"), tooltip("finding", "proved"), tooltip("verdict", "verdict")}}}},
          {"layer",
           {zero, line, cut_layer("low", "triangle-left"), cut_layer("high", "triangle-right"), told, proved, open}}};
}

/// A history in its own order, else the largest gain of loss first.
std::vector<const EffectResult*> in_forest_order(const results::PlanRecord& plan,
                                                 const std::vector<EffectResult>& effects) {
  std::vector<const EffectResult*> order;
  for (const EffectResult& effect : effects) order.push_back(&effect);
  if (plan.design == results::Design::kHistory) return order;
  std::stable_sort(order.begin(), order.end(), [](const EffectResult* a, const EffectResult* b) {
    return a->loss.value.value_or(kInfinity) < b->loss.value.value_or(kInfinity);
  });
  return order;
}

/// The rows with what is drawn of them, on one axis a metric.
Table forest_data(const std::vector<ForestRow>& rows, const std::map<std::string, std::string>& verdicts) {
  Table data{
      .id = "effects",
      .title = "",
      .columns = {text_column("effect", "change"), text_column("metric", "on"), number_column("value", "effect"),
                  number_column("low", "from"), number_column("high", "to"), number_column("published", "published"),
                  number_column("n", "n"), text_column("finding", "proved"), text_column("verdict", "verdict"),
                  number_column("drawn_low", "drawn from"), number_column("drawn_high", "drawn to"),
                  text_column("cut_low", "cut on the left"), text_column("cut_high", "cut on the right")},
      .rows = {}};
  std::map<std::string, AxisRange> ranges;
  for (const ForestRow& row : rows) {
    if (!ranges.contains(row.metric)) ranges[row.metric] = range_of(rows, row.metric);
  }
  for (const ForestRow& row : rows) {
    std::vector<TableCell> cells = {
        text_cell(row.effect),  text_cell(row.metric),   plotted_cell(row.value),
        low_cell(row.interval), high_cell(row.interval), plotted_cell(row.published),
        count_cell(row.n),      text_cell(row.finding),  text_cell(verdicts.at(row.effect))};
    for (TableCell& cell : drawn_cells(row.interval, ranges.at(row.metric))) cells.push_back(std::move(cell));
    data.rows.push_back(std::move(cells));
  }
  return data;
}

/// A panel for each metric that has rows. No chart without rows.
std::optional<Chart> forest_of(const std::string& text, const std::vector<ForestRow>& rows,
                               const std::vector<std::string>& names,
                               const std::map<std::string, std::string>& verdicts) {
  if (rows.empty()) return std::nullopt;
  Chart chart{.id = "effects", .title = "Effects with their intervals", .text = text};
  chart.data = forest_data(rows, verdicts);
  if (has_cut_ends(chart.data)) chart.text += " Arrows mark intervals that reach beyond the axis.";
  const auto is_published = [](const ForestRow& row) { return row.published.has_value(); };
  if (std::any_of(rows.begin(), rows.end(), is_published))
    chart.text += " Diamonds: the published change of the official model's training time on 8 H100.";
  OrderedJson panels = OrderedJson::array();
  for (const char* metric : {kLoss, kTime, kTargetTime, kSeconds}) {
    const bool has_rows = std::any_of(rows.begin(), rows.end(),
                                      [&](const ForestRow& row) { return std::string_view(row.metric) == metric; });
    if (has_rows) panels.push_back(panel(metric, names, range_of(rows, metric)));
  }
  chart.spec = {{"concat", std::move(panels)}, {"columns", 3}, {"resolve", {{"scale", {{"color", "shared"}}}}}};
  chart.still = forest_still(chart.data);
  return chart;
}

constexpr const char* kForestText =
    "Left of the dashed line is better. A filled point is proved, a hollow one is open. Bars are intervals that hold "
    "simultaneously for all effects of a panel; an effect without a bar has no error, because its runs give none.";

/// Difference of one metric of the arms: losses as they are, times in percent of the control's mean.
void add_arm_rows(std::vector<ForestRow>& rows, const ArmComparison& comparison, const char* axis, ArmMetric metric,
                  const std::vector<ArmEffect>& effects) {
  const std::optional<double> control = mean_of(values_of(comparison.arms[comparison.control], metric));
  const bool is_loss = metric == ArmMetric::kLoss;
  if (!is_loss && !(control.value_or(0.0) > 0.0)) return;
  const double unit = is_loss ? 1.0 : *control / 100.0;
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i) {
    const ArmEffect& effect = effects[i];
    if (!effect.difference) continue;
    const LogArm& arm = comparison.arms[comparison.pairs[i].candidate];
    ForestRow row{.effect = arm.name, .metric = axis, .value = *effect.difference / unit};
    if (effect.interval)
      row.interval = ConfidenceInterval{.low = effect.interval->low / unit, .high = effect.interval->high / unit};
    row.n = static_cast<int>(values_of(arm, metric).size());
    row.finding = finding_of(effect.verdict);
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::optional<Chart> effects_chart(const results::PlanRecord& plan, const std::vector<EffectResult>& effects,
                                   const std::map<std::string, double>& published) {
  std::vector<ForestRow> rows;
  std::vector<std::string> names;
  std::map<std::string, std::string> verdicts;
  for (const EffectResult* effect : in_forest_order(plan, effects)) {
    add_forest_rows(rows, *effect, published);
    names.push_back(effect->contrast.effect);
    verdicts[names.back()] = effect->verdict ? enum_name(*effect->verdict) : "no verdict";
  }
  return forest_of(std::string("The effect of each change. ") + kForestText, rows, names, verdicts);
}

std::optional<Chart> arm_effects_chart(const ArmComparison& comparison) {
  std::vector<ForestRow> rows;
  std::vector<std::string> names;
  std::map<std::string, std::string> verdicts;
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i) {
    names.push_back(comparison.arms[comparison.pairs[i].candidate].name);
    verdicts[names.back()] = enum_name(comparison.loss[i].verdict);
  }
  add_arm_rows(rows, comparison, kLoss, ArmMetric::kLoss, comparison.loss);
  add_arm_rows(rows, comparison, kTime, ArmMetric::kTrainTime, comparison.time);
  add_arm_rows(rows, comparison, kTargetTime, ArmMetric::kTargetTime, comparison.target_time);
  const std::string& control = comparison.arms[comparison.control].name;
  return forest_of("The difference of each arm to " + control + ". " + kForestText, rows, names, verdicts);
}

namespace {

/// Rows of cells, so that a cell of another spread or an outlying run stands out.
std::optional<Chart> residual_chart(const std::string& id, const std::string& title, const std::string& unit,
                                    const std::vector<PlanEffects::Residual>& residuals,
                                    const std::vector<std::string>& cells) {
  Chart chart{.id = id,
              .title = title,
              .text =
                  "What is left of each run when the effects of its cell and of its seed are taken away. Cells "
                  "should scatter alike about 0; a far point is an outlying run."};
  chart.data = {.id = id,
                .title = "",
                .columns = {text_column("cell", "cell"), number_column("seed", "seed"),
                            number_column("fitted", "fitted"), number_column("residual", "residual")}};
  for (const PlanEffects::Residual& one : residuals) {
    chart.data.rows.push_back(
        {text_cell(one.cell), seed_cell(one.seed), plotted_cell(one.fitted), plotted_cell(one.residual)});
  }
  if (chart.data.rows.empty()) return std::nullopt;
  const OrderedJson zero = {{"mark", {{"type", "rule"}, {"strokeDash", {4, 4}}}},
                            {"encoding", {{"x", {{"datum", 0}}}}}};
  const OrderedJson points = {{"mark", {{"type", "point"}, {"filled", true}, {"size", 50}}},
                              {"encoding",
                               {{"y", name_axis("cell")},
                                {"x", number_axis("residual", unit)},
                                {"color", cell_color("cell", cells, false)},
                                {"tooltip",
                                 {tooltip("cell", "cell"), tooltip("seed", "seed", "d"),
                                  tooltip("residual", "residual", ".3~g"), tooltip("fitted", "fitted", ".5~g")}}}}};
  chart.spec = bar_rows(20);
  chart.spec["layer"] = {zero, points};
  return chart;
}

}  // namespace

std::vector<std::optional<Chart>> residual_charts(const PlanEffects& effects, const std::vector<std::string>& cells) {
  return {residual_chart("loss_residuals", "Residuals of the validation loss", "nats per token",
                         effects.loss_residuals(), cells),
          residual_chart("time_residuals", "Residuals of the log training time", "logarithm",
                         effects.log_time_residuals(), cells)};
}

std::optional<Chart> interaction_chart(const std::vector<EffectResult>& effects) {
  Chart chart{
      .id = "interactions",
      .title = "Interactions on the loss",
      .text =
          "How far the effect of two changes together differs from the sum of both alone, in nats per token. Far "
          "from 0 means that one change alters what the other is worth."};
  chart.data = {
      .id = "interactions",
      .title = "",
      .columns = {text_column("first", "change"), text_column("second", "with"), number_column("value", "interaction"),
                  number_column("low", "from"), number_column("high", "to"), number_column("adjusted_p", "p")}};
  for (const EffectResult& effect : effects) {
    const std::vector<results::ContrastFactor>& factors = effect.contrast.factors;
    const bool is_of_two = effect.contrast.kind == results::ContrastKind::kInteraction && factors.size() == 2;
    if (!is_of_two || !effect.loss.value) continue;
    const auto& interval = effect.loss.interval;
    const auto add = [&](const std::string& first, const std::string& second) {
      chart.data.rows.push_back({text_cell(first), text_cell(second), plotted_cell(effect.loss.value),
                                 low_cell(interval), high_cell(interval), plotted_cell(effect.loss.adjusted_p)});
    };
    add(factors[0].name, factors[1].name);
    add(factors[1].name, factors[0].name);
  }
  if (chart.data.rows.empty()) return std::nullopt;
  chart.spec = {
      {"encoding", {{"x", name_axis("first")}, {"y", name_axis("second")}}},
      {"width", {{"step", 64}}},
      {"height", {{"step", 40}}},
      {"layer",
       {{{"mark", {{"type", "rect"}}},
         {"encoding",
          {{"color",
            {{"field", "value"},
             {"type", "quantitative"},
             {"title", "nats/token"},
             {"scale", {{"range", {"#a58be0", "#f7f7f7", "#ff9e4a"}}, {"domainMid", 0}}}}},
           {"tooltip",
            {tooltip("first", "change"), tooltip("second", "with"), tooltip("value", "interaction", "+.5f"),
             tooltip("low", "from", "+.5f"), tooltip("high", "to", "+.5f"), tooltip("adjusted_p", "p", ".3~g")}}}}},
        {{"mark", {{"type", "text"}, {"color", "#1b1f24"}}},
         {"encoding", {{"text", {{"field", "value"}, {"type", "quantitative"}, {"format", "+.4f"}}}}}}}}};
  return chart;
}

}  // namespace nanobench::reports
