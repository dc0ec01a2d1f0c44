// Charts of effects: each with its interval, and the interactions of pairs.
#include <cmath>

#include "reports/charts/charts.h"
#include "reports/charts/rows.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr const char* kLoss = "loss, nats/token";
constexpr const char* kTime = "step time, %";
constexpr const char* kSeconds = "seconds at equal loss";

double percent_of(double log_ratio) {
  return 100.0 * std::expm1(log_ratio);
}

void add_row(Table& table, const std::string& effect, const char* metric, std::optional<double> value,
             std::optional<double> low, std::optional<double> high, int n, const std::string& verdict) {
  if (!value) return;
  table.rows.push_back({text_cell(effect), text_cell(metric), plotted_cell(value), plotted_cell(low),
                        plotted_cell(high), count_cell(n), text_cell(verdict)});
}

void add_effect(Table& table, const EffectResult& effect) {
  const std::string verdict = effect.verdict ? to_string(*effect.verdict) : "no verdict";
  const std::string& name = effect.contrast.effect;
  const auto add = [&](const char* metric, const MeasuredEffect& measured, auto scale) {
    const auto scaled = [&](std::optional<double> value) { return value ? std::optional(scale(*value)) : value; };
    const auto& interval = measured.interval;
    add_row(table, name, metric, scaled(measured.value), interval ? scaled(interval->low) : std::nullopt,
            interval ? scaled(interval->high) : std::nullopt, measured.n, verdict);
  };
  add(kLoss, effect.loss, [](double value) { return value; });
  add(kTime, effect.log_time, percent_of);
  const EqualLoss& equal = effect.seconds.equal_loss;
  if (equal.is_converted()) {
    add_row(table, name, kSeconds, equal.seconds, equal.interval.low, equal.interval.high, effect.loss.n, verdict);
  }
}

/// The panel of one metric, with its own axis.
OrderedJson panel(const char* metric, const std::vector<std::string>& names) {
  OrderedJson y = name_axis("effect");
  y["scale"] = {{"domain", names}};  // all panels have all rows
  const OrderedJson low = {{"field", "low"}, {"type", "quantitative"}};
  OrderedJson value = number_axis("value", metric);
  value["scale"] = {{"zero", true}};
  const OrderedJson range = {{"mark", {{"type", "rule"}, {"strokeWidth", 2}}},
                             {"encoding", {{"x", low}, {"x2", {{"field", "high"}}}}}};
  const OrderedJson point = {{"mark", {{"type", "point"}, {"filled", true}, {"size", 60}}},
                             {"encoding", {{"x", value}}}};
  const OrderedJson zero = {{"mark", {{"type", "rule"}, {"strokeDash", {4, 4}}}},
                            {"encoding", {{"x", {{"datum", 0}}}, {"y", nullptr}, {"color", nullptr}}}};
  return {{"transform", {{{"filter", {{"field", "metric"}, {"equal", metric}}}}}},
          {"width", 260},
          {"height", {{"step", 20}}},
          {"encoding",
           {{"y", y},
            {"color", {{"field", "verdict"}, {"type", "nominal"}, {"title", "verdict"}}},
            {"tooltip",
             {tooltip("effect", "change"), tooltip("metric", "on"), tooltip("value", "effect", ".4~g"),
              tooltip("low", "from", ".4~g"), tooltip("high", "to", ".4~g"), tooltip("n", "n", "d"),
              tooltip("verdict", "verdict")}}}},
          {"layer", {zero, range, point}}};
}

}  // namespace

std::optional<Chart> effects_chart(const std::vector<EffectResult>& effects) {
  Chart chart{.id = "effects",
              .title = "Effects with their intervals",
              .text =
                  "The effect of each change: left of the dashed line is better. Bars are intervals that hold "
                  "simultaneously for all effects. An effect without a bar has no error, because its runs give none."};
  chart.data = {.id = "effects",
                .title = "",
                .columns = {text_column("effect", "change"), text_column("metric", "on"),
                            number_column("value", "effect"), number_column("low", "from"), number_column("high", "to"),
                            number_column("n", "n"), text_column("verdict", "verdict")}};
  for (const EffectResult& effect : effects) add_effect(chart.data, effect);
  if (chart.data.rows.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const EffectResult& effect : effects) names.push_back(effect.contrast.effect);
  OrderedJson panels = OrderedJson::array();
  for (const char* metric : {kLoss, kTime, kSeconds}) {
    for (const auto& row : chart.data.rows) {
      if (row[1].text != metric) continue;
      panels.push_back(panel(metric, names));
      break;
    }
  }
  chart.spec = {{"concat", std::move(panels)}, {"columns", 3}, {"resolve", {{"scale", {{"color", "shared"}}}}}};
  return chart;
}

namespace {

/// Rows of cells, so that a cell of another spread or an outlying run stands out.
std::optional<Chart> residual_chart(const std::string& id, const std::string& title, const std::string& unit,
                                    const std::vector<PlanEffects::Residual>& residuals) {
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
                                {"tooltip",
                                 {tooltip("cell", "cell"), tooltip("seed", "seed", "d"),
                                  tooltip("residual", "residual", ".3~g"), tooltip("fitted", "fitted", ".5~g")}}}}};
  chart.spec = bar_rows(20);
  chart.spec["layer"] = {zero, points};
  return chart;
}

}  // namespace

std::vector<std::optional<Chart>> residual_charts(const PlanEffects& effects) {
  return {
      residual_chart("loss_residuals", "Residuals of the validation loss", "nats per token", effects.loss_residuals()),
      residual_chart("time_residuals", "Residuals of the log training time", "logarithm",
                     effects.log_time_residuals())};
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
