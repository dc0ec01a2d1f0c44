#include "reports/forecast/run_cost.h"

#include <gtest/gtest.h>

#include "reports/forecast/forecast.h"
#include "results/metric.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

/// Small enough to count by hand, in ratios.
core::TrainConfig config(std::int64_t steps) {
  core::TrainConfig config;
  config.data.sequence_length = 1024;
  config.data.sequences_per_step = config.data.ranks = 2;
  config.data.val_sequences = 4;
  config.schedule.num_steps = config.run.stop_after = steps;
  config.run.val_every = steps;
  config.run.untimed_steps = 10;
  return config;
}

/// A cell that runs once; its label is the run's digest.
void add_cell(suites::Plan& plan, const std::string& label, const core::TrainConfig& config) {
  suites::PlannedRun& run = plan.runs.emplace_back();
  run.position = plan.runs.size() - 1;
  run.cell = plan.matrix.cells.size();
  run.seed = 1;
  run.digest = label;
  run.spec.config = config;
  suites::Cell& cell = plan.matrix.cells.emplace_back();
  cell.label = label;
  cell.config = config;
}

/// One cell on an engine that is no mock but in name.
suites::Plan plan_of(const core::TrainConfig& config) {
  suites::Plan plan;
  plan.suite.scale = "nano";
  plan.suite.dtype = core::Dtype::kFloat32;
  plan.suite.seeds = {1};
  plan.engine.name = "mock";
  plan.hardware = "x86_64 | test | 2 cores";
  plan.threads = 2;
  add_cell(plan, "asked", config);
  return plan;
}

RunCost estimate(const core::TrainConfig& config, const std::vector<PastRun>& history,
                 const std::optional<PastRun>& calibration = std::nullopt) {
  const suites::Plan plan = plan_of(config);
  return estimate_cost(plan, plan.runs.front(), history, calibration);
}

PastRun past(const core::TrainConfig& config, double step_ms, double wall_s) {
  return {.config_digest = config.digest(),
          .step_ms = step_ms,
          .wall_s = wall_s,
          .peak_bytes = 5e8,
          .timed_steps = config.run.stop_after - config.run.untimed_steps,
          .work = work_of(config)};
}

TEST(RunWork, CountsStepsValidationsAndTheGrowingWindow) {
  const RunWork work = work_of(config(100));
  EXPECT_EQ(work.steps, 100);
  EXPECT_EQ(work.timed_steps, 90);
  const double validations = work.run_flops - 100 * work.step_flops;
  EXPECT_GT(validations, 0.0);
  core::TrainConfig more = config(100);
  more.run.val_every = 25;  // steps 0, 25, 50, 75 and the end in place of 0 and the end
  EXPECT_NEAR((work_of(more).run_flops - 100 * work.step_flops) / validations, 2.5, 1e-9);
  core::TrainConfig narrow = config(100);
  narrow.attention.window.schedule.end_tokens = narrow.attention.window.schedule.start_tokens;
  EXPECT_LT(work_of(narrow).step_flops, work.step_flops);
}

TEST(EstimateCost, TakesTheMediansOfTheSameConfiguration) {
  const core::TrainConfig asked = config(110);
  const RunCost cost =
      estimate(asked, {past(asked, 20, 4), past(asked, 30, 5), past(asked, 90, 9), past(config(50), 1, 1)});
  EXPECT_EQ(cost.source, CostSource::kStored);
  EXPECT_EQ(cost.n, 3);
  EXPECT_DOUBLE_EQ(*cost.step_ms, 30.0);
  EXPECT_DOUBLE_EQ(*cost.clock_s, 3.0);
  EXPECT_DOUBLE_EQ(*cost.wall_s, 5.0);
  EXPECT_DOUBLE_EQ(*cost.peak_bytes, 5e8);
}

