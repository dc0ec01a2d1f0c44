#include "reports/contrast_effect.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/kinds/comparison_report.h"
#include "reports/render/render.h"

namespace nanobench::reports {
namespace {

RunMeasure completed(std::uint64_t seed, double val_loss, double step_ms) {
  RunMeasure measure;
  measure.run.seed = seed;
  measure.run.result = results::RunResult{.outcome = core::RunOutcome::kCompleted, .final_val_loss = val_loss};
  measure.val_loss = val_loss;
  measure.step_ms = step_ms;
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
  plan.design = "factorial";
  plan.contrasts = {contrast};
  return plan;
}

const results::PlanContrast kInteraction = {
    "a x b", "interaction", "half of it", {{"none", 0.5}, {"a", -0.5}, {"b", -0.5}, {"a + b", 0.5}}, {"c x d"}};

TEST(ContrastEffects, AreTakenSeedBySeed) {
  const std::vector<CellMeasures> cells = {
      cell("none", {completed(1, 3.0, 100), completed(2, 3.5, 110)}),
      cell("a", {completed(1, 2.9, 80), completed(2, 3.4, 88)}),
      cell("b", {completed(1, 2.8, 50), completed(2, 3.3, 55)}),
      cell("a + b", {completed(1, 2.9, 40), completed(2, 3.2, 44), completed(3, 9.0, 1)})};
  const std::vector<ContrastEffect> effects = contrast_effects(plan_of(kInteraction), cells);
  ASSERT_EQ(effects.size(), 1u);
  EXPECT_EQ(effects[0].name, "a x b");
  EXPECT_EQ(effects[0].kind, "interaction");
  EXPECT_EQ(effects[0].aliases, (std::vector<std::string>{"c x d"}));
  ASSERT_TRUE(effects[0].loss);
  // Seed 1: (3.0 - 2.9 - 2.8 + 2.9) / 2 = 0.1; seed 2: (3.5 - 3.4 - 3.3 + 3.2) / 2 = 0.
  EXPECT_NEAR(effects[0].loss->value, 0.05, 1e-12);
  EXPECT_NEAR(effects[0].loss->sd.value(), 0.1 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(effects[0].n, 2) << "seed 3 is in one cell only";
  EXPECT_NEAR(effects[0].time_ratio->value, 1.0, 1e-12) << "0.8 and 0.5 and together 0.4: no interaction of ratios";
  EXPECT_TRUE(effects[0].missing.empty());
}

TEST(ContrastEffects, OfTimeAreRatios) {
  const std::vector<CellMeasures> cells = {cell("base", {completed(1, 3, 100), completed(2, 3, 200)}),
                                           cell("x", {completed(1, 3, 50), completed(2, 3, 50)})};
  const std::vector<ContrastEffect> effects =
      contrast_effects(plan_of({"x", "simple", "", {{"base", -1}, {"x", 1}}, {}}), cells);
  EXPECT_NEAR(effects[0].time_ratio->value, std::sqrt(0.5 * 0.25), 1e-12) << "geometric mean";
}

TEST(ContrastEffects, OneSeedHasNoSpreadAndNoCommonSeedTheMeans) {
  const results::PlanContrast simple = {"x", "simple", "", {{"base", -1}, {"x", 1}}, {}};
  const std::vector<ContrastEffect> one =
      contrast_effects(plan_of(simple), {cell("base", {completed(1, 3.0, 10)}), cell("x", {completed(1, 2.5, 10)})});
  EXPECT_FALSE(one[0].loss->sd);
  EXPECT_TRUE(one[0].loss->is_paired);
  const std::vector<ContrastEffect> apart = contrast_effects(
      plan_of(simple),
      {cell("base", {completed(1, 3.0, 10), completed(2, 3.2, 10)}), cell("x", {completed(5, 2.5, 10)})});
  EXPECT_NEAR(apart[0].loss->value, -0.6, 1e-12);
  EXPECT_FALSE(apart[0].loss->is_paired);
  EXPECT_FALSE(apart[0].loss->sd);
  EXPECT_EQ(apart[0].n, 1);
}

TEST(ContrastEffects, NeedEveryCellAndNameTheMissing) {
  const std::vector<CellMeasures> cells = {cell("none", {completed(1, 3.0, 100)}), cell("a", {}),
                                           cell("b", {completed(1, 3.0, 100)}), cell("a + b", {completed(1, 3, 100)})};
  const std::vector<ContrastEffect> effects = contrast_effects(plan_of(kInteraction), cells);
  EXPECT_FALSE(effects[0].loss);
  EXPECT_FALSE(effects[0].time_ratio);
  EXPECT_EQ(effects[0].n, 0);
  EXPECT_EQ(effects[0].missing, (std::vector<std::string>{"a"}));
  const results::PlanRecord plan = plan_of(kInteraction);
  const std::string text =
      render_terminal(comparison_report(plan, cells, compare(plan, cells, {})), {.width = 200, .has_color = false});
  EXPECT_NE(text.find("0 (1 of its cells without a result)"), std::string::npos) << text;
}

TEST(ContrastEffects, AreASectionOfTheReport) {
  const std::vector<CellMeasures> cells = {cell("none", {completed(1, 3.0, 100)}), cell("a", {completed(1, 2.9, 80)}),
                                           cell("b", {completed(1, 2.8, 50)}), cell("a + b", {completed(1, 2.9, 40)})};
  const results::PlanRecord plan = plan_of(kInteraction);
  const Document document = comparison_report(plan, cells, compare(plan, cells, {}));
  const core::Json json = core::Json::parse(render_json(document));
  const core::Json& row = json.at("tables").at("effects").at(0);
  EXPECT_EQ(row.at("effect"), "a x b");
  EXPECT_NEAR(row.at("loss").at("value").get<double>(), 0.1, 1e-12);
  EXPECT_TRUE(row.at("loss").at("sd").is_null());
  EXPECT_EQ(row.at("aliases"), core::Json({"c x d"}));
  EXPECT_EQ(row.at("contrast").at("a + b"), 0.5);
  const std::string text = render_terminal(document, {.width = 200, .has_color = false});
  EXPECT_NE(text.find("What estimates what"), std::string::npos) << text;
  EXPECT_NE(text.find("+0.1000"), std::string::npos) << text;
  EXPECT_NE(text.find("half of it"), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

}  // namespace
}  // namespace nanobench::reports
