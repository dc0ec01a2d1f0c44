#include "reports/effects/attribution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ablations/design.h"
#include "reports/comparison/comparison.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"
#include "reports/stats/shapley.h"
#include "tests/reports/made_cells.h"

namespace nanobench::reports {
namespace {

std::string label_of(const ablations::DesignTable& table, const ablations::DesignCell& cell) {
  std::string label;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != 0) label += (label.empty() ? "" : " + ") + table.factors[i].name + (cell[i] > 1 ? "!" : "");
  }
  return label.empty() ? "none" : label;
}

results::PlanRecord attribution_plan_of(const ablations::DesignTable& table) {
  results::PlanRecord plan;
  plan.design = results::Design::kFactorial;
  for (const ablations::DesignCell& cell : table.cells) plan.cells.push_back({.label = label_of(table, cell)});
  for (const ablations::Contrast& contrast : table.contrasts) {
    results::PlanContrast& stored = plan.contrasts.emplace_back();
    stored.effect = contrast.effect;
    stored.kind = contrast.kind;
    for (std::size_t i = 0; i < contrast.coefficients.size(); ++i) {
      if (contrast.coefficients[i] != 0.0) stored.coefficients[plan.cells[i].label] = contrast.coefficients[i];
    }
  }
  return plan;
}

const std::vector<ablations::Factor> kThree = {{.name = "a", .levels = {"off", "on"}},
                                               {.name = "b", .levels = {"off", "on"}},
                                               {.name = "c", .levels = {"off", "on"}}};

/// a saves 0.10, b 0.04 and both together 0.02 less than that; c does nothing. Of each seed a little more.
double loss_of(const std::string& label, double seed) {
  const bool a = label.find('a') != std::string::npos, b = label.find('b') != std::string::npos;
  return 3.0 + 0.1 * seed - (a ? 0.10 + 0.01 * seed : 0.0) - (b ? 0.04 : 0.0) + (a && b ? 0.02 : 0.0);
}

std::vector<CellMeasures> attribution_cells_of(const results::PlanRecord& plan, int seeds) {
  std::vector<CellMeasures> cells;
  for (const results::PlanCell& cell : plan.cells) {
    std::vector<double> losses;
    for (int seed = 1; seed <= seeds; ++seed) losses.push_back(loss_of(cell.label == "none" ? "" : cell.label, seed));
    cells.push_back(made_cell(cell.label, losses));
  }
  return cells;
}

TEST(Attribution, SharesAreShapleysAndSumToTheTotal) {
  const results::PlanRecord plan = attribution_plan_of(ablations::full_factorial(kThree));
  const auto found = attribute_loss(plan, attribution_cells_of(plan, 3));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->shares.size(), 3U);
  EXPECT_EQ(found->shares[0].factor, "a");
  EXPECT_NEAR(found->shares[0].value, -0.12 + 0.01, 1e-12) << "half of what they lose together";
  EXPECT_NEAR(found->shares[1].value, -0.04 + 0.01, 1e-12);
  EXPECT_NEAR(found->shares[2].value, 0.0, 1e-12);
  EXPECT_NEAR(found->total.value, -0.14, 1e-12);
  EXPECT_NEAR(found->shares[0].value + found->shares[1].value + found->shares[2].value, found->total.value, 1e-12);
  EXPECT_TRUE(found->is_by_seed);
  EXPECT_EQ(found->n, 3);
  // Over the seeds a's share is -0.10, -0.11, -0.12, however far apart the seeds are.
  EXPECT_NEAR(*found->shares[0].se, 0.01 / std::sqrt(3.0), 1e-12);
  EXPECT_EQ(*found->shares[2].se, 0.0);
}

TEST(Attribution, WithoutCommonSeedsTheErrorIsThatOfTheCells) {
  const results::PlanRecord plan = attribution_plan_of(ablations::full_factorial({kThree[0], kThree[1]}));
  std::vector<CellMeasures> cells;
  std::vector<SubsetValue> values;
  std::uint64_t seed = 1;
  for (const char* label : {"none", "a", "b", "a + b"}) {
    const double loss = loss_of(std::string(label) == "none" ? "" : label, 1);
    cells.push_back(made_cell(label, {loss - 0.01, loss + 0.01}, seed));
    values.push_back({.value = loss, .se = 0.01});
    seed += 10;
  }
  const auto found = attribute_loss(plan, cells);
  ASSERT_TRUE(found);
  const Attribution expected = *shapley_exact(values);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(found->shares[i].value, expected.shares[i].value, 1e-12);
    EXPECT_NEAR(*found->shares[i].se, expected.shares[i].se_values, 1e-12);
  }
  EXPECT_NEAR(*found->total.se, 0.01 * std::sqrt(2.0), 1e-12);
  EXPECT_FALSE(found->is_by_seed);
}

