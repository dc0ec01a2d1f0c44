#include "reports/stats/robust_clock.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/stats/summary.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

using Runs = std::vector<std::vector<StepTime>>;

constexpr int kSteps = 300;

/// Three phases of 80, 120 and 160 ms; the runs differ in level by 1 % and in each step by `noise`.
Runs made_runs(int count, double noise, std::uint64_t seed = 1) {
  NormalDraws draws(seed);
  Runs runs(static_cast<std::size_t>(count));
  for (std::vector<StepTime>& run : runs) {
    const double level = std::exp(draws.next(0.0, 0.01));
    for (int step = 0; step < kSteps; ++step) {
      const double phase_ms = step < 120 ? 80.0 : step < 220 ? 120.0 : 160.0;
      run.push_back({.step = step, .ms = level * phase_ms * std::exp(draws.next(0.0, noise))});
    }
  }
  return runs;
}

double sum_of(const std::vector<StepTime>& run) {
  std::vector<double> times;
  for (const StepTime& time : run) times.push_back(time.ms);
  return compensated_sum(times);
}

void slow_down(std::vector<StepTime>& run, std::size_t first, std::size_t count, double factor) {
  for (std::size_t i = first; i < first + count; ++i) run[i].ms *= factor;
}

TEST(RobustClock, OneRunIsTakenAsMeasured) {
  Runs runs = made_runs(1, 0.02);
  slow_down(runs[0], 50, 3, 10.0);
  const std::vector<RobustClock> clocks = robust_clocks(runs);
  ASSERT_EQ(clocks.size(), 1U);
  EXPECT_NEAR(clocks[0].clock_ms, sum_of(runs[0]), 1e-9);
  EXPECT_EQ(clocks[0].disturbed_steps, 0);
  EXPECT_TRUE(robust_clocks(Runs{}).empty());
}

TEST(RobustClock, QuietRunsAreTakenAsMeasured) {
  for (const int count : {2, 3, 5}) {
    const Runs runs = made_runs(count, 0.02);
    const std::vector<RobustClock> clocks = robust_clocks(runs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(clocks[i].disturbed_steps, 0);
      EXPECT_DOUBLE_EQ(clocks[i].clock_ms, sum_of(runs[i]));
    }
  }
}

/// The third of the steps that the burst takes is over two phases.
TEST(RobustClock, ABurstInOneRunDoesNotMoveItsClock) {
  for (const int count : {2, 3, 5}) {
    Runs runs = made_runs(count, 0.02);
    const double before = sum_of(runs[0]);
    slow_down(runs[0], 105, 30, 3.0);
    const std::vector<RobustClock> clocks = robust_clocks(runs);
    EXPECT_NEAR(clocks[0].clock_ms / before, 1.0, 0.005) << count;
    EXPECT_EQ(clocks[0].disturbed_steps, 30) << count;
    EXPECT_NEAR(clocks[0].clock_ms + clocks[0].replaced_ms, sum_of(runs[0]), 1e-6) << count;
    for (std::size_t i = 1; i < runs.size(); ++i) {
      EXPECT_DOUBLE_EQ(clocks[i].clock_ms, sum_of(runs[i])) << count;
      EXPECT_EQ(clocks[i].disturbed_steps, 0) << count;
    }
  }
}

/// Two runs: the other one is the yardstick, scaled by the runs' levels.
TEST(RobustClock, ADisturbedStepOfTwoRunsCountsAsTheOtherOnes) {
  Runs runs(2);
  for (int step = 0; step < 20; ++step) {
    runs[0].push_back({.step = step, .ms = 10.0 + step});
    runs[1].push_back({.step = step, .ms = 2.0 * (10.0 + step)});
  }
  runs[1][7].ms *= 4.0;
  const std::vector<RobustClock> clocks = robust_clocks(runs);
  EXPECT_NEAR(clocks[1].replaced_ms, 3.0 * 2.0 * 17.0, 1e-9);
  EXPECT_NEAR(clocks[1].clock_ms, 2.0 * sum_of(runs[0]), 1e-9);
  EXPECT_EQ(clocks[1].disturbed_steps, 1);
  EXPECT_EQ(clocks[0].disturbed_steps, 0);
}

