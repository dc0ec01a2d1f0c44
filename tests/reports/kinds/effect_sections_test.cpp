#include "reports/effects/effects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reports/comparison/comparison.h"
#include "reports/comparison/remark_text.h"
#include "reports/comparison/remarks.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"
#include "reports/render/render.h"

namespace nanobench::reports {
namespace {

RunMeasure completed(std::uint64_t seed, double val_loss, double step_ms) {
  RunMeasure measure;
  measure.run.seed = seed;
  measure.run.result = results::RunResult{.outcome = core::RunOutcome::kCompleted, .final_val_loss = val_loss};
  measure.val_loss = val_loss;
  measure.step_ms = measure.clock_ms = step_ms;
  return measure;
}

CellMeasures cell(const std::string& label, std::vector<RunMeasure> runs) {
  CellMeasures measures;
  measures.cell.label = label;
  measures.planned = static_cast<int>(runs.size());
  measures.runs = std::move(runs);
  return measures;
}

results::PlanRecord plan_of(const results::PlanContrast& contrast) {
  results::PlanRecord plan;
  plan.design = results::Design::kFactorial;
  plan.contrasts = {contrast};
  return plan;
}

const results::PlanContrast kInteraction = {"a x b",
                                            results::ContrastKind::kInteraction,
                                            "half of it",
                                            {{"none", 0.5}, {"a", -0.5}, {"b", -0.5}, {"a + b", 0.5}},
                                            {"c x d"}};

std::vector<EffectResult> effects_of(const results::PlanContrast& contrast, const std::vector<CellMeasures>& cells) {
  return analyse_effects(plan_of(contrast), cells);
}

TEST(ContrastEffects, AreTakenSeedBySeed) {
  // The interaction is 0.05 with seed 1 and 0.15 with seed 2; the seeds themselves are far apart.
  const std::vector<CellMeasures> cells = {cell("none", {completed(1, 3.0, 100), completed(2, 5.0, 100)}),
                                           cell("a", {completed(1, 3.0, 100), completed(2, 5.0, 100)}),
                                           cell("b", {completed(1, 3.0, 100), completed(2, 5.0, 100)}),
                                           cell("a + b", {completed(1, 3.1, 100), completed(2, 5.3, 100)})};
  const EffectResult effect = effects_of(kInteraction, cells).front();
  EXPECT_NEAR(*effect.loss.value, 0.1, 1e-12);
  ASSERT_TRUE(effect.loss.estimate);
  EXPECT_NEAR(effect.loss.estimate->se, 0.05, 1e-12);
  EXPECT_EQ(effect.loss.n, 2);
  EXPECT_FALSE(effect.verdict) << "an interaction is nothing to keep or drop";
}

TEST(ContrastEffects, OneSeedHasNoErrorAndNoCommonSeedTheMeans) {
  const results::PlanContrast simple{"x", results::ContrastKind::kSimple, "", {{"base", -1}, {"x", 1}}, {}};
  const EffectResult one =
      effects_of(simple, {cell("base", {completed(1, 3.0, 10)}), cell("x", {completed(1, 2.5, 10)})}).front();
  EXPECT_NEAR(*one.loss.value, -0.5, 1e-12);
  EXPECT_FALSE(one.loss.estimate);
  const EffectResult apart = effects_of(simple, {cell("base", {completed(1, 3.0, 10), completed(2, 3.2, 10)}),
                                                 cell("x", {completed(3, 2.5, 10), completed(4, 2.7, 10)})})
                                 .front();
  EXPECT_NEAR(*apart.loss.value, -0.5, 1e-12);
  EXPECT_EQ(apart.loss.source, ErrorSource::kCells);
  EXPECT_NEAR(apart.loss.estimate->se, std::sqrt(0.02 / 2 + 0.02 / 2), 1e-12);
}

TEST(ContrastEffects, NeedEveryCellAndNameTheMissing) {
  const std::vector<CellMeasures> cells = {cell("none", {completed(1, 3.0, 100)}), cell("a", {}),
                                           cell("b", {completed(1, 3.0, 100)}), cell("a + b", {completed(1, 3, 100)})};
  const EffectResult effect = effects_of(kInteraction, cells).front();
  EXPECT_FALSE(effect.loss.value || effect.log_time.value);
  EXPECT_EQ(effect.loss.n, 0);
  EXPECT_EQ(effect.missing, (std::vector<std::string>{"a"}));
  const results::PlanRecord plan = plan_of(kInteraction);
  const Table table = contrast_section(plan.contrasts, {effect}, {}).tables.at(0);
  const auto n =
      std::find_if(table.columns.begin(), table.columns.end(), [](const Column& column) { return column.key == "n"; });
  ASSERT_NE(n, table.columns.end());
  const TableCell& cell_of_n = table.rows.at(0).at(static_cast<std::size_t>(n - table.columns.begin()));
  EXPECT_EQ(cell_of_n.value, 0);
  EXPECT_NE(cell_of_n.detail.find(std::to_string(effect.missing.size())), std::string::npos) << cell_of_n.detail;
}

TEST(TurnsNote, EnginesThatTakeNoneAreTold) {
  std::vector<CellMeasures> cells = {cell("none", {completed(1, 3.0, 100)}), cell("a", {completed(1, 2.9, 80)}),
                                     cell("b", {completed(1, 2.8, 50)}), cell("a + b", {completed(1, 2.9, 40)})};
  const results::PlanRecord plan = plan_of(kInteraction);
  EXPECT_EQ(measure_notes(compare(plan, cells, {}), cells), std::vector<Remark>());
  for (CellMeasures& one : cells) one.runs.front().raw_clock_ms = 1000.0;
  cells[1].runs.front().has_engine_without_turns = true;
  const Remark told{.kind = RemarkKind::kWithoutTurns, .count = 1};
  EXPECT_EQ(measure_notes(compare(plan, cells, {}), cells), std::vector<Remark>{told});
  EXPECT_EQ(comparison_report(plan, cells, compare(plan, cells, {})).notes.back(), text_of(told));
}

TEST(ContrastEffects, AreASectionOfTheReport) {
  const std::vector<CellMeasures> cells = {cell("none", {completed(1, 3.0, 100), completed(2, 3.0, 101)}),
                                           cell("a", {completed(1, 2.9, 80), completed(2, 2.91, 82)}),
                                           cell("b", {completed(1, 2.8, 50), completed(2, 2.8, 51)}),
                                           cell("a + b", {completed(1, 2.9, 40), completed(2, 2.9, 41)})};
  const results::PlanRecord plan = plan_of(kInteraction);
  const Document document = comparison_report(plan, cells, compare(plan, cells, {}));
  const core::Json json = core::Json::parse(render_json(document));
  const core::Json& row = json.at("tables").at("effects").at(0);
  EXPECT_EQ(row.at("effect"), "a x b");
  EXPECT_NEAR(row.at("loss").at("value").get<double>(), 0.0975, 1e-12);
  EXPECT_LT(row.at("loss").at("low").get<double>(), 0.0975);
  EXPECT_EQ(row.at("loss").at("n"), 2);
  EXPECT_EQ(row.at("loss").at("error_from"), "plan");
  EXPECT_TRUE(row.at("seconds").is_null());
  EXPECT_EQ(row.at("aliases"), core::Json({"c x d"}));
  EXPECT_EQ(row.at("contrast").at("a + b"), 0.5);
  const std::string text = render_terminal(document, {.width = 250, .has_color = false});
  EXPECT_NE(text.find("+0.0975"), std::string::npos) << text;
  EXPECT_NE(text.find(kInteraction.meaning), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

}  // namespace
}  // namespace nanobench::reports
