#include "reports/comparison/stability.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/reports/made_cells.h"

namespace nanobench::reports {
namespace {

constexpr double kStart = 5.0;  // validation loss before the first step

std::string stability_config(double factor, const std::string& setting) {
  return R"({"name": "n", "model": {"setting": ")" + setting + R"("}, "schedule": {"rate_factor": )" +
         std::to_string(factor) + "}}";
}

/// One run for each final loss; NaN: one that ended as diverged.
CellMeasures rate_cell(const std::string& setting, double factor, const std::vector<double>& losses) {
  CellMeasures cell =
      made_cell("setting=" + setting + ", rate_factor=" + std::to_string(static_cast<int>(factor)), losses);
  cell.cell.features = {{"setting", setting}, {"other", "on"}};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    RunMeasure& run = cell.runs[i];
    run.run.config = stability_config(factor, setting);
    run.curve = {{.clock_s = std::nullopt, .loss = kStart, .step = 0}, {.clock_s = 1.0, .loss = losses[i], .step = 10}};
    if (!std::isnan(losses[i])) continue;
    run.run.result->outcome = core::RunOutcome::kDiverged;
    run.val_loss.reset();
    run.curve.clear();
  }
  return cell;
}

TEST(Stability, ARunDivergesByItsOutcomeOrByALossNotBelowItsFirst) {
  const CellMeasures cell = rate_cell("a", 2.0, {4.9, 5.0, 6.0, NAN});
  EXPECT_EQ(has_diverged(cell.runs[0]), false);
  EXPECT_EQ(has_diverged(cell.runs[1]), true);
  EXPECT_EQ(has_diverged(cell.runs[2]), true);
  EXPECT_EQ(has_diverged(cell.runs[3]), true);
  EXPECT_EQ(has_diverged(cell.runs[0], 4.5), true);
  EXPECT_EQ(has_diverged(cell.runs[2], 7.0), false);
  RunMeasure crashed = cell.runs[0];
  crashed.run.result->outcome = core::RunOutcome::kCrashed;
  EXPECT_EQ(has_diverged(crashed), std::nullopt);
  RunMeasure running = cell.runs[0];
  running.run.result.reset();
  EXPECT_EQ(has_diverged(running), std::nullopt);
}

TEST(Stability, TheFactorIsThatOfTheConfiguration) {
  EXPECT_EQ(rate_factor_of(stability_config(8.0, "a")), 8.0);
  EXPECT_EQ(rate_factor_of(R"({"schedule": {}})"), 1.0);
  EXPECT_EQ(rate_factor_of("no JSON"), 1.0);
}

std::vector<CellMeasures> swept_cells() {
  return {rate_cell("a", 4.0, {3.0, 3.1, 5.5}), rate_cell("a", 1.0, {3.0, 3.1, 3.2}),
          rate_cell("a", 2.0, {3.0, 3.1, 3.2}), rate_cell("a", 8.0, {3.0, NAN, 9.0}),
          rate_cell("b", 1.0, {3.0, 3.1, 6.0}), rate_cell("b", 2.0, {5.1, 3.1, 3.0}),
          rate_cell("b", 4.0, {5.1, 5.2, 5.3}), rate_cell("b", 8.0, {NAN, NAN, NAN})};
}

TEST(Stability, TheStableRateIsTheLargestFactorUpToWhichNoSeedDiverges) {
  const std::optional<Stability> stability = stability_of(swept_cells());
  ASSERT_TRUE(stability);
  ASSERT_EQ(stability->arms.size(), 2U);
  const StabilityArm& a = stability->arms[0];
  EXPECT_EQ(a.label, "setting=a");
  ASSERT_EQ(a.points.size(), 4U);
  EXPECT_EQ(a.points[0].factor, 1.0) << "ascending";
  EXPECT_EQ(a.points[2].count(), 1);
  EXPECT_EQ(a.points[3].count(), 2);
  EXPECT_EQ(a.stable_rate, 2.0);
  EXPECT_FALSE(a.is_open);
  EXPECT_EQ(a.diverged, 3);
  EXPECT_EQ(a.runs, 12);
  EXPECT_EQ(a.stable_by_seed, (BySeed{{1, 8.0}, {2, 4.0}, {3, 2.0}}));
  const StabilityArm& b = stability->arms[1];
  EXPECT_EQ(b.stable_rate, std::nullopt) << "seed 3 diverges at the smallest factor";
  EXPECT_EQ(b.stable_by_seed, (BySeed{{1, 1.0}, {2, 2.0}, {3, 0.5}})) << "a larger rate that survives does not count";
  EXPECT_EQ(b.diverged, 8);
}

/// Wilson's interval of 3 of 12, from the closed form with z = 1.959964.
TEST(Stability, TheSharesHaveWilsonsInterval) {
  const std::optional<Stability> stability = stability_of(swept_cells());
  ASSERT_TRUE(stability && stability->arms[0].share_interval);
  EXPECT_NEAR(stability->arms[0].share_interval->low, 0.0889417, 1e-6);
  EXPECT_NEAR(stability->arms[0].share_interval->high, 0.5323053, 1e-6);
}

TEST(Stability, ArmsAreComparedSeedBySeed) {
  const std::optional<Stability> stability = stability_of(swept_cells());
  ASSERT_TRUE(stability);
  ASSERT_EQ(stability->changes.size(), 1U);
  const StabilityChange& change = stability->changes[0];
  EXPECT_EQ(change.n, 3);
  // Shares of a by seed: 0, 1/4, 2/4; of b: 3/4, 2/4, 3/4.
  EXPECT_NEAR(change.share.value_or(0), (0.75 + 0.25 + 0.25) / 3.0, 1e-12);
  ASSERT_TRUE(change.interval);
  // The differences 0.75, 0.25, 0.25 have the standard error 1/6; t of two degrees of freedom is 4.302653.
  EXPECT_NEAR(change.interval->low, 1.25 / 3.0 - 4.302653 / 6.0, 1e-6);
  EXPECT_NEAR(change.rate_ratio.value_or(0), std::cbrt((1.0 / 8.0) * (2.0 / 4.0) * (0.5 / 2.0)), 1e-12);
}

TEST(Stability, ArmsAreNamedByTheFeaturesInWhichTheyDifferOrElseByTheirFirstCells) {
  std::vector<CellMeasures> cells = swept_cells();
  EXPECT_EQ(stability_of(cells)->arms[1].label, "setting=b");
  cells.resize(4);
  EXPECT_EQ(stability_of(cells)->arms[0].label, "the base");
  cells = swept_cells();
  for (CellMeasures& cell : cells) cell.cell.features.erase("setting");
  EXPECT_EQ(stability_of(cells)->arms[1].label, cells[4].cell.label);
}

TEST(Stability, WithoutASweepOrWithDifferentFactorsNothingIsCompared) {
  EXPECT_FALSE(stability_of({rate_cell("a", 1.0, {3.0}), rate_cell("b", 1.0, {3.0})}));
  const std::optional<Stability> stability = stability_of(
      {rate_cell("a", 1.0, {3.0}), rate_cell("a", 2.0, {3.0}), rate_cell("b", 1.0, {3.0}), rate_cell("b", 4.0, {3.0})});
  ASSERT_TRUE(stability);
  EXPECT_TRUE(stability->arms[0].is_open);
  EXPECT_EQ(stability->changes.at(0).share, std::nullopt);
}

}  // namespace
}  // namespace nanobench::reports
