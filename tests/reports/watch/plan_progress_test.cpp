#include "reports/watch/plan_progress.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

using core::RunOutcome;

constexpr std::int64_t kPlan = 7;
const RunnerPlace kNobody = {};

WatchedLine line_of(std::int64_t position, const std::string& cell, std::optional<RunOutcome> outcome,
                    std::int64_t made_for = kPlan) {
  WatchedLine line{.position = position, .cell = cell, .seed = static_cast<std::uint64_t>(position)};
  line.run = results::RunGlance{.id = position, .plan_id = made_for, .outcome = outcome};
  return line;
}

WatchedLine bare_line(std::int64_t position, const std::string& cell) {
  return {.position = position, .cell = cell};
}

TEST(PlanProgress, EvidenceIsTrainedHereOrReused) {
  EXPECT_EQ(state_of(line_of(0, "a", RunOutcome::kCompleted), kPlan, kNobody), LineState::kTrained);
  EXPECT_EQ(state_of(line_of(0, "a", RunOutcome::kDiverged), kPlan, kNobody), LineState::kTrained);
  EXPECT_EQ(state_of(line_of(0, "a", RunOutcome::kCompleted, 3), kPlan, kNobody), LineState::kReused);
  EXPECT_EQ(state_of(bare_line(0, "a"), kPlan, kNobody), LineState::kToDo);
}

TEST(PlanProgress, ARunningRowOfNobodyIsToDo) {
  const WatchedLine line = line_of(1, "a", std::nullopt);
  EXPECT_EQ(state_of(line, kPlan, {.is_at_work = true, .position = 1}), LineState::kRunning);
  EXPECT_EQ(state_of(line, kPlan, kNobody), LineState::kToDo);
}

TEST(PlanProgress, AFailedRunAheadOfTheRunnerIsToDo) {
  const WatchedLine line = line_of(5, "a", RunOutcome::kCrashed);
  EXPECT_EQ(state_of(line, kPlan, {.is_at_work = true, .position = 6}), LineState::kFailed);
  EXPECT_EQ(state_of(line, kPlan, {.is_at_work = true, .position = 4}), LineState::kToDo) << "it will be run again";
  EXPECT_EQ(state_of(line, kPlan, {.is_at_work = false, .position = 4}), LineState::kFailed) << "nobody does";
  EXPECT_EQ(state_of(line_of(5, "a", RunOutcome::kInterrupted), kPlan, kNobody), LineState::kToDo);
}

TEST(PlanProgress, CountsAddUp) {
  const LineCounts counts = count_lines({LineState::kToDo, LineState::kToDo, LineState::kRunning, LineState::kReused,
                                         LineState::kTrained, LineState::kFailed});
  EXPECT_EQ(counts.all, 6);
  EXPECT_EQ(counts.to_do, 2);
  EXPECT_EQ(counts.trained + counts.reused + counts.failed + counts.running + counts.to_do, counts.all);
}

struct Cells {
  std::vector<WatchedLine> lines;
  std::vector<LineState> states;

  Cells& add(WatchedLine line, const RunnerPlace& place = {.is_at_work = true, .position = 1000}) {
    states.push_back(state_of(line, kPlan, place));
    lines.push_back(std::move(line));
    return *this;
  }
  WatchedCell cell(const std::string& label) const { return watched_cells({label}, lines, states).front(); }
};

WatchedLine completed(std::int64_t position, const std::string& cell, double loss, double step_ms) {
  WatchedLine line = line_of(position, cell, RunOutcome::kCompleted);
  line.run->final_val_loss = loss;
  line.run->mean_step_ms = step_ms;
  return line;
}

TEST(PlanProgress, ACellHasMeansOfItsCompletedRuns) {
  Cells cells;
  cells.add(completed(0, "a", 3.0, 10.0)).add(completed(1, "a", 4.0, 30.0)).add(bare_line(2, "a"));
  cells.add(completed(3, "b", 9.0, 1.0));
  const WatchedCell cell = cells.cell("a");
  EXPECT_EQ(cell.planned, 3);
  EXPECT_EQ(cell.finished, 2);
  EXPECT_EQ(cell.val_loss.mean, 3.5);
  EXPECT_EQ(cell.step_ms.mean, 20.0);
  EXPECT_EQ(cell.state, CellState::kWaiting);
  EXPECT_EQ(cells.cell("b").state, CellState::kDone);
  EXPECT_EQ(cells.cell("b").val_loss.sd, std::nullopt) << "one run has no spread";
  EXPECT_EQ(runs_to_do(cells.lines, cells.states), (std::map<std::string, std::size_t>{{"a", 1}}));
}

TEST(PlanProgress, AFailureIsNamedUntilTheCellRunsAgain) {
  Cells cells;
  WatchedLine crashed = line_of(4, "a", RunOutcome::kCrashed);
  crashed.run->message = "signal 11";
  cells.add(crashed).add(line_of(5, "a", RunOutcome::kTimedOut)).add(completed(6, "a", 3.0, 10.0));
  EXPECT_EQ(cells.cell("a").state, CellState::kFailed);
  EXPECT_EQ(cells.cell("a").failed, 2);
  EXPECT_EQ(cells.cell("a").end,
            (WatchedEnd{.seed = 4, .outcome = RunOutcome::kCrashed, .message = "signal 11", .others = 1}));
  cells.add(line_of(7, "a", std::nullopt));
  EXPECT_EQ(cells.cell("a").state, CellState::kRunning);
}

