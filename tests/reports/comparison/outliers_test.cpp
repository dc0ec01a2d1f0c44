#include "reports/comparison/conditions.h"

#include <gtest/gtest.h>

#include "reports/comparison/comparison.h"
#include "reports/comparison/remark_text.h"
#include "reports/comparison/remarks.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"
#include "tests/reports/made_cells.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

TEST(Outliers, NameTheRunThatStandsApart) {
  const CellMeasures cell = made_cell("base", {3.280, 3.281, 3.279, 3.420, 3.282, 3.280});
  const CellOutliers outliers = outliers_of(cell);
  ASSERT_TRUE(outliers.val_loss);
  ASSERT_EQ(outliers.val_loss->size(), 1U);
  const OutlyingRun& run = outliers.val_loss->front();
  EXPECT_EQ(run.seed, 4U);
  EXPECT_EQ(run.run_id, 1004);
  EXPECT_DOUBLE_EQ(run.value, 3.420);
  EXPECT_DOUBLE_EQ(run.median, 3.2805);
  EXPECT_GT(run.score, kOutlierLimit);
  ASSERT_TRUE(outliers.step_ms);
  EXPECT_TRUE(outliers.step_ms->empty()) << "all times are equal";
}

TEST(Outliers, FourRunsCannotSayWhichIsTheOddOne) {
  const CellOutliers outliers = outliers_of(made_cell("base", {3.280, 3.281, 3.279, 9.0}));
  EXPECT_FALSE(outliers.val_loss || outliers.step_ms);
}

TEST(Outliers, OnlyCompletedRunsCount) {
  CellMeasures cell = made_cell("base", {3.280, 3.281, 3.279, 3.420, 3.282});
  cell.runs[0].run.result->outcome = core::RunOutcome::kCrashed;
  EXPECT_FALSE(outliers_of(cell).val_loss);
  cell.runs[0].run.result.reset();
  EXPECT_FALSE(outliers_of(cell).val_loss);
}

TEST(Outliers, TimesAreHeldAgainstThoseOfTheSameMachine) {
  CellMeasures cell = made_cell("base", std::vector<double>(12, 3.0));
  for (std::size_t i = 0; i < cell.runs.size(); ++i) {
    const bool is_slow = i >= 7;  // five runs on a machine half as fast
    cell.runs[i].run.owner.host = is_slow ? "slow" : "fast";
    cell.runs[i].step_ms = (is_slow ? 200.0 : 100.0) * (1.0 + 0.001 * static_cast<double>(i % 5));
  }
  EXPECT_TRUE(outliers_of(cell).step_ms->empty());
  cell.runs[2].step_ms = 150.0;
  ASSERT_EQ(outliers_of(cell).step_ms->size(), 1U);
  EXPECT_EQ(outliers_of(cell).step_ms->front().seed, 3U);
}

TEST(Outliers, TimesAreHeldAgainstThoseOfTheSameGpu) {
  CellMeasures cell = made_cell("base", std::vector<double>(12, 3.0));
  for (std::size_t i = 0; i < cell.runs.size(); ++i) {
    const bool is_slow = i >= 7;
    cell.runs[i].run.gpu = is_slow ? "A100" : "H100";
    cell.runs[i].step_ms = (is_slow ? 200.0 : 100.0) * (1.0 + 0.001 * static_cast<double>(i % 5));
  }
  EXPECT_TRUE(outliers_of(cell).step_ms->empty());
}

TEST(Outliers, AreNamedCountedAndLeftInTheMean) {
  results::PlanRecord plan;
  plan.design = results::Design::kHistory;
  const std::vector<CellMeasures> cells = {made_cell("base", {3.280, 3.281, 3.279, 3.420, 3.282, 3.280}),
                                           made_cell("few", {3.0, 3.1})};
  const Document document = comparison_report(plan, cells, compare(plan, cells, {}));
  const core::Json json = core::Json::parse(render_json(document));
  const core::Json& loss = json.at("tables").at("rows").at(0).at("val_loss");
  EXPECT_EQ(loss.at("outliers"), 1);
  EXPECT_EQ(loss.at("outlier_runs").at(0).at("run"), 1004);
  EXPECT_EQ(loss.at("outlier_runs").at(0).at("seed"), 4);
  EXPECT_EQ(loss.at("n"), 6);
  EXPECT_NEAR(loss.at("mean").get<double>(), 3.30366666666667, 1e-12) << "with the flagged run";
  EXPECT_EQ(json.at("tables").at("rows").at(0).at("step_ms").at("outliers"), 0);
  EXPECT_TRUE(json.at("tables").at("rows").at(1).at("val_loss").at("outliers").is_null()) << "two runs: not judged";
  const std::vector<Remark> notes = measure_notes(compare(plan, cells, {}), cells);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].kind, RemarkKind::kOutliers);
  ASSERT_EQ(notes[0].runs.size(), 1U);
  EXPECT_EQ(notes[0].runs[0].row, "base");
  EXPECT_EQ(notes[0].runs[0].seed, 4U);
  EXPECT_EQ(notes[0].runs[0].run_id, 1004);
  EXPECT_FALSE(notes[0].runs[0].is_time);
  EXPECT_DOUBLE_EQ(notes[0].runs[0].value, 3.420);
  EXPECT_DOUBLE_EQ(notes[0].runs[0].median, 3.2805);
  EXPECT_EQ(document.notes.back(), text_of(notes[0]));
}

TEST(Outliers, AllAreInTheRemark) {
  results::PlanRecord plan;
  std::vector<CellMeasures> cells;
  for (int i = 0; i < 12; ++i)
    cells.push_back(made_cell(std::to_string(i), {3.280, 3.281, 3.279, 3.420, 3.282, 3.280}));
  const std::vector<Remark> notes = measure_notes(compare(plan, cells, {}), cells);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].runs.size(), 12U) << "of which a sentence names ten";
}

TEST(OutliersSimulation, OrdinaryRunsAreFlaggedAsOftenAsTheNoteSays) {
  NormalDraws draws(7);
  constexpr int kRepetitions = 3000;
  for (const auto& [n, share] : std::vector<std::pair<int, double>>{{5, 0.207}, {20, 0.1}}) {
    const double flagged = share_of(
        kRepetitions, [&] { return !outliers_of(made_cell("x", draws.sample(n, 3.0, 0.01))).val_loss->empty(); });
    expect_share(flagged, share, kRepetitions, std::to_string(n) + " runs");
  }
}

}  // namespace
}  // namespace nanobench::reports