TEST(EstimateCost, ElseByFlopsWithTheRestOfTheTimeAsItIs) {
  core::TrainConfig half = config(110);
  half.data.sequences_per_step = half.data.ranks = 1;
  half.data.val_sequences = 2;
  const core::TrainConfig asked = config(110);
  const RunWork small = work_of(half), large = work_of(asked);
  const double busy_s = small.run_flops / small.step_flops * 0.02;
  const RunCost cost = estimate(asked, {past(half, 20, busy_s + 1.5)});
  EXPECT_EQ(cost.source, CostSource::kFlops);
  EXPECT_NEAR(*cost.step_ms, 20.0 * large.step_flops / small.step_flops, 1e-9);
  EXPECT_GT(*cost.step_ms, 25.0) << "two sequences for one, but the optimizer works as before";
  EXPECT_NEAR(*cost.wall_s, busy_s * large.run_flops / small.run_flops + 1.5, 1e-9);
}

TEST(EstimateCost, ElseByTheCalibrationElseNotAtAll) {
  const core::TrainConfig asked = config(110);
  EXPECT_EQ(estimate(asked, {}).source, CostSource::kUnknown);
  EXPECT_FALSE(estimate(asked, {}).wall_s);
  const RunCost cost = estimate(asked, {}, past(config(60), 20, 3));
  EXPECT_EQ(cost.source, CostSource::kCalibration);
  EXPECT_EQ(estimate(asked, {past(asked, 10, 2)}, past(config(60), 20, 3)).source, CostSource::kStored);
}

TEST(EstimateCost, APilotOfTheConfigurationCountsBeforeOthers) {
  core::TrainConfig asked = config(110);
  core::TrainConfig steps = config(4);
  steps.run.untimed_steps = 1;
  PastRun pilot = past(steps, 40, 1.0);
  pilot.pilot_of = asked.digest();
  const RunCost cost = estimate(asked, {past(config(60), 20, 3), pilot});
  EXPECT_EQ(cost.source, CostSource::kPilot);
  EXPECT_EQ(cost.n, 1);
  EXPECT_NEAR(*cost.step_ms, 40.0 * work_of(asked).step_flops / work_of(steps).step_flops, 1e-9);
  EXPECT_EQ(estimate(asked, {past(asked, 10, 2), pilot}).source, CostSource::kStored) << "a whole run says more";
  pilot.pilot_of = config(60).digest();
  EXPECT_EQ(estimate(asked, {pilot}).source, CostSource::kFlops) << "another's pilot is a run like others";
}

class ReadHistory : public results::StoreTest {};

TEST_F(ReadHistory, ReadsCompletedRunsOfThisMachineAndEngine) {
  results::Store store(file());
  const core::TrainConfig asked = config(110);
  results::NewRun run = new_run("one");
  run.config = core::to_json(asked).dump();
  run.config_digest = asked.digest();
  store.finish_run(claim(store, run), completed());
  run.digest = "two";
  run.hardware = "another";
  store.finish_run(claim(store, run), completed());
  run = new_run("three");
  run.config = "[]";  // none of ours
  store.finish_run(claim(store, run), completed());
  run = new_run("four");
  store.finish_run(claim(store, run), {.outcome = core::RunOutcome::kCrashed});
  const std::vector<PastRun> history = read_history(store, plan_of(asked));
  ASSERT_EQ(history.size(), 2u);
  EXPECT_DOUBLE_EQ(history[0].step_ms, 1000.5 / 90);
  ASSERT_TRUE(history[0].work);
  EXPECT_DOUBLE_EQ(history[0].work->run_flops, work_of(asked).run_flops);
  EXPECT_FALSE(history[1].work);
  EXPECT_GE(history[0].wall_s, 0.0);
}

