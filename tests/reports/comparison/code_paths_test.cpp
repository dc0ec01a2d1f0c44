#include "reports/comparison/conditions.h"

#include <gtest/gtest.h>

#include "tests/reports/made_cells.h"

namespace nanobench::reports {
namespace {

using core::StepParts;

/// `no_kernel_for` absent: its engine left it out.
CellMeasures cell_without(const std::string& label, const std::optional<StepParts>& no_kernel_for) {
  CellMeasures cell = made_cell(label, {3.0, 3.1});
  for (RunMeasure& run : cell.runs) run.run.no_kernel_for = no_kernel_for;
  return cell;
}

StepParts between(const std::optional<StepParts>& a, const std::optional<StepParts>& b) {
  const CellMeasures one = cell_without("a", a), other = cell_without("b", b);
  return parts_without_kernel({{&one, 1.0}, {&other, -1.0}});
}

TEST(CodePaths, PartsOnOneSideAloneAreNamed) {
  const StepParts none, blocks = {"blocks"}, both = {"blocks", "muon"}, all = {"all"};
  EXPECT_EQ(between(none, blocks), blocks);
  EXPECT_EQ(between(both, none), both);
  EXPECT_EQ(between(both, StepParts{"muon", "adam"}), (StepParts{"adam", "blocks"}));
  EXPECT_EQ(between(all, none), all);
  for (const StepParts& same : {none, blocks, both, all}) EXPECT_EQ(between(same, same), none) << core::text_of(same);
}

TEST(CodePaths, WhereAnEngineToldNothingNothingIsKnown) {
  EXPECT_EQ(between(std::nullopt, StepParts{"blocks"}), StepParts{});
  EXPECT_EQ(between(StepParts{"blocks"}, std::nullopt), StepParts{});
  CellMeasures failed = cell_without("failed", {{"blocks"}});
  for (RunMeasure& run : failed.runs) run.run.result->outcome = core::RunOutcome::kCrashed;
  const CellMeasures other = cell_without("b", StepParts{});
  EXPECT_EQ(parts_without_kernel({{&failed, 1.0}, {&other, -1.0}}), StepParts{}) << "its times count nowhere";
}

/// Half of the cells on either side of B lack a kernel: that cancels. It does not for A, whose change it is.
TEST(CodePaths, WhatIsOnBothSidesAlikeCancels) {
  const CellMeasures none = cell_without("-", StepParts{}), a = cell_without("a", {{"blocks"}}),
                     b = cell_without("b", StepParts{}), both = cell_without("a + b", {{"blocks"}});
  EXPECT_EQ(parts_without_kernel({{&b, 0.5}, {&both, 0.5}, {&none, -0.5}, {&a, -0.5}}), StepParts{});
  EXPECT_EQ(parts_without_kernel({{&a, 0.5}, {&both, 0.5}, {&none, -0.5}, {&b, -0.5}}), StepParts{"blocks"});
  EXPECT_EQ(parts_without_kernel({{&a, -0.5}, {&both, 0.5}, {&none, 0.5}, {&b, -0.5}}), StepParts{})
      << "the interaction";
}

TEST(CodePaths, OneWarningNamesTheRows) {
  std::vector<CellMeasures> cells = {cell_without("base", StepParts{})};
  for (const char* label : {"v", "w", "x", "y", "z"}) cells.push_back(cell_without(label, {{"blocks"}}));
  cells.push_back(cell_without("alike", StepParts{}));
  results::PlanRecord plan;
  plan.design = results::Design::kLeaveOneOut;
  const ComparisonTable table = compare(plan, cells, {});
  EXPECT_EQ(
      table.warnings,
      (std::vector<Remark>{{.kind = RemarkKind::kOtherCode, .rows = {"v", "w", "x", "y", "z"}, .parts = {"blocks"}}}));
  plan.design = results::Design::kHistory;  // each row against the one before: the first of the five, and the last row
  const ComparisonTable ladder = compare(plan, cells, {});
  EXPECT_EQ(ladder.warnings,
            (std::vector<Remark>{{.kind = RemarkKind::kOtherCode, .rows = {"v", "alike"}, .parts = {"blocks"}}}));
}

}  // namespace
}  // namespace nanobench::reports
