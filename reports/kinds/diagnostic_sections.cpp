#include <cmath>

#include "core/base/text.h"
#include "reports/charts/charts.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kMaxInfluences = 30;  // rows; a plan that rests on more single runs proves nothing anyway

/// What judges the effect.
const char* words_of(const MeasuredEffect& measured) {
  if (measured.is_outlying) return "its own; the plan's leaves its runs out";
  switch (measured.spread) {
    case SpreadKind::kNone: return "-";
    case SpreadKind::kOwn: return "its own";
    case SpreadKind::kShared: return "plan's and its own";
    case SpreadKind::kSmaller: return "its own, far below the plan's";
    case SpreadKind::kLarger: return "plan's with less weight, and its own, far above it";
  }
  return "?";
}

void add_spread(Table& table, const std::string& effect, const char* metric, const MeasuredEffect& measured) {
  if (!measured.own_sd) return;
  const auto spread = [](double sd) { return format_significant(sd, 3); };
  std::optional<double> ratio;
  if (measured.plan_sd && *measured.plan_sd > 0.0) ratio = *measured.own_sd / *measured.plan_sd;
  const bool has_df = measured.estimate && std::isfinite(measured.estimate->df);
  table.rows.push_back({text_cell(effect), text_cell(metric), number_cell(measured.own_sd, spread),
                        number_cell(measured.plan_sd, spread), significant_cell(ratio, 2),
                        value_cell(words_of(measured), enum_name(measured.spread)),
                        fixed_cell(has_df ? std::optional(measured.estimate->df) : std::nullopt, 1)});
}

Table spread_table(const std::vector<EffectResult>& effects) {
  Table table{
      .id = "spreads",
      .title = "Spread of one run, by effect",
      .columns = {text_column("effect", "effect"), text_column("metric", "of"), number_column("own_sd", "its own"),
                  number_column("plan_sd", "whole plan's"), number_column("ratio", "ratio"),
                  wide_column("used", "judged by"), number_column("df", "degrees of freedom")}};
  for (const EffectResult& effect : effects) {
    add_spread(table, effect.contrast.effect, "val loss, nats", effect.loss);
    add_spread(table, effect.contrast.effect, "log training time", effect.log_time);
  }
  return table;
}

Table influence_table(const std::vector<Influence>& influences) {
  Table table{.id = "influential_runs",
              .title = "Verdicts that rest on one run",
              .columns = {text_column("effect", "effect"), text_column("question", "question"),
                          text_column("with", "verdict"), text_column("without", "without the run"),
                          text_column("cell", "run of"), number_column("seed", "seed"), number_column("run", "run")}};
  for (const Influence& one : influences) {
    if (table.rows.size() == kMaxInfluences) break;
    table.rows.push_back({text_cell(one.effect), text_cell(enum_name(one.question)), text_cell(one.with),
                          text_cell(one.without), text_cell(one.cell), seed_cell(one.seed), count_cell(one.run_id)});
  }
  return table;
}

}  // namespace

std::optional<Section> diagnostic_section(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                          const EffectRules& rules, const std::vector<EffectResult>& effects) {
  if (effects.empty()) return std::nullopt;
  Section section{.title = "What the verdicts rest on"};
  section.reading.emplace_back(
      "Every cell informs the spread of every effect: the residuals are what cell and seed leave. Each effect counts "
      "its "
      "own spread as well. The weights are the degrees of freedom that the plan's spread counts for.");
  const auto weight = [](double value) { return significant_cell(value, 2); };
  section.facts = {{"loss_weight", "weight for losses and seconds", weight(rules.weights.loss)},
                   {"time_weight", "weight for times", weight(rules.weights.time)}};
  Table spreads = spread_table(effects);
  if (spreads.rows.empty()) return std::nullopt;
  section.tables.push_back(std::move(spreads));
  Table influences = influence_table(influential_runs(plan, cells, rules, effects));
  if (!influences.rows.empty()) section.tables.push_back(std::move(influences));
  const PlanEffects responses(cells, static_cast<int>(plan.contrasts.size()), rules.weights);
  std::vector<std::string> names;
  for (const CellMeasures& cell : cells) names.push_back(cell.cell.label);
  for (std::optional<Chart>& chart : residual_charts(responses, names)) {
    if (chart) section.charts.push_back(std::move(*chart));
  }
  return section;
}

}  // namespace nanobench::reports
