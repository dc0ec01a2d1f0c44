#include "reports/forecast/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "results/metric.h"
#include "tests/reports/stats/simulation.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

TEST(SpreadOverSeeds, PoolsTheCellsAboutTheirOwnMeans) {
  const std::vector<BySeed> cells = {{{1, 3.0}, {2, 5.0}}, {{1, 10.0}, {2, 10.0}, {3, 13.0}}, {{7, 1.0}}};
  const auto spread = spread_over_seeds(cells);  // squares 2 and 6 over 1 + 2 degrees of freedom
  ASSERT_TRUE(spread);
  EXPECT_DOUBLE_EQ(spread->sd, std::sqrt(8.0 / 3.0));
  EXPECT_EQ(spread->df, 3.0);
  EXPECT_FALSE(spread_over_seeds(std::vector<BySeed>{{{1, 1.0}}, {{1, 2.0}}}));
}

TEST(SpreadWithinSeeds, OfTwoCellsIsThatOfTheDifferences) {
  const std::vector<BySeed> cells = {{{1, 3.0}, {2, 5.0}, {3, 4.0}, {9, 100.0}}, {{1, 2.0}, {2, 5.0}, {3, 2.0}}};
  const auto spread = spread_within_seeds(cells);  // differences 1, 0, 2: sd 1
  ASSERT_TRUE(spread);
  EXPECT_NEAR(spread->sd, 1.0 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(spread->df, 2.0);
  EXPECT_FALSE(spread_within_seeds(std::vector<BySeed>{{{1, 1.0}, {2, 3.0}}}));
  EXPECT_FALSE(spread_within_seeds(std::vector<BySeed>{{{1, 1.0}}, {{1, 2.0}}}));
}

TEST(SpreadWithinSeeds, IsFreeOfWhatTheSeedGivesAllCells) {
  NormalDraws draws(17);
  std::vector<BySeed> cells(6);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const double common = draws.next(0.0, 1.0);
    for (std::size_t cell = 0; cell < cells.size(); ++cell)
      cells[cell][seed] = 3.0 + static_cast<double>(cell) + common + draws.next(0.0, 0.01);
  }
  EXPECT_NEAR(spread_within_seeds(cells)->sd, 0.01, 0.0015);
  EXPECT_GT(spread_over_seeds(cells)->sd, 0.7);
}

TEST(SpreadWithinSeeds, OfEqualDifferencesIsExactlyZero) {
  const std::vector<BySeed> cells = {{{1, 3.1}, {2, 3.3}, {3, 3.7}}, {{1, 3.1}, {2, 3.3}, {3, 3.7}}};
  EXPECT_EQ(spread_within_seeds(cells)->sd, 0.0);
}

/// A store with plans, and a plan that asks.
class ReadNoise : public results::StoreTest {
 protected:
  ReadNoise() : store_(file()) {
    plan_.suite.name = "asked";
    plan_.suite.scale = "nano";
    plan_.suite.dtype = core::Dtype::kFloat32;
    plan_.engine.name = "mock";
    plan_.hardware = new_run().hardware;
    plan_.threads = new_run().threads;
  }

  /// Two cells; losses[cell][seed], step times in milliseconds alike.
  void add(const std::string& suite, results::Design design, const std::vector<std::vector<double>>& losses,
           const std::vector<std::vector<double>>& step_ms) {
    const std::string name = suite + enum_name(design) + std::to_string(++plans_);
    results::NewPlan plan{.digest = name, .suite = suite, .title = "", .design = design, .scale = "nano"};
    for (std::size_t cell = 0; cell < losses.size(); ++cell) {
      plan.cells.push_back({.label = "cell" + std::to_string(cell)});
      for (std::size_t seed = 0; seed < losses[cell].size(); ++seed) {
        plan.lines.push_back({.position = static_cast<std::int64_t>(plan.lines.size()),
                              .cell = plan.cells.back().label,
                              .seed = seed + 1,
                              .digest = name + std::to_string(plan.lines.size())});
      }
    }
    const std::int64_t id = store_.ensure_plan(plan);
    for (std::size_t cell = 0; cell < losses.size(); ++cell) {
      for (std::size_t seed = 0; seed < losses[cell].size(); ++seed)
        add_run(id, plan.lines[cell * losses[0].size() + seed], losses[cell][seed], step_ms[cell][seed]);
    }
  }

