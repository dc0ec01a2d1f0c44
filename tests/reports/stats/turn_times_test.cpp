#include "reports/stats/turn_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <numeric>

#include "core/base/random.h"
#include "reports/stats/summary.h"
#include "suites/run/turn_block.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

TurnTimes run_of(std::size_t cell, const std::string& block, const std::vector<double>& ms,
                 const std::vector<std::int64_t>& turns) {
  TurnTimes run{.cell = cell, .block = block, .times = {}, .turns = {}};
  for (const std::int64_t step : turns) run.turns.push_back({step, static_cast<double>(run.turns.size() + 1)});
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

TEST(RemoveDrift, ABlockOfOneCellShowsWhatIsUsual) {
  const std::vector<std::int64_t> turns = {0, 2, 4};
  std::vector<TurnTimes> runs = {
      run_of(0, "a", {10, 10, 28, 28, 10, 10}, turns), run_of(0, "b", {10, 10, 14, 14, 10, 10}, turns),
      run_of(1, "a", {20, 20, 40, 40, 26, 26}, turns), run_of(1, "c", {20, 20, 20, 20, 26, 26}, turns)};
  const std::vector<TurnTimes> before = runs;
  remove_drift(runs);
  EXPECT_NEAR(clock_of(runs[0]) / clock_of(runs[1]), 1.0, 0.03);
  EXPECT_NEAR(clock_of(runs[2]) / clock_of(runs[3]), 1.0, 0.03);
  EXPECT_EQ(ms_of(runs[1]), ms_of(before[1]));
  EXPECT_EQ(ms_of(runs[3]), ms_of(before[3]));
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

/// The order of the turns is known: a slow moment from the second turn of round 3 to the first one of round 5.
TEST(RemoveDrift, ASlowMomentIsTakenFromTheTurnsThatItMet) {
  constexpr std::size_t kCells = 4, kRounds = 7;
  std::vector<TurnTimes> runs;
  for (const char* const block : {"a", "b", "c"}) {
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      TurnTimes run{.cell = cell, .block = block, .times = {}, .turns = {}};
      for (std::size_t round = 0; round < kRounds; ++round) {
        const std::size_t place = (cell * 3 + round) % kCells;  // another order in each round
        const bool is_slow =
            *block == 'b' && round * kCells + place > 2 * kCells && round * kCells + place <= 4 * kCells;
        const double ms = static_cast<double>((cell + 1) * (round + 10)) * (is_slow ? 1.5 : 1.0);
        run.times.push_back({static_cast<std::int64_t>(round), ms});
        run.turns.push_back({static_cast<std::int64_t>(round), static_cast<double>(round * kCells + place) / kCells});
      }
      runs.push_back(std::move(run));
    }
  }
  std::vector<TurnTimes> by_rounds = runs;
  for (TurnTimes& run : by_rounds) {
    for (TurnStart& turn : run.turns) turn.place = std::floor(turn.place);
  }
  remove_drift(runs);
  remove_drift(by_rounds);
  double worst = 0.0;
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    EXPECT_NEAR(clock_of(runs[kCells + cell]) / clock_of(runs[cell]), 1.0, 0.001) << cell;
    worst = std::max(worst, std::abs(clock_of(by_rounds[kCells + cell]) / clock_of(by_rounds[cell]) - 1.0));
  }
  EXPECT_GT(worst, 0.03) << "whole rounds do not show it";
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

/// What shares the machine: for a time it slows everything by the half, for a time it is quiet.
struct Neighbour {
  double busy_s = 0.0;  ///< mean; 0: it is always quiet
  double quiet_s = 1.0;
};

/// Runs of seven cells in three blocks on such a machine, whose logarithms of a cell's time are all alike but for
/// noise: of each step, of each turn, and of a process from its start to its end.
std::vector<TurnTimes> runs_beside(const Neighbour& neighbour, NormalDraws& draws, core::SplitMix64& random) {
  constexpr std::size_t kCells = 7, kBlocks = 3, kRounds = 38, kSteps = 3;
  std::vector<TurnTimes> runs;
  const auto duration = [&](double mean) {
    return -mean * std::log((static_cast<double>(random.below(1'000'000)) + 0.5) / 1e6);
  };
  for (std::size_t block = 0; block < kBlocks; ++block) {
    std::vector<double> process;
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      runs.push_back({.cell = cell, .block = std::to_string(block), .times = {}, .turns = {}});
      process.push_back(draws.next(0.0, 0.005));
    }
    bool is_busy = false;
    double now = 0.0, changes = duration(neighbour.quiet_s);
    std::vector<std::size_t> order(kCells);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t round = 0; round < kRounds; ++round) {
      random.shuffle(order);
      for (std::size_t i = 0; i < kCells; ++i) {
        TurnTimes& run = runs[block * kCells + order[i]];
        const double turn = draws.next(process[order[i]], 0.03);
        run.turns.push_back({static_cast<std::int64_t>(round * kSteps),
                             static_cast<double>(round) + static_cast<double>(i) / static_cast<double>(kCells)});
        for (std::size_t step = 0; step < kSteps; ++step) {
          while (neighbour.busy_s > 0.0 && now > changes) {
            is_busy = !is_busy;
            changes += duration(is_busy ? neighbour.busy_s : neighbour.quiet_s);
          }
          const double ms = 37.0 * std::exp(turn + draws.next(is_busy ? 0.4 : 0.0, is_busy ? 0.03 : 0.01));
          run.times.push_back({static_cast<std::int64_t>(round * kSteps + step), ms});
          now += ms / 1000.0;
        }
      }
    }
  }
  return runs;
}

