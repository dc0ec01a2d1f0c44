#include "reports/charts/charts.h"
#include "reports/charts/rows.h"

namespace nanobench::reports {

std::optional<Chart> interaction_chart(const std::vector<EffectResult>& effects) {
  Chart chart{.id = "interactions",
              .title = "Interactions on the loss",
              .text =
                  "How far two changes together differ from what they do one by one, in nats per token: far from 0 "
                  "means that one of them changes what the other is worth."};
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
      chart.data.rows.push_back({text_cell(first), text_cell(second), number_cell(effect.loss.value),
                                 number_cell(interval ? std::optional(interval->low) : std::nullopt),
                                 number_cell(interval ? std::optional(interval->high) : std::nullopt),
                                 number_cell(effect.loss.adjusted_p)});
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