TEST(Attribution, OneSeedHasNoError) {
  const results::PlanRecord plan = attribution_plan_of(ablations::full_factorial(kThree));
  const auto found = attribute_loss(plan, attribution_cells_of(plan, 1));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->shares[0].se || found->total.se);
}

TEST(Attribution, TwoChangesInPairsHaveAllSubsets) {
  for (const bool is_reversed : {false, true}) {
    std::vector<ablations::Factor> factors = {kThree[0], kThree[1]};
    factors[0].is_reversed = is_reversed;
    const ablations::DesignTable table = ablations::all_pairs(factors);
    const std::optional<SubsetCells> subsets = subsets_of(attribution_plan_of(table));
    ASSERT_TRUE(subsets);
    EXPECT_EQ(subsets->changes, (std::vector<std::string>{"a", "b"}));
    // Reversed, the base has a, and the cell named "a" is the one without it.
    EXPECT_EQ(subsets->labels, is_reversed ? (std::vector<std::string>{"a", "none", "a + b", "b"})
                                           : (std::vector<std::string>{"none", "a", "b", "a + b"}));
  }
}

TEST(Attribution, OtherDesignsHaveNone) {
  EXPECT_FALSE(subsets_of(attribution_plan_of(ablations::one_at_a_time(kThree))));
  EXPECT_FALSE(subsets_of(attribution_plan_of(ablations::all_pairs(kThree)))) << "no cell has all three";
  EXPECT_FALSE(subsets_of(attribution_plan_of(ablations::full_factorial({kThree[0]})))) << "one change earned it all";
  EXPECT_FALSE(subsets_of(attribution_plan_of(ablations::ladder({.name = "record", .levels = {"1", "2", "3"}}))));
  EXPECT_FALSE(subsets_of(attribution_plan_of(ablations::replicas({.name = "arm", .levels = {"1", "2"}}))));
  EXPECT_FALSE(subsets_of(
      attribution_plan_of(ablations::full_factorial({{.name = "a", .levels = {"0", "1", "2"}}, kThree[1]}))));
  EXPECT_FALSE(
      subsets_of(attribution_plan_of(ablations::fractional_factorial(kThree, ablations::fraction_of_runs(3, 4)))));
  const ablations::DesignTable full = ablations::full_factorial(kThree);
  std::vector<bool> is_lost(full.cells.size(), false);
  is_lost[3] = true;
  EXPECT_FALSE(subsets_of(attribution_plan_of(ablations::without_cells(full, is_lost))));
}

TEST(Attribution, ACellWithoutAResultSaysNothing) {
  const results::PlanRecord plan = attribution_plan_of(ablations::full_factorial(kThree));
  std::vector<CellMeasures> cells = attribution_cells_of(plan, 2);
  cells[5].runs.clear();
  EXPECT_FALSE(attribute_loss(plan, cells));
  EXPECT_EQ(render_json(comparison_report(plan, cells, compare(plan, cells, {}))).find("shapley"), std::string::npos);
}

TEST(Attribution, IsATableOfTheReport) {
  const results::PlanRecord plan = attribution_plan_of(ablations::full_factorial(kThree));
  const std::vector<CellMeasures> cells = attribution_cells_of(plan, 3);
  const Document document = comparison_report(plan, cells, compare(plan, cells, {}));
  const core::Json rows = core::Json::parse(render_json(document)).at("tables").at("shapley");
  ASSERT_EQ(rows.size(), 4U);
  double sum = 0.0;
  for (std::size_t i = 0; i < 3; ++i) sum += rows[i].at("loss").at("value").get<double>();
  EXPECT_NEAR(sum, rows[3].at("loss").at("value").get<double>(), 1e-12);
  EXPECT_EQ(rows[0].at("loss").at("error_from"), "seeds");
  EXPECT_NEAR(rows[0].at("part").get<double>(), 0.11 / 0.14, 1e-9);
  EXPECT_NEAR(rows[0].at("loss").at("value").get<double>(), -0.11, 1e-9);
  EXPECT_NEAR(rows[0].at("loss").at("se").get<double>(), 0.0058, 5e-5);
  const std::string text = render_terminal(document, {.width = 200, .has_color = false});
  EXPECT_NE(text.find("-0.1100 ±0.0058"), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

}  // namespace
}  // namespace nanobench::reports
