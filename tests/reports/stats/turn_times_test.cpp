#include "reports/stats/turn_times.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>

#include "suites/run/turn_block.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

TurnTimes run_of(std::size_t cell, const std::string& block, const std::vector<double>& ms,
                 const std::vector<std::int64_t>& turns) {
  TurnTimes run{.cell = cell, .block = block, .times = {}, .turns = turns};
  for (std::size_t i = 0; i < ms.size(); ++i) run.times.push_back({static_cast<std::int64_t>(i), ms[i]});
  return run;
}

std::vector<double> ms_of(const TurnTimes& run) {
  std::vector<double> ms;
  for (const StepTime& time : run.times) ms.push_back(time.ms);
  return ms;
}

double clock_of(const TurnTimes& run) {
  double sum = 0.0;
  for (const StepTime& time : run.times) sum += time.ms;
  return sum;
}

TEST(WarmFirstSteps, CountAsTheOthersOfTheirTurn) {
  TurnTimes run = run_of(0, "a", {15, 10, 12, 9, 10, 20, 30, 40}, {0, 3, 6});
  EXPECT_DOUBLE_EQ(warm_first_steps(run), 4.0);
  // The second turn's first step was no slower; the third turn is too short to judge.
  EXPECT_EQ(ms_of(run), (std::vector<double>{11, 10, 12, 9, 10, 20, 30, 40}));
}

TEST(WarmFirstSteps, TheShortestTurnsThatAreTakenAreCorrected) {
  std::vector<double> ms(suites::kMinTurnSteps, 10.0);
  ms.front() = 15.0;
  TurnTimes run = run_of(0, "a", ms, {0});
  EXPECT_DOUBLE_EQ(warm_first_steps(run), 5.0);
}

TEST(WarmFirstSteps, AClockThatStartsWithinATurnHasNoColdStepThere) {
  TurnTimes run = run_of(0, "a", {15, 10, 12, 30, 10, 20}, {-2, 3});
  EXPECT_DOUBLE_EQ(warm_first_steps(run), 15.0);
  EXPECT_EQ(run.times[0].ms, 15.0);
  TurnTimes whole = run_of(0, "a", {15, 10, 12}, {});
  EXPECT_EQ(warm_first_steps(whole), 0.0);
}

/// Two cells, two blocks, three rounds; the second round of block b was twice as slow for both cells.
TEST(RemoveDrift, ASlowRoundIsTakenFromAllRunsOfItsBlock) {
  const std::vector<std::int64_t> turns = {0, 2, 4};
  std::vector<TurnTimes> runs = {
      run_of(0, "a", {10, 10, 14, 14, 10, 10}, turns), run_of(0, "b", {10, 10, 28, 28, 10, 10}, turns),
      run_of(1, "a", {20, 20, 20, 20, 26, 26}, turns), run_of(1, "b", {20, 20, 40, 40, 26, 26}, turns)};
  const std::vector<TurnTimes> before = runs;
  remove_drift(runs);
  EXPECT_NEAR(clock_of(runs[1]) / clock_of(runs[0]), 1.0, 1e-12);
  EXPECT_NEAR(clock_of(runs[3]) / clock_of(runs[2]), 1.0, 1e-12);
  EXPECT_NEAR(runs[2].times[4].ms / runs[2].times[0].ms, 1.3, 1e-12) << "a cell's own profile stays";
}

TEST(RemoveDrift, ALevelOfABlockAndADifferenceOfACellStay) {
  const std::vector<std::int64_t> turns = {0, 2, 4};
  std::vector<TurnTimes> runs = {
      run_of(0, "a", {10, 10, 14, 14, 10, 10}, turns), run_of(0, "b", {20, 20, 28, 28, 20, 20}, turns),
      run_of(1, "a", {20, 20, 20, 20, 26, 26}, turns), run_of(1, "b", {40, 40, 40, 40, 52, 52}, turns)};
  std::vector<TurnTimes> after = runs;
  remove_drift(after);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t step = 0; step < 6; ++step) EXPECT_NEAR(after[i].times[step].ms, runs[i].times[step].ms, 1e-9);
  }
}

TEST(RemoveDrift, OneBlockOrOneCellSaysNothing) {
  const std::vector<std::int64_t> turns = {0, 2};
  std::vector<TurnTimes> block = {run_of(0, "a", {10, 10, 30, 30}, turns), run_of(1, "a", {10, 10, 30, 30}, turns)};
  std::vector<TurnTimes> cell = {run_of(0, "a", {10, 10, 30, 30}, turns), run_of(0, "b", {10, 10, 10, 10}, turns)};
  std::vector<TurnTimes> whole = {run_of(0, "", {10, 10, 30, 30}, {}), run_of(1, "", {9, 9, 9, 9}, {})};
  for (std::vector<TurnTimes>* const runs : {&block, &cell, &whole}) {
    const std::vector<TurnTimes> before = *runs;
    remove_drift(*runs);
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(ms_of((*runs)[i]), ms_of(before[i]));
  }
}

/// A machine whose speed wanders by 20 %: turns share it, and what each run keeps is its own noise.
TEST(TurnTimesSimulation, ARunsOwnNoiseIsWhatRemains) {
  NormalDraws draws(7);
  constexpr std::size_t kCells = 7, kBlocks = 3, kRounds = 24, kSteps = 5;
  double raw = 0.0, adjusted = 0.0;
  constexpr int kRepetitions = 200;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    std::vector<TurnTimes> runs;
    std::vector<std::int64_t> turns;
    for (std::size_t round = 0; round < kRounds; ++round) turns.push_back(static_cast<std::int64_t>(round * kSteps));
    std::vector<std::vector<double>> slow(kBlocks, std::vector<double>(kRounds));
    for (std::vector<double>& block : slow) {
      double level = 0.0;
      for (double& value : block) value = level = 0.9 * level + draws.next(0.0, 0.1);
    }
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      for (std::size_t block = 0; block < kBlocks; ++block) {
        std::vector<double> ms;
        for (std::size_t i = 0; i < kRounds * kSteps; ++i)
          ms.push_back(40.0 * std::exp(slow[block][i / kSteps] + draws.next(0.0, 0.05)));
        runs.push_back(run_of(cell, std::to_string(block), ms, turns));
      }
    }
    const auto variance = [&] {
      double sum = 0.0;
      for (std::size_t cell = 1; cell < kCells; ++cell) {
        const double ratio = std::log(clock_of(runs[cell * kBlocks]) / clock_of(runs[0]));
        sum += ratio * ratio / 2.0 / (kCells - 1);
      }
      return sum;
    };
    raw += variance() / kRepetitions;
    remove_drift(runs);
    adjusted += variance() / kRepetitions;
  }
  std::cout << "sd of a run's log time: " << std::sqrt(raw) << ", without drift " << std::sqrt(adjusted) << "\n";
  EXPECT_LT(adjusted, raw * 1.02) << "it never adds noise";
  EXPECT_LT(std::sqrt(adjusted), 1.1 * 0.05 / std::sqrt(static_cast<double>(kRounds * kSteps)));
}

}  // namespace
}  // namespace nanobench::reports
