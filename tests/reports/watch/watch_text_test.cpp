#include "reports/watch/watch_text.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

using core::RunOutcome;

// The only tests of these sentences: all others compare values.

TEST(WatchText, SaysWhatTheRunnerDoes) {
  WatchState state;
  state.runner.command = "nanobench run s.json";
  state.runner.silent_s = 180.0;
  results::Owner owner;
  owner.pid = 42;
  owner.host = "box";
  const auto text = [&](RunnerState runner) {
    state.runner.state = runner;
    return runner_text(state);
  };
  EXPECT_EQ(text(RunnerState::kNotBegun), "no run has begun");
  EXPECT_EQ(text(RunnerState::kEnded), "nothing to run: every run is stored already");
  state.runner.owner = owner;
  EXPECT_EQ(text(RunnerState::kRunning), "running: process 42 on box, last heard 3 min 00 s ago");
  EXPECT_EQ(text(RunnerState::kBetween), "between runs: process 42 on box");
  EXPECT_EQ(text(RunnerState::kStopped), "stopped 3 min 00 s ago; `nanobench run s.json` continues it");
  EXPECT_EQ(text(RunnerState::kGone),
            "not running: process 42 on box is gone, last seen 3 min 00 s ago; `nanobench run s.json` continues it");
  EXPECT_EQ(text(RunnerState::kSilent),
            "apparently not running: process 42 on box was last seen 3 min 00 s ago; `nanobench run s.json` continues "
            "it");
  EXPECT_EQ(text(RunnerState::kEnded), "ended 3 min 00 s ago");
  state.lines.failed = 1;
  EXPECT_EQ(text(RunnerState::kEnded), "ended 3 min 00 s ago; `nanobench run s.json` repeats the failed runs");
  state.runner.other_owner = owner;
  state.runner.other_owner->pid = 43;
  state.runner.other_plan = 7;
  EXPECT_EQ(text(RunnerState::kNotBegun), "no run has begun; process 43 on box works on plan 7 now");
}

TEST(WatchText, SaysHowRunsEnded) {
  EXPECT_EQ(text_of(WatchedEnd{.seed = 2, .outcome = RunOutcome::kTimedOut}), "seed 2 timed_out");
  EXPECT_EQ(text_of(WatchedEnd{.seed = 2, .message = "signal 11", .others = 1}),
            "seed 2 crashed: signal 11 (and 1 more)");
}

TEST(WatchText, SaysWhatIsAmissWithARun) {
  using Kind = WatchWarning::Kind;
  EXPECT_EQ(text_of(WatchWarning{.kind = Kind::kEnded, .run_id = 7, .cell = "a", .seed = 2, .message = "why"}),
            "run 7 (a seed 2) crashed: why");
  EXPECT_EQ(text_of(WatchWarning{.kind = Kind::kEnded, .cell = "a", .seed = 2}), "a seed 2 crashed");
  EXPECT_EQ(text_of(WatchWarning{.kind = Kind::kDisturbed, .run_id = 7, .cell = "a", .seed = 2, .message = "load"}),
            "run 7 (a seed 2) was disturbed, its times are doubtful: load");
  EXPECT_EQ(text_of(WatchWarning{.kind = Kind::kSilent, .cell = "a", .seed = 2, .silent_s = 180.0}),
            "a seed 2: no report from its node for 3 min 00 s");
  EXPECT_EQ(text_of(WatchWarning{.kind = Kind::kSilent, .cell = "a", .seed = 2, .host = "n1", .silent_s = 180.0}),
            "a seed 2: no report from n1 for 3 min 00 s");
  EXPECT_EQ(text_of(WatchWarning{.kind = Kind::kEngine, .run_id = 7, .message = "slow"}), "run 7 warns: slow");
}

}  // namespace
}  // namespace nanobench::reports