TEST_F(ReadHistory, PilotsAndWaitsAreToldByFacts) {
  results::Store store(file());
  results::NewRun run = new_run("one");
  const std::int64_t id = claim(store, run);
  store.add_batch(id, {.facts = {{results::kPilotOf, "some digest"}, {results::kUsedWall, "2500"}}});
  store.finish_run(id, completed());
  const suites::Plan plan = plan_of(config(110));
  const std::vector<PastRun> history = read_history(store, plan);
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].pilot_of, "some digest");
  EXPECT_DOUBLE_EQ(history[0].wall_s, 2.5) << "not from its start to its end";
}

TEST_F(ReadHistory, ExpectationsLeaveOutWhatIsUnknown) {
  results::Store store(file());
  const core::TrainConfig asked = config(110);
  suites::Plan plan = plan_of(asked);
  EXPECT_TRUE(expected_seconds(store, plan).empty());
  results::NewRun run = new_run("one");
  run.config = core::to_json(asked).dump();
  run.config_digest = asked.digest();
  const std::int64_t id = claim(store, run);
  store.add_batch(id, {.facts = {{results::kUsedWall, "4000"}}});
  store.finish_run(id, completed());
  EXPECT_EQ(expected_seconds(store, plan), (std::map<std::string, double>{{"asked", 4.0}}));
}

TEST_F(ReadHistory, ASuiteHasAPriceBeforeItHasDataAndAnEngine) {
  results::Store store(file());
  suites::Suite suite;
  suite.name = "offered";
  suite.seeds = {1, 2, 3};
  suites::Matrix matrix;
  suites::Cell& cell = matrix.cells.emplace_back();
  cell.label = "asked";
  cell.config = config(110);
  EXPECT_EQ(suite_price(&store, suite, matrix), "") << "nothing was ever run";
  results::NewRun run = new_run("one");
  run.config = core::to_json(cell.config).dump();
  run.config_digest = cell.config.digest();
  run.engine = "nanobench-train";
  run.hardware = results::hardware_class(results::machine_info());
  run.threads = results::machine_info().cores;
  const std::int64_t id = claim(store, run);
  store.add_batch(id, {.facts = {{results::kUsedWall, "4000"}}});
  store.finish_run(id, completed());
  EXPECT_EQ(suite_price(&store, suite, matrix), "up to 12 s; ") << "three seeds";
  EXPECT_EQ(suite_price(nullptr, suite, matrix), "");
  suite.device.is_gpu = true;
  EXPECT_EQ(suite_price(&store, suite, matrix), "") << "these runs say nothing of a GPU";
  suite.device.is_gpu = false;
  suite.scale = "smoke";
  EXPECT_EQ(suite_price(&store, suite, matrix), "") << "another scale";
}

class ForecastOf : public results::StoreTest {};

TEST_F(ForecastOf, CountsWhatIsReusedAndAsksForACalibration) {
  suites::Plan plan = plan_of(config(110));
  core::TrainConfig cheaper = config(110);
  cheaper.data.sequences_per_step = cheaper.data.ranks = 1;
  add_cell(plan, "cheaper", cheaper);
  Forecast result = forecast(plan, nullptr, {});
  EXPECT_EQ(result.totals.to_run(), 2);
  EXPECT_FALSE(result.totals.is_whole);
  EXPECT_EQ(run_to_calibrate(plan, result), 1u);
  result = forecast(plan, nullptr, {.calibration = past(config(60), 20, 3)});
  EXPECT_TRUE(result.totals.is_whole);
  EXPECT_FALSE(run_to_calibrate(plan, result));
  EXPECT_NEAR(result.totals.wall_s, *result.cells[0].cost.wall_s + *result.cells[1].cost.wall_s, 1e-9);
  results::Store store(file());
  store.finish_run(claim(store, new_run("asked")), completed());
  result = forecast(plan, &store, {});
  EXPECT_EQ(result.totals.reused, 1);
  EXPECT_EQ(result.cells[0].to_run(), 0);
  EXPECT_EQ(forecast(plan, &store, {.is_fresh = true}).totals.reused, 0);
}

}  // namespace
}  // namespace nanobench::reports