TEST(RobustClock, WhatAllRunsPayAtAStepStays) {
  for (const int count : {2, 3, 5}) {
    Runs runs = made_runs(count, 0.02);
    for (std::vector<StepTime>& run : runs) slow_down(run, 120, 2, 50.0);  // a new window is compiled
    const std::vector<RobustClock> clocks = robust_clocks(runs);
    for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_DOUBLE_EQ(clocks[i].clock_ms, sum_of(runs[i])) << count;
  }
}

/// A candidate that stalls at random steps is slower, though no two runs stall at the same step.
TEST(RobustClock, StallsOfEveryRunStay) {
  for (const int count : {2, 3, 5}) {
    const Runs quiet = made_runs(count, 0.02);
    Runs runs = quiet;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (std::size_t at = i * 3; at < kSteps; at += 20) slow_down(runs[i], at, 1, 3.0);
    }
    const std::vector<RobustClock> clocks = robust_clocks(runs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(clocks[i].disturbed_steps, 15);
      EXPECT_NEAR(clocks[i].clock_ms / sum_of(runs[i]), 1.0, 0.005) << count;
      EXPECT_GT(clocks[i].clock_ms / sum_of(quiet[i]), 1.09) << count;
    }
  }
}

/// Logs print every 25 steps, programs of another kind every second: only equal stretches are compared.
TEST(RobustClock, StretchesAreComparedIfTheyAreTheSameSteps) {
  Runs runs(3);
  for (std::vector<StepTime>& run : runs) {
    for (int step = 25; step <= 300; step += 25) run.push_back({.step = step, .ms = 2500.0 + step});
  }
  runs[2][4].ms *= 2.0;
  EXPECT_EQ(robust_clocks(runs)[2].disturbed_steps, 1);
  EXPECT_DOUBLE_EQ(robust_clocks(runs)[2].clock_ms, sum_of(runs[0]));
  runs[2][3].step = 101;  // its fourth stretch ends, and its fifth begins, elsewhere
  EXPECT_EQ(robust_clocks(runs)[2].disturbed_steps, 0);
  EXPECT_DOUBLE_EQ(robust_clocks(runs)[2].clock_ms, sum_of(runs[2]));
}

TEST(RobustClock, FewCommonStepsAndTimesOfNothingAreNoYardstick) {
  Runs runs(2);
  for (int step = 0; step < kMinSharedSteps - 1; ++step) {
    runs[0].push_back({.step = step, .ms = 10.0});
    runs[1].push_back({.step = step, .ms = step == 1 ? 90.0 : 10.0});
  }
  EXPECT_EQ(robust_clocks(runs)[1].disturbed_steps, 0);
  runs[0].push_back({.step = 9, .ms = 10.0});
  runs[1].push_back({.step = 9, .ms = 10.0});
  EXPECT_EQ(robust_clocks(runs)[1].disturbed_steps, 1);
  runs[0][1].ms = 0.0;
  EXPECT_EQ(robust_clocks(runs)[1].disturbed_steps, 0);
}

/// The limit: 6 robust standard deviations, and at least half the step again.
TEST(RobustClock, NoiseAloneMovesAClockByLessThanATenthOfAPercent) {
  constexpr int kRepetitions = 40;
  for (const int count : {2, 3, 5}) {
    double worst = 0.0;
    for (int i = 0; i < kRepetitions; ++i) {
      const Runs runs = made_runs(count, 0.1, static_cast<std::uint64_t>(i) + 10);
      const std::vector<RobustClock> clocks = robust_clocks(runs);
      double change = 0.0;
      for (std::size_t run = 0; run < runs.size(); ++run)
        change += clocks[run].replaced_ms / sum_of(runs[run]) / static_cast<double>(count);
      worst = std::max(worst, change);
    }
    EXPECT_LT(worst, 0.001) << count;
  }
}

}  // namespace
}  // namespace nanobench::reports
