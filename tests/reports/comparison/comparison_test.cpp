#include "reports/comparison/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reports/comparison/remark_text.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"

namespace nanobench::reports {
namespace {

using core::RunOutcome;

RunMeasure completed(std::uint64_t seed, double val_loss, double step_ms) {
  RunMeasure measure;
  measure.run.seed = seed;
  measure.run.hardware = "machine";
  measure.run.threads = 2;
  measure.run.data_floor_nats = 2.0;
  measure.run.result = results::RunResult{.outcome = RunOutcome::kCompleted, .final_val_loss = val_loss};
  measure.val_loss = val_loss;
  measure.step_ms = step_ms;
  measure.mean_step_ms = step_ms * 1.1;
  measure.tokens_per_s = 256 / (step_ms * 1.1e-3);
  measure.peak_bytes = 100.0 * 1024 * 1024;
  measure.curve = {{std::nullopt, 5.0}, {1.0, 4.0}, {2.0, val_loss}};
  measure.lowest_val_loss = val_loss;
  return measure;
}

RunMeasure ended(std::uint64_t seed, RunOutcome outcome, const std::string& message) {
  RunMeasure measure;
  measure.run.seed = seed;
  measure.run.hardware = "machine";
  measure.run.threads = 2;
  measure.run.result = results::RunResult{.outcome = outcome, .message = message};
  measure.lowest_val_loss = 9.0;
  return measure;
}

CellMeasures cell(const std::string& label, std::vector<RunMeasure> runs, std::optional<double> published = {}) {
  CellMeasures measures;
  measures.cell.label = label;
  measures.cell.record = label;
  measures.cell.changes = {"changed in " + label};
  measures.planned = static_cast<int>(runs.size());
  measures.runs = std::move(runs);
  measures.step_ms = published;
  return measures;
}

results::PlanRecord plan_of(results::Design design = results::Design::kHistory) {
  results::PlanRecord plan;
  plan.suite = "suite";
  plan.title = "title";
  plan.design = design;
  plan.scale = "nano";
  plan.data_name = "synthetic";
  plan.messages = {{core::MessageKind::kScale, "nano", "what the scale cannot keep"}};
  return plan;
}

bool has(const std::vector<Remark>& remarks, const Remark& remark) {
  return std::find(remarks.begin(), remarks.end(), remark) != remarks.end();
}
bool has_kind(const std::vector<Remark>& remarks, RemarkKind kind) {
  return std::any_of(remarks.begin(), remarks.end(), [&](const Remark& remark) { return remark.kind == kind; });
}

TEST(Comparison, TimesOfOtherGpusAreNotCompared) {
  const auto cells_on = [](const std::string& first, const std::string& second) {
    std::vector<CellMeasures> cells = {cell("a", {completed(1, 3.3, 20), completed(2, 3.5, 20)}),
                                       cell("b", {completed(1, 3.2, 10), completed(2, 3.4, 10)})};
    for (RunMeasure& run : cells[0].runs) run.run.gpu = first;
    for (RunMeasure& run : cells[1].runs) run.run.gpu = second;
    return cells;
  };
  const std::string gpu = "NVIDIA H100 (GPU-1), driver 570";
  const ComparisonTable same = compare(plan_of(), cells_on(gpu, gpu), {});
  EXPECT_TRUE(same.rows[1].step_speed_up);
  EXPECT_FALSE(has_kind(same.warnings, RemarkKind::kGpus));
  for (const char* other : {"NVIDIA H100 (GPU-2), driver 570", "NVIDIA H100 (GPU-1), driver 580", ""}) {
    const std::vector<CellMeasures> cells = cells_on(gpu, other);
    EXPECT_FALSE(share_machine(cells[0].runs[0], cells[1].runs[0])) << other;
    const ComparisonTable table = compare(plan_of(), cells, {});
    EXPECT_FALSE(table.rows[1].step_speed_up) << other;
    EXPECT_TRUE(table.rows[1].val_loss_change) << "losses may be";
    std::vector<std::string> names = {*other == 0 ? "none" : other, gpu};
    std::sort(names.begin(), names.end());
    EXPECT_TRUE(has(table.warnings, {.kind = RemarkKind::kGpus, .names = names})) << other;
    EXPECT_TRUE(has(table.notes, {.kind = RemarkKind::kOtherGpus, .rows = {"b", "a"}})) << other;
  }
}

RunMeasure on_host(const std::string& host, RunMeasure run) {
  run.run.owner.host = host;
  return run;
}

TEST(Comparison, OnlyPairsOfOneHostHaveASpeedUp) {
  const std::vector<CellMeasures> cells = {
      cell("a", {on_host("x", completed(1, 3.3, 20)), on_host("y", completed(2, 3.5, 40))}),
      cell("b", {on_host("x", completed(1, 3.2, 10)), on_host("z", completed(2, 3.3, 1))})};
  const ComparisonTable table = compare(plan_of(), cells, {});
  EXPECT_DOUBLE_EQ(table.rows[1].step_speed_up->value, 2.0) << "seed 2 ran on two hosts";
  EXPECT_EQ(table.rows[1].step_speed_up->n, 1);
  EXPECT_NEAR(table.rows[1].val_loss_change->value, -0.15, 1e-12) << "losses are compared over all";
  EXPECT_FALSE(table.has_one_yardstick);
  EXPECT_TRUE(has(table.warnings, {.kind = RemarkKind::kHosts, .count = 3}));
}

TEST(Comparison, WithoutAPairOnOneHostThereIsNoSpeedUp) {
  const std::vector<CellMeasures> cells = {cell("a", {on_host("x", completed(1, 3.3, 20))}),
                                           cell("b", {on_host("y", completed(1, 3.2, 10))})};
  const ComparisonTable table = compare(plan_of(), cells, {});
  EXPECT_FALSE(table.rows[1].step_speed_up.has_value());
  EXPECT_TRUE(table.rows[1].val_loss_change.has_value());
  EXPECT_FALSE(table.has_one_yardstick);
}

TEST(Comparison, HostsThatRanTheSameSeedsInEveryRowAreOneYardstick) {
  const std::vector<CellMeasures> cells = {
      cell("a", {on_host("x", completed(1, 3.3, 20)), on_host("y", completed(2, 3.5, 40))}),
      cell("b", {on_host("x", completed(1, 3.2, 10)), on_host("y", completed(2, 3.3, 20))})};
  const ComparisonTable table = compare(plan_of(), cells, {});
  EXPECT_DOUBLE_EQ(table.rows[1].step_speed_up->value, 2.0);
  EXPECT_EQ(table.rows[1].step_speed_up->n, 2);
  EXPECT_TRUE(table.has_one_yardstick);
}

TEST(Comparison, EachRowAgainstTheRowBefore) {
  const std::vector<CellMeasures> cells = {cell("a", {completed(1, 3.3, 20), completed(2, 3.5, 20)}, 160.0),
                                           cell("b", {completed(1, 3.2, 10), completed(2, 3.4, 10)}, 80.0)};
  const ComparisonTable table = compare(plan_of(), cells, {});
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_FALSE(table.rows[0].val_loss_change);
  EXPECT_FALSE(table.rows[0].step_speed_up);
  EXPECT_EQ(table.rows[1].reference, "a");
  EXPECT_NEAR(table.rows[1].val_loss_change->value, -0.1, 1e-12);
  EXPECT_TRUE(table.rows[1].val_loss_change->is_paired);
  EXPECT_DOUBLE_EQ(table.rows[1].step_speed_up->value, 2.0);
  EXPECT_DOUBLE_EQ(*table.rows[1].published_speed_up, 2.0);
  EXPECT_EQ(table.rows[1].completed, 2);
}

TEST(Comparison, OtherDesignsAgainstTheFirstRow) {
  const std::vector<CellMeasures> cells = {cell("base", {completed(1, 3.0, 10)}), cell("x", {completed(1, 3.5, 10)}),
                                           cell("y", {completed(1, 3.1, 10)})};
  const ComparisonTable table = compare(plan_of(results::Design::kLeaveOneOut), cells, {});
  EXPECT_EQ(table.rows[2].reference, "base");
  EXPECT_NEAR(table.rows[2].val_loss_change->value, 0.1, 1e-12);
}

TEST(Comparison, TheTargetIsTheFirstRowsMeanFinalLoss) {
  const std::vector<CellMeasures> cells = {cell("a", {completed(1, 3.2, 20), completed(2, 3.4, 20)}),
                                           cell("b", {completed(1, 3.0, 10), completed(2, 3.9, 10)})};
  const ComparisonTable table = compare(plan_of(), cells, {});
  EXPECT_NEAR(*table.target, 3.3, 1e-12);
  EXPECT_EQ(table.target_source, (TargetSource{.kind = TargetSource::Kind::kFirstRow, .row = "a", .runs = 2}));
  EXPECT_EQ(table.rows[1].to_target.reached, 1);
  EXPECT_EQ(table.rows[1].to_target.completed, 2);
  EXPECT_NEAR(*table.rows[1].to_target.seconds.mean, 1.7, 1e-12);
  EXPECT_FALSE(table.rows[1].to_target.seconds.sd) << "one run reached it";
}

TEST(Comparison, TargetOfSuiteAndOfCommandLine) {
  results::PlanRecord plan = plan_of();
  plan.target = 3.5;
  const std::vector<CellMeasures> cells = {cell("a", {completed(1, 3.2, 20)})};
  EXPECT_DOUBLE_EQ(*compare(plan, cells, {}).target, 3.5);
  EXPECT_EQ(compare(plan, cells, {}).target_source.kind, TargetSource::Kind::kSuite);
  EXPECT_DOUBLE_EQ(*compare(plan, cells, {.target = 3.0}).target, 3.0);
  EXPECT_EQ(compare(plan, cells, {.target = 3.0}).target_source.kind, TargetSource::Kind::kOption);
  EXPECT_EQ(compare(plan, cells, {.target = 3.0}).rows[0].to_target.reached, 0);
}

TEST(Comparison, OneRunHasNoSpreadAndTheReportSaysSo) {
  const ComparisonTable table = compare(plan_of(), {cell("a", {completed(1, 3.2, 20)})}, {});
  EXPECT_FALSE(table.rows[0].val_loss.sd);
  EXPECT_TRUE(has(table.notes, {.kind = RemarkKind::kOneRun}));
}

TEST(Comparison, FailedCellsAreRowsWithReasonsAndArePassedOver) {
  const std::vector<CellMeasures> cells = {
      cell("a", {completed(1, 3.2, 20)}),
      cell("b", {ended(1, RunOutcome::kOutOfMemory, "no memory"), ended(2, RunOutcome::kOutOfMemory, "no memory"),
                 ended(3, RunOutcome::kCrashed, "signal 11")}),
      cell("c", {completed(1, 3.1, 10)})};
  const ComparisonTable table = compare(plan_of(), cells, {});
  EXPECT_EQ(table.rows[1].failed, 3);
  EXPECT_EQ(table.rows[1].failures, (std::vector<FailedRuns>{{{1, 2}, RunOutcome::kOutOfMemory, "no memory"},
                                                             {{3}, RunOutcome::kCrashed, "signal 11"}}));
  EXPECT_FALSE(table.rows[1].val_loss.mean);
  EXPECT_FALSE(table.rows[1].val_loss_change);
  EXPECT_EQ(table.rows[2].reference, "a");
  EXPECT_TRUE(has(table.notes, {.kind = RemarkKind::kSkippedRow, .rows = {"c", "a", "b"}}));
}

TEST(Comparison, DivergedRunsNeverEnterAMean) {
  const ComparisonTable table =
      compare(plan_of(), {cell("a", {completed(1, 3.2, 20), ended(2, RunOutcome::kDiverged, "step 3")})}, {});
  EXPECT_EQ(table.rows[0].val_loss.n, 1);
  EXPECT_EQ(table.rows[0].failures, (std::vector<FailedRuns>{{{2}, RunOutcome::kDiverged, "step 3"}}));
}

TEST(Comparison, InterruptedRunsAreUnfinishedNotFailed) {
  const ComparisonTable table = compare(plan_of(), {cell("a", {ended(1, RunOutcome::kInterrupted, "stopped")})}, {});
  EXPECT_EQ(table.rows[0].failed, 0);
  EXPECT_EQ(table.rows[0].unfinished, 1);
  EXPECT_FALSE(table.target) << "nothing to take a target from";
}

TEST(Comparison, ALossBelowTheFloorIsAWarning) {
  EXPECT_EQ(compare(plan_of(), {cell("a", {completed(1, 1.99, 20), completed(2, 1.98, 20)})}, {}).warnings,
            (std::vector<Remark>{{.kind = RemarkKind::kBelowFloor,
                                  .runs = {{.row = "a", .seed = 1}},
                                  .count = 1,
                                  .value = 1.99,
                                  .limit = 2.0}}));
  EXPECT_TRUE(compare(plan_of(), {cell("a", {completed(1, 2.01, 20)})}, {}).warnings.empty());
}

TEST(Comparison, MixedMachinesAreAWarning) {
  RunMeasure other = completed(2, 3.2, 20);
  other.run.hardware = "another";
  EXPECT_EQ(compare(plan_of(), {cell("a", {completed(1, 3.2, 20), other})}, {}).warnings,
            (std::vector<Remark>{{.kind = RemarkKind::kMachines}}));
}

TEST(Comparison, ABusyMachineIsAWarningAboutTimes) {
  RunMeasure run = completed(1, 3.2, 20);
  EXPECT_TRUE(compare(plan_of(), {cell("a", {run})}, {}).warnings.empty());
  run.disturbance = "the load was 9.4 when it began";
  EXPECT_EQ(compare(plan_of(), {cell("a", {run})}, {}).warnings,
            (std::vector<Remark>{{.kind = RemarkKind::kDisturbed,
                                  .names = {"the load was 9.4 when it began"},
                                  .runs = {{.row = "a", .seed = 1}},
                                  .count = 1}}));
  run.run.result->outcome = core::RunOutcome::kCrashed;
  EXPECT_FALSE(has_kind(compare(plan_of(), {cell("a", {run})}, {}).warnings, RemarkKind::kDisturbed))
      << "it has no times";
}

TEST(Comparison, CellsWithoutRunsAreRows) {
  CellMeasures empty = cell("b", {});
  empty.planned = 2;
  const std::vector<CellMeasures> cells = {cell("a", {completed(1, 3.2, 20)}), empty};
  const ComparisonTable table = compare(plan_of(), cells, {});
  EXPECT_EQ(table.rows[1].unfinished, 2);
  const core::OrderedJson rows = to_json(comparison_report(plan_of(), cells, table)).at("tables").at("rows");
  EXPECT_EQ(rows.at(1).at("n").at("completed"), 0);
  EXPECT_EQ(rows.at(1).at("n").at("planned"), 2);
  EXPECT_FALSE(rows.at(0).contains("changed_remark"));
  EXPECT_TRUE(rows.at(1).contains("changed_remark")) << "it says that nothing has run";
}

TEST(ComparisonReport, MeanAndSpreadOfPeakMemoryAreBothInMebibytes) {
  CellMeasures one = cell("a", {completed(1, 3.3, 20), completed(2, 3.5, 22)});
  one.runs[1].peak_bytes = 102.0 * 1024 * 1024;
  const Document document = comparison_report(plan_of(), {one}, compare(plan_of(), {one}, {}));
  const auto peak = to_json(document).at("tables").at("rows").at(0).at("peak_mib");
  EXPECT_DOUBLE_EQ(peak.at("mean").get<double>(), 101.0);
  EXPECT_NEAR(peak.at("sd").get<double>(), 1.4142135623730951, 1e-12);
  EXPECT_NE(render_terminal(document, {.width = 300}).find("101 ±1"), std::string::npos);
}

TEST(ComparisonReport, SaysWhatItIsAndGivesFullPrecisionInJson) {
  const std::vector<CellMeasures> cells = {
      cell("a", {completed(1, 3.3, 20), completed(2, 3.5, 22)}, 160.0),
      cell("b", {completed(1, 3.9, 10), completed(2, 4.1, 10), ended(3, RunOutcome::kCrashed, "signal 11")}, 80.0)};
  const Document document = comparison_report(plan_of(), cells, compare(plan_of(), cells, {}));
  const core::OrderedJson json = to_json(document);
  EXPECT_EQ(json.at("facts").at("scale"), "nano");
  EXPECT_EQ(json.at("facts").at("machine"), "machine");
  EXPECT_DOUBLE_EQ(json.at("facts").at("floor_nats").get<double>(), 2.0);
  EXPECT_DOUBLE_EQ(json.at("facts").at("target").at("val_loss").get<double>(), 3.4);
  const auto& rows = json.at("tables").at("rows");
  EXPECT_DOUBLE_EQ(rows.at(0).at("val_loss").at("mean").get<double>(), 3.4);
  EXPECT_DOUBLE_EQ(rows.at(0).at("peak_mib").at("mean").get<double>(), 100.0);
  EXPECT_EQ(rows.at(1).at("to_target_s").at("reached"), 0);
  EXPECT_TRUE(rows.at(1).at("to_target_s").at("mean").is_null()) << "not reached is never 0";
  EXPECT_EQ(rows.at(1).at("n").at("planned"), 3);
  const std::string failure = text_of(FailedRuns{{3}, RunOutcome::kCrashed, "signal 11"});
  EXPECT_NE(rows.at(1).at("changed_remark").get<std::string>().find(failure), std::string::npos);
  const std::string text = render_terminal(document, {.width = 200});
  EXPECT_NE(text.find(failure), std::string::npos) << text;
  EXPECT_NE(text.find(plan_of().messages.front().text), std::string::npos) << text;
}

}  // namespace
}  // namespace nanobench::reports
