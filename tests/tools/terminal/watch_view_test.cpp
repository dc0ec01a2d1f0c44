#include "tools/terminal/watch_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/text.h"
#include "reports/watch/watch_text.h"

namespace nanobench::tools {
namespace {

using reports::CellState;
using reports::RunnerState;
using reports::WatchedCell;
using reports::WatchedEnd;
using reports::WatchState;
using reports::WatchWarning;

WatchState state_of(int cells) {
  WatchState state{.plan_id = 7, .suite = "leave_one_out", .scale = "nano", .data_name = "synthetic"};
  state.runner = {.state = RunnerState::kRunning,
                  .owner = results::Owner{.host = "box", .pid = 4242},
                  .silent_s = 1.0,
                  .command = "nanobench run leave_one_out"};
  state.lines = {.all = 42, .trained = 14, .reused = 3, .failed = 1, .running = 1, .to_do = 23};
  state.elapsed_s = 725.0;
  state.remaining_s = 1180.0;
  state.run = {.id = 18, .cell = "record14", .seed = 2, .elapsed_s = 10, .step = 120, .total_steps = 240};
  for (std::int64_t step = 0; step < 120; ++step)
    state.run->train_losses.push_back({step, 5.5 - 0.015 * static_cast<double>(step)});
  state.run->val_losses = {{0, 5.6}, {100, 4.1}};
  state.run->step_ms = 84.1234;
  state.run->remaining_s = 12.0;
  for (int i = 0; i < cells; ++i) {
    WatchedCell cell{.label = "without feature " + std::to_string(i), .planned = 3};
    if (i < 5) cell.state = CellState::kDone;
    if (i == 5) cell.state = CellState::kRunning;
    cell.finished = i < 5 ? 3 : i == 5 ? 1 : 0;
    if (i <= 5)
      cell.val_loss = {.n = cell.finished, .mean = 3.2814, .sd = i < 5 ? std::optional(0.0021) : std::nullopt};
    if (i <= 5) cell.step_ms = {.n = cell.finished, .mean = 80.123, .sd = i < 5 ? std::optional(0.4) : std::nullopt};
    state.cells.push_back(cell);
  }
  state.machine = {.load_1m = 2.1, .processors = 2, .busy_share = 0.97, .steal_share = 0.004};
  return state;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string without_colors(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      at = text.find('m', at);
    } else {
      out += text[at];
    }
  }
  return out;
}

TEST(WatchView, SaysWhatAPersonWantsToKnow) {
  const std::string text = joined(watch_lines(state_of(8), {.width = 120, .height = 40, .has_keys = true}));
  for (const char* part :
       {"leave_one_out at scale nano on synthetic, plan 7", "running: process 4242 on box, last heard 1.0 s ago",
        "18 of 42 runs, about 19 min 40 s left",
        "14 trained, 3 reused, 1 failed, 1 running, 23 to do, 12 min 05 s so far",
        "record14 seed 2  [##########..........]  step 120/240  loss 3.7150  val 4.1000  84.1 ms/step  12 s left", "█",
        "5.5000 to 3.7150", "5.6000 to 4.1000", "3.2814 ±0.0021", "80.12 ±0.40", "waiting",
        "load 2.1 on 2 processors, 97 % busy, 0.4 % stolen", "q quits"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "no colour was asked for";
}

/// Runs on so many nodes, two in the queue.
WatchState on_nodes(int nodes) {
  WatchState state = state_of(3);
  const reports::WatchedRun run = *state.run;
  state.run.reset();
  state.machine.reset();
  state.lines = {.all = 20, .trained = 5, .running = nodes, .queued = 2};
  state.slurm = reports::WatchedSlurm{.job_ids = {"12"},
                                      .queue = "3 tasks running, 1 waiting (Priority)",
                                      .submitter = results::Owner{.host = "login", .pid = 7},
                                      .is_submitter_alive = true};
  for (int i = 0; i < nodes; ++i) {
    state.node_runs.push_back(run);
    state.node_runs.back().host = "nano" + std::to_string(i + 1);
  }
  return state;
}

TEST(WatchView, RunsOnNodesAreALineEach) {
  WatchState state = on_nodes(3);
  const std::string text = joined(watch_lines(state, {.width = 160, .height = 40}));
  for (const char* part :
       {"running: 3 runs on nano1, nano2 and nano3, last heard 1.0 s ago; Slurm job 12: 3 tasks running, 1 waiting "
        "(Priority); process 7 on login collects the results",
        "record14 seed 2 nano2  [##########..........]  step 120/240  loss 3.7150  val 4.1000  84.1 ms/step",
        "5 trained, 3 running, 2 queued"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("5.5000 to 3.7150"), std::string::npos) << "curves are for one run";
  state = on_nodes(30);
  EXPECT_NE(joined(watch_lines(state, {.width = 160, .height = 40})).find("23 more runs on nodes"), std::string::npos);
  for (const std::size_t height : {5U, 10U, 20U, 60U}) {
    const std::vector<std::string> lines = watch_lines(state, {.width = 60, .height = height});
    EXPECT_LE(lines.size(), height);
    for (const std::string& line : lines) EXPECT_LE(display_width(line), 60U) << line;
  }
  EXPECT_NE(joined(watch_lines(on_nodes(1), {.width = 160, .height = 40})).find("5.5000 to 3.7150"), std::string::npos);
}

TEST(WatchView, SaysThatNobodyCollects) {
  WatchState state = on_nodes(0);
  state.runner.state = RunnerState::kGone;
  state.slurm->is_submitter_alive = false;
  state.slurm->uncollected = 2;
  const std::string text = joined(watch_lines(state, {.width = 200, .height = 40}));
  EXPECT_NE(text.find("no program collects 2 results of ended runs now; `nanobench run leave_one_out` collects them"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("Priority"), std::string::npos) << "the answer that a dead process got is out of date";
}

TEST(WatchView, EveryLineFitsAndTheHeightIsKept) {
  WatchState state = state_of(30);
  state.warnings.assign(9, WatchWarning{.kind = WatchWarning::Kind::kDisturbed,
                                        .run_id = 3,
                                        .cell = "record12",
                                        .seed = 1,
                                        .message = std::string(200, 'w')});
  state.cells[3].state = CellState::kFailed;
  state.cells[3].end = WatchedEnd{.seed = 2, .message = std::string(300, 'r')};
  state.cells[4].label = std::string(90, 'l');
  for (const std::size_t width : {1, 5, 20, 40, 60, 80, 120, 250}) {
    for (const std::size_t height : {0, 1, 2, 5, 10, 13, 14, 20, 24, 40, 200}) {
      for (const bool is_utf8 : {true, false}) {
        for (const bool has_color : {true, false}) {
          const WatchStyle style{width, height, {.has_color = has_color, .is_utf8 = is_utf8}, true};
          const std::vector<std::string> lines = watch_lines(state, style);
          EXPECT_TRUE(height == 0 || lines.size() <= height) << lines.size();
          for (const std::string& line : lines) {
            const std::string plain = without_colors(line);
            EXPECT_LE(display_width(plain), width) << plain;
            if (is_utf8) continue;
            EXPECT_TRUE(std::all_of(plain.begin(), plain.end(), [](char c) { return c >= ' ' && c <= '~'; })) << plain;
          }
        }
      }
    }
  }
}

TEST(WatchView, ALowTerminalKeepsTheRunningCell) {
  const std::string text = joined(watch_lines(state_of(30), {.width = 60, .height = 20}));
  EXPECT_NE(text.find("18 of 42 runs"), std::string::npos) << text;
  EXPECT_NE(text.find("step 120/240"), std::string::npos) << text;
  EXPECT_NE(text.find("without feature 5"), std::string::npos) << text;
  EXPECT_NE(text.find(" more: "), std::string::npos) << text;
  EXPECT_EQ(text.find("without feature 29"), std::string::npos) << text;
  const std::string one = joined(watch_lines(state_of(30), {.width = 60, .height = 1}));
  EXPECT_EQ(one, "leave_one_out at scale nano on synthetic, plan 7\n");
}

TEST(WatchView, SpreadsGoBeforeTimesAndTimesBeforeLosses) {
  const auto text_at = [](std::size_t width) { return joined(watch_lines(state_of(8), {.width = width})); };
  EXPECT_NE(text_at(80).find("±0.40"), std::string::npos) << text_at(80);
  const std::string narrow = text_at(60);
  EXPECT_EQ(narrow.find("±0.40"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("80.12"), std::string::npos) << narrow;
  const std::string narrower = text_at(42);
  EXPECT_NE(narrower.find("3.2814"), std::string::npos) << narrower;
  EXPECT_EQ(narrower.find("80.12"), std::string::npos) << narrower;
}

TEST(WatchView, HostileNamesAreHarmless) {
  WatchState state = state_of(6);
  const std::string hostile =
      "\x1b[2J\x1b]0;title\x07\r\n\xc2\x9b"
      "31m\xff\xe2\x80\xae";
  state.suite = state.data_name = state.runner.command = state.run->cell = state.problem = hostile;
  state.runner.owner->host = hostile;
  state.cells[0].label = hostile;
  state.cells[1].state = CellState::kFailed;
  state.cells[1].end = WatchedEnd{.message = hostile};
  state.warnings = {{.message = hostile}, {.kind = WatchWarning::Kind::kSilent, .cell = hostile, .host = hostile}};
  for (const RunnerState runner : {RunnerState::kRunning, RunnerState::kGone, RunnerState::kEnded}) {
    state.runner.state = runner;
    for (const bool is_utf8 : {true, false}) {
      const std::vector<std::string> lines = watch_lines(state, {.width = 100, .terminal = {.is_utf8 = is_utf8}});
      for (const std::string& line : lines) {
        EXPECT_EQ(line, printable(line)) << "nothing steers the terminal";
        EXPECT_EQ(line.find('\n'), std::string::npos);
      }
    }
  }
}

TEST(WatchView, WithoutUtf8OnlyAscii) {
  const std::string text = joined(watch_lines(state_of(8), {.width = 80, .terminal = {.is_utf8 = false}}));
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_NE(text.find("3.2814 +-0.0021"), std::string::npos) << text;
  EXPECT_NE(text.find("##"), std::string::npos) << text;
}

TEST(WatchView, ColumnsStandBelowTheirTitles) {
  for (const bool is_utf8 : {true, false}) {
    const auto lines = watch_lines(state_of(8), {.width = 80, .terminal = {.is_utf8 = is_utf8}});
    const auto head = std::find_if(lines.begin(), lines.end(), [](const auto& l) { return l.starts_with("cell "); });
    ASSERT_NE(head, lines.end());
    const std::size_t at = head->find("state");
    for (int row = 1; row <= 8; ++row) {
      const std::string plain = is_utf8 ? to_ascii(*(head + row)) : *(head + row);
      const std::size_t extra = is_utf8 && plain.find("+-") != std::string::npos ? 2 : 0;  // two ± of two characters
      EXPECT_TRUE(plain.substr(at + extra).starts_with("done") || plain.substr(at + extra).starts_with("running") ||
                  plain.substr(at + extra).starts_with("waiting"))
          << *(head + row);
    }
  }
}

TEST(WatchView, AFailureTellsItsReasonAndWhatCannotBeReadIsSaid) {
  WatchState state = state_of(6);
  state.cells[0].state = CellState::kFailed;
  state.cells[0].end = WatchedEnd{.seed = 2, .message = "signal 11"};
  state.problem = "not read now: the disk is full";
  const std::string text = joined(watch_lines(state, {.width = 120}));
  EXPECT_NE(text.find(text_of(*state.cells[0].end)), std::string::npos) << text;
  EXPECT_NE(text.find("not read now: the disk is full"), std::string::npos) << text;
}

TEST(WatchView, ManyWarningsAreCounted) {
  WatchState state = state_of(6);
  for (int i = 0; i < 50; ++i) state.warnings.push_back({.run_id = i, .message = "number " + std::to_string(i)});
  const std::string text = joined(watch_lines(state, {.width = 120, .height = 24}));
  EXPECT_NE(text.find("warning: " + text_of(state.warnings[0])), std::string::npos) << text;
  EXPECT_NE(text.find("47 more warnings"), std::string::npos) << text;
}

TEST(WatchView, ColorsOnlyWhereAskedFor) {
  const WatchStyle style{.width = 80, .terminal = {.has_color = true}};
  const std::string text = joined(watch_lines(state_of(6), style));
  EXPECT_NE(text.find("\x1b[1m"), std::string::npos);
  EXPECT_EQ(without_colors(text), joined(watch_lines(state_of(6), {.width = 80})));
}

TEST(WatchView, AnExternalTrainersStepsHaveNoEnd) {
  WatchState state = state_of(6);
  state.run->total_steps = std::nullopt;
  state.run->remaining_s = std::nullopt;
  const std::string text = joined(watch_lines(state, {.width = 100}));
  EXPECT_NE(text.find("record14 seed 2  step 120  loss"), std::string::npos) << text;
}

}  // namespace
}  // namespace nanobench::tools