  void add_run(std::int64_t plan_id, const results::PlanLine& line, double loss, double step_ms) {
    results::NewRun run = new_run(line.digest, line.cell, line.seed);
    run.plan_id = plan_id;
    run.position = line.position;
    results::RunBatch batch;
    batch.samples[results::kStepMs] = {{0, step_ms}};
    batch.samples[results::kClockMs] = {{0, step_ms}};
    results::RunResult result = completed(loss);
    result.train_ms = step_ms;
    result.timed_steps = 1;
    store_.finish_run(claim(store_, run), result, batch);
  }

  results::Store store_;
  suites::Plan plan_;
  int plans_ = 0;
};

TEST_F(ReadNoise, WithoutAStoreOrRunsIsUnknown) {
  EXPECT_FALSE(read_noise(nullptr, plan_).loss.spread);
  const Noise noise = read_noise(&store_, plan_);
  EXPECT_FALSE(noise.loss.spread || noise.log_time.spread);
  EXPECT_EQ(noise.loss.source, NoiseSource::kNone);
  EXPECT_EQ(noise.log_time.source, NoiseSource::kNone);
}

TEST_F(ReadNoise, TakesTheSuitesOwnLossesAndTheTimesOfAnAA) {
  add("other", results::Design::kHistory, {{3.0, 4.0, 5.0}, {3.0, 4.0, 5.5}}, {{1, 2, 3}, {3, 2, 1}});
  add("noise", results::Design::kAA, {{3.0, 3.2, 3.4}, {3.0, 3.2, 3.4}},
      {{10, 10, 10}, {10 * std::exp(0.1), 10, 10 * std::exp(0.2)}});
  Noise noise = read_noise(&store_, plan_);
  EXPECT_NEAR(noise.loss.spread->sd, 0.2, 1e-12) << "over the seeds of the a_a's first arm";
  EXPECT_TRUE(noise.loss.is_bound);
  EXPECT_NEAR(noise.log_time.spread->sd, 0.1 / std::sqrt(2.0), 1e-12) << "log ratios 0.1, 0, 0.2";
  add("asked", results::Design::kLeaveOneOut, {{3.0, 3.5, 3.2}, {3.01, 3.5, 3.22}}, {{1, 1, 1}, {9, 7, 8}});
  noise = read_noise(&store_, plan_);
  EXPECT_NEAR(noise.loss.spread->sd, 0.01 / std::sqrt(2.0), 1e-12) << "seed by seed";
  EXPECT_FALSE(noise.loss.is_bound);
  EXPECT_EQ(noise.loss.source, NoiseSource::kSuite);
  EXPECT_EQ(noise.log_time.source, NoiseSource::kSelfComparison);
  EXPECT_EQ(noise.log_time.plan_id, 2) << "the second of the three";
}

TEST_F(ReadNoise, ElsePoolsWhatIsThere) {
  add("one", results::Design::kHistory, {{3.0, 3.1}, {3.2, 3.3}}, {{1, 1}, {1, std::exp(0.2)}});
  add("two", results::Design::kHistory, {{3.0, 3.3}, {3.2, 3.5}}, {{1, 1}, {1, std::exp(0.2)}});
  const Noise noise = read_noise(&store_, plan_);
  EXPECT_NEAR(noise.loss.spread->sd, std::sqrt((2 * 0.005 + 2 * 0.045) / 4), 1e-12);
  EXPECT_EQ(noise.loss.spread->df, 4.0);
  EXPECT_NEAR(noise.log_time.spread->sd, 0.1, 1e-12) << "differences 0 and 0.2 in each";
  EXPECT_TRUE(noise.loss.is_bound);
  EXPECT_EQ(noise.loss.source, NoiseSource::kAllRuns);
  EXPECT_EQ(noise.log_time.source, NoiseSource::kAllPlans);
}

TEST_F(ReadNoise, OtherMachinesEnginesAndScalesDoNotCount) {
  add("asked", results::Design::kHistory, {{3.0, 3.1}, {3.2, 3.3}}, {{1, 1}, {1, 2}});
  for (const auto& change : std::vector<std::function<void(suites::Plan&)>>{
           [](suites::Plan& plan) { plan.threads = 7; }, [](suites::Plan& plan) { plan.hardware = "another"; },
           [](suites::Plan& plan) { plan.engine.name = "nanobench-train"; },
           [](suites::Plan& plan) { plan.suite.scale = "smoke"; },
           [](suites::Plan& plan) { plan.suite.dtype = core::Dtype::kFloat64; }}) {
    suites::Plan other = plan_;
    change(other);
    const Noise noise = read_noise(&store_, other);
    EXPECT_FALSE(noise.loss.spread || noise.log_time.spread);
  }
  EXPECT_TRUE(read_noise(&store_, plan_).loss.spread);
}

}  // namespace
}  // namespace nanobench::reports
