#include "reports/kinds/sections.h"

#include <gtest/gtest.h>

#include "reports/render/render.h"
#include "tests/reports/made_cells.h"

namespace nanobench::reports {
namespace {

TEST(DisturbedRuns, AreNamedWithTheirReasonAndHowFarTheyStandApart) {
  std::vector<CellMeasures> cells = {made_cell("base", {3.0, 3.1, 3.2, 3.3}), made_cell("x", {3.0})};
  cells[0].runs[2].step_ms = 150.0;
  cells[0].runs[2].disturbance = "the load was 9.0 when it began";
  cells[1].runs[0].disturbance = "the processor slowed down for heat";
  cells[0].runs[3].disturbance = "it failed anyway";
  cells[0].runs[3].run.result->outcome = core::RunOutcome::kCrashed;
  Document document;
  document.sections.push_back(disturbance_section(cells).value());
  const core::OrderedJson rows = to_json(document).at("tables").at("disturbed_runs");
  ASSERT_EQ(rows.size(), 2U) << rows;
  EXPECT_EQ(rows[0].at("cell"), "base");
  EXPECT_EQ(rows[0].at("seed"), 3);
  EXPECT_EQ(rows[0].at("run"), 1003);
  EXPECT_EQ(rows[0].at("reason"), "the load was 9.0 when it began");
  EXPECT_EQ(rows[0].at("change"), 0.5) << "against the median of the quiet ones";
  EXPECT_EQ(rows[1].at("change"), nullptr) << "no quiet run to hold it against";
}

TEST(DisturbedRuns, AQuietMachineHasNoTable) {
  EXPECT_FALSE(disturbance_section({made_cell("base", {3.0, 3.1})}));
}

}  // namespace
}  // namespace nanobench::reports