TEST(PlanProgress, ADivergedRunIsEvidenceWithoutALoss) {
  Cells cells;
  WatchedLine diverged = line_of(1, "a", RunOutcome::kDiverged);
  diverged.run->message = "step 12: not finite";
  cells.add(diverged);
  EXPECT_EQ(cells.cell("a").finished, 1);
  EXPECT_EQ(cells.cell("a").state, CellState::kDiverged);
  EXPECT_EQ(cells.cell("a").val_loss.n, 0);
  EXPECT_EQ(cells.cell("a").end,
            (WatchedEnd{.seed = 1, .outcome = RunOutcome::kDiverged, .message = "step 12: not finite"}));
}

TEST(TimeLeft, KnowsNothingBeforeARunHasBegun) {
  const TimeLeft times;
  EXPECT_EQ(times.remaining_s({{"a", 2}}, std::nullopt), std::nullopt);
  EXPECT_EQ(times.remaining_s({{"a", 2}}, CurrentRun{"a", 5.0, std::nullopt}), std::nullopt);
  EXPECT_EQ(times.remaining_s({}, std::nullopt), 0.0) << "nothing to do takes no time";
  EXPECT_EQ(times.remaining_s({{"a", 0}}, std::nullopt), 0.0);
}

TEST(TimeLeft, BeforeOneHasEndedEachLastsAsLongAsTheCurrentOne) {
  const TimeLeft times;
  EXPECT_EQ(times.remaining_s({{"a", 1}, {"b", 2}}, CurrentRun{"a", 4.0, 6.0}), 6.0 + 3 * 10.0);
}

TEST(TimeLeft, CellsAreTakenByThemselvesAndOthersLikeAll) {
  TimeLeft times;
  times.add_finished("short", 10.0);
  times.add_finished("short", 20.0);
  times.add_finished("long", 90.0);
  EXPECT_EQ(times.expected_s("short"), 15.0);
  EXPECT_EQ(times.expected_s("long"), 90.0);
  EXPECT_EQ(times.expected_s("other"), 40.0);
  EXPECT_EQ(times.remaining_s({{"short", 2}, {"long", 1}, {"other", 1}}, std::nullopt), 30.0 + 90.0 + 40.0);
}

TEST(TimeLeft, WhatWasExpectedCountsUntilARunOfTheCellHasEnded) {
  TimeLeft times;
  times.expect("a", 7.0);
  EXPECT_EQ(times.expected_s("a"), 7.0);
  EXPECT_EQ(times.expected_s("b"), std::nullopt);
  EXPECT_EQ(times.remaining_s({{"a", 3}}, std::nullopt), 21.0);
  times.add_finished("b", 30.0);
  EXPECT_EQ(times.expected_s("a"), 7.0) << "its own pilot says more than runs of others";
  times.add_finished("a", 9.0);
  EXPECT_EQ(times.expected_s("a"), 9.0);
}

TEST(TimeLeft, TheCurrentRunGoesByItsPaceElseByItsCell) {
  TimeLeft times;
  times.add_finished("a", 10.0);
  EXPECT_EQ(times.remaining_s({{"a", 1}}, CurrentRun{"a", 4.0, 3.0}), 3.0 + 10.0);
  EXPECT_EQ(times.remaining_s({{"a", 1}}, CurrentRun{"a", 4.0, std::nullopt}), 6.0 + 10.0);
  EXPECT_EQ(times.remaining_s({{"a", 1}}, CurrentRun{"a", 40.0, std::nullopt}), 10.0) << "late, but never negative";
}

TEST(TimeLeft, SeveralAtOnceShareTheRest) {
  TimeLeft times;
  const std::vector<CurrentRun> two = {{"a", 10.0, 30.0}, {"b", 20.0, 60.0}};
  EXPECT_EQ(times.remaining_at_once_s({}, {}), std::nullopt) << "nobody knows how long a queue takes";
  EXPECT_EQ(times.remaining_at_once_s({{"a", 4}}, {}), std::nullopt);
  EXPECT_EQ(times.remaining_at_once_s({}, two), 60.0) << "not before the longest has ended";
  // Each like those that run, 40 s and 80 s: 4 of them and what is left, by two.
  EXPECT_EQ(times.remaining_at_once_s({{"a", 4}}, two), (30.0 + 60.0 + 4 * 60.0) / 2);
  times.add_finished("a", 100.0);
  EXPECT_EQ(times.remaining_at_once_s({{"a", 4}}, two), (30.0 + 60.0 + 4 * 100.0) / 2);
  EXPECT_EQ(TimeLeft().remaining_at_once_s({}, {{"a", 10.0, std::nullopt}}), std::nullopt);
}

}  // namespace
}  // namespace nanobench::reports