/// Root mean square of the logarithms of the cells' times over their mean, which is 0 but for noise.
double error_of(const std::vector<TurnTimes>& runs) {
  std::map<std::size_t, std::vector<double>> logs;
  for (const TurnTimes& run : runs) logs[run.cell].push_back(std::log(clock_of(run)));
  std::vector<double> means;
  for (const auto& [cell, values] : logs) means.push_back(*mean_of(values));
  return summarise(means).sd.value();
}

TEST(TurnTimesSimulation, BurstsOfANeighbourAreTakenFromTheTurnsThatTheyMet) {
  struct Case {
    const char* text;
    Neighbour neighbour;
    double at_most;  ///< error with the order of turns, as a share of the error without
  };
  for (const Case& c : {Case{"quiet", {}, 1.04}, Case{"busy for 0.3 of 1.3 s", {0.3, 1.0}, 0.9},
                        Case{"busy for 1 of 4 s", {1.0, 3.0}, 0.9}, Case{"busy for 4 of 10 s", {4.0, 6.0}, 0.9}}) {
    NormalDraws draws(11);
    core::SplitMix64 random(12);
    double ordered = 0.0, by_rounds = 0.0;
    constexpr int kRepetitions = 100;
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
      std::vector<TurnTimes> runs = runs_beside(c.neighbour, draws, random);
      std::vector<TurnTimes> without_order = runs;
      for (TurnTimes& run : without_order) {
        for (TurnStart& turn : run.turns) turn.place = std::floor(turn.place);
      }
      remove_drift(runs);
      remove_drift(without_order);
      ordered += std::pow(error_of(runs), 2.0) / kRepetitions;
      by_rounds += std::pow(error_of(without_order), 2.0) / kRepetitions;
    }
    std::cout << c.text << ": error of a cell's time by rounds " << 100.0 * std::sqrt(by_rounds)
              << " %, by the order of turns " << 100.0 * std::sqrt(ordered) << " %\n";
    EXPECT_LT(std::sqrt(ordered / by_rounds), c.at_most) << c.text;
  }
}

}  // namespace
}  // namespace nanobench::reports
