// The whole training clock of stored runs: phases, planted slowdowns, disturbed steps, published logs.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "reports/comparison/comparison.h"
#include "reports/comparison/settled_clocks.h"
#include "reports/comparison/step_phases.h"
#include "reports/gate/gate.h"
#include "reports/gate/gate_text.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"
#include "results/import/log_import.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "tests/golden/golden_data.h"
#include "tests/reports/stats/simulation.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

constexpr std::int64_t kStepCount = 110;
constexpr std::int64_t kUntimed = 10;
constexpr std::uint64_t kSeedCount = 5;

/// Step times of three phases; the middle one holds the median step.
struct ThreePhases {
  double first = 80.0, second = 120.0, third = 160.0;

  double at(std::int64_t step) const { return step < 45 ? first : step < 75 ? second : third; }
  double clock() const { return 35 * first + 30 * second + 35 * third; }
};

class TrainingClock : public results::StoreTest {
 protected:
  TrainingClock() : store_(file()) {}

  struct Cell {
    std::string label;
    ThreePhases phases;
  };

  /// Times of one run; noise of 0.5 % a step, and of 0.1 % a run.
  static std::vector<double> times_of(const Cell& cell, std::uint64_t seed) {
    NormalDraws draws(seed * 131 + cell.label.size());
    const double level = std::exp(draws.next(0.0, 0.001));
    std::vector<double> times;
    for (std::int64_t step = 0; step < kStepCount; ++step)
      times.push_back(level * cell.phases.at(step) * std::exp(draws.next(0.0, 0.005)));
    return times;
  }

  std::int64_t add_run(const Cell& cell, std::uint64_t seed, const std::vector<double>& times) {
    results::NewRun run = new_run(cell.label + std::to_string(seed), cell.label, seed);
    run.config_digest = cell.label;
    results::RunBatch batch;
    double clock_ms = 0.0;
    for (std::int64_t step = 0; step < kStepCount; ++step) {
      const double ms = times[static_cast<std::size_t>(step)];
      batch.samples[results::kStepMs].push_back({step, ms});
      if (windows_) batch.samples[results::kWindow].push_back({step, step < 45 ? 128.0 : step < 75 ? 256.0 : 512.0});
      if (step >= kUntimed) batch.samples[results::kClockMs].push_back({step, clock_ms += ms});
    }
    batch.samples[results::kValLoss] = {{0, 5.0}, {60, 4.0}, {kStepCount, 3.0}};
    batch.samples[results::kValClockMs] = {{60, clock_ms / 2}, {kStepCount, clock_ms}};
    results::RunResult result = completed(3.0);
    result.train_ms = clock_ms;
    result.steps = kStepCount;
    result.timed_steps = kStepCount - kUntimed;
    const std::int64_t id = claim(store_, run);
    store_.finish_run(id, result, batch);
    return id;
  }

  /// `disturb` may change the times of a run.
  results::PlanRecord plan_of(
      const std::vector<Cell>& cells,
      const std::function<void(const Cell&, std::uint64_t, std::vector<double>&)>& disturb = {}) {
    results::NewPlan plan;
    plan.digest = "plan" + std::to_string(++plans_);
    plan.suite = "history";
    plan.design = results::Design::kHistory;
    plan.scale = "nano";
    for (const Cell& cell : cells) {
      plan.cells.push_back(
          {.label = cell.label, .record = {}, .changes = {}, .features = {}, .config_digest = cell.label});
      for (std::uint64_t seed = 1; seed <= kSeedCount; ++seed) {
        std::vector<double> times = times_of(cell, seed);
        if (disturb) disturb(cell, seed, times);
        plan.lines.push_back({.position = static_cast<std::int64_t>(plan.lines.size()),
                              .cell = cell.label,
                              .seed = seed,
                              .digest = cell.label + std::to_string(seed),
                              .run_id = add_run(cell, seed, times)});
      }
    }
    return store_.plan(store_.ensure_plan(plan));
  }

  ComparisonTable table_of(const results::PlanRecord& plan) const {
    return compare(plan, read_cells(store_, plan, {}), {});
  }

  /// The check of times of the last cell against the first one.
  GateCheck time_check(const results::PlanRecord& plan) const {
    Arm before = read_arm(store_, plan, "before", "before"), after = read_arm(store_, plan, "after", "after");
    for (Arm* arm : {&before, &after}) {
      arm->cells.front().label = "cell";
      arm->cells.front().config_digest = "c";
    }
    const GateResult result = evaluate_gate(before, after, {}, {.is_interleaved = true});
    for (const GateCheck& check : result.checks) {
      if (check.metric == GateMetric::kTime) return check;
    }
    return {};
  }

  results::Store store_;
  bool windows_ = true;
  int plans_ = 0;
};

TEST_F(TrainingClock, ASlowdownOfAnyPhaseIsOneOfTheWhole) {
  const ThreePhases plain;
  int number = 0;
  for (const ThreePhases& slower : {ThreePhases{.first = 82.4}, ThreePhases{.second = 123.6},
                                    ThreePhases{.third = 164.8}, ThreePhases{82.4, 123.6, 164.8},
                                    // faster in the phase of the median step, and slower as a whole
                                    ThreePhases{.second = 93.0, .third = 160.0 * 1.03 + 27.0}}) {
    const std::string name = std::to_string(++number);
    const results::PlanRecord plan = plan_of({{name + "before", plain}, {name + "after", slower}});
    const ComparisonTable table = table_of(plan);
    const double planted = plain.clock() / slower.clock();
    ASSERT_TRUE(table.rows[1].step_speed_up) << name;
    EXPECT_NEAR(table.rows[1].step_speed_up->value, planted, 0.003) << name;
    EXPECT_NEAR(*table.rows[1].clock_ms.mean / slower.clock(), 1.0, 0.003) << name;
    EXPECT_DOUBLE_EQ(*table.rows[1].step_ms.mean, *table.rows[1].clock_ms.mean / (kStepCount - kUntimed)) << name;
    const GateCheck check = time_check(plan);
    EXPECT_EQ(check.verdict, Verdict::kRegressed) << name << reason_text(check);
    EXPECT_NEAR(*check.change, 1.0 / planted - 1.0, 0.003) << name;
    EXPECT_FALSE(check.is_by_median) << name;
  }
}

TEST_F(TrainingClock, ABurstInOneRunDoesNotMoveTheRatio) {
  const auto burst = [](const Cell& cell, std::uint64_t seed, std::vector<double>& times) {
    if (cell.label != "after" || seed != 3) return;
    for (std::size_t step = 40; step < 60; ++step) times[step] *= 4.0;
  };
  const results::PlanRecord plan = plan_of({{"before", {}}, {"after", {}}}, burst);
  const std::vector<CellMeasures> cells = read_cells(store_, plan, {});
  const RunMeasure& disturbed = *completed_run(cells[1], 3);
  EXPECT_EQ(disturbed.disturbed_steps, 20);
  EXPECT_DOUBLE_EQ(*disturbed.raw_clock_ms, *disturbed.run.result->train_ms);
  EXPECT_NEAR(*disturbed.clock_ms / ThreePhases{}.clock(), 1.0, 0.005);
  EXPECT_NEAR(*disturbed.raw_clock_ms / ThreePhases{}.clock(), 1.5, 0.1);
  EXPECT_NEAR(compare(plan, cells, {}).rows[1].step_speed_up->value, 1.0, 0.003);
  EXPECT_NE(time_check(plan).verdict, Verdict::kRegressed);
  EXPECT_DOUBLE_EQ(clocks(cells[0]).at(1), *completed_run(cells[0], 1)->run.result->train_ms);
}

/// Reading every step of ten thousand long runs would take too long.
TEST_F(TrainingClock, AVeryLargePlanKeepsItsClocksAsMeasured) {
  const auto burst = [](const Cell&, std::uint64_t seed, std::vector<double>& times) {
    if (seed == 3) times[50] *= 9.0;
  };
  const results::PlanRecord plan = plan_of({{"cell", {}}}, burst);
  std::vector<CellMeasures> cells = read_cells(store_, plan, {});
  EXPECT_EQ(clock_samples_of(cells), static_cast<std::int64_t>(kSeedCount) * (kStepCount - kUntimed));
  EXPECT_EQ(completed_run(cells[0], 3)->disturbed_steps, 1);
  results::Database database(file(), file().string(), SQLITE_OPEN_READWRITE);
  database.execute(("UPDATE run_summaries SET timed_samples = " + std::to_string(kMaxClockSamples)).c_str());
  cells = read_cells(store_, plan, {});
  EXPECT_EQ(completed_run(cells[0], 3)->disturbed_steps, 0);
  EXPECT_EQ(completed_run(cells[0], 3)->clock_ms, completed_run(cells[0], 3)->raw_clock_ms);
  EXPECT_TRUE(step_phases(store_, cells, compare(plan, cells, {})).empty());
  settle_clocks(store_, {&cells[0].runs});
  EXPECT_EQ(completed_run(cells[0], 3)->disturbed_steps, 1);
}

/// Compilation, a new window: every run pays for it, so it is part of the clock.
TEST_F(TrainingClock, AStepThatIsSlowInAllRunsStays) {
  const auto compile = [](const Cell& cell, std::uint64_t, std::vector<double>& times) {
    if (cell.label == "after") times[45] += 1000.0;
  };
  const results::PlanRecord plan = plan_of({{"before", {}}, {"after", {}}}, compile);
  const double planted = 1.0 + 1000.0 / ThreePhases{}.clock();
  EXPECT_NEAR(table_of(plan).rows[1].step_speed_up->value, 1.0 / planted, 0.003);
  EXPECT_EQ(time_check(plan).verdict, Verdict::kRegressed);
}

TEST_F(TrainingClock, ARunOfAnotherMachineIsNoYardstick) {
  const results::PlanRecord plan = plan_of({{"cell", {}}});
  std::vector<CellMeasures> cells = read_cells(store_, plan, {});
  std::vector<double> times = times_of({"cell", {}}, 9);
  for (std::size_t step = 50; step < 60; ++step) times[step] *= 4.0;
  RunMeasure other = measure_run(store_, store_.run(add_run({"slow", {}}, 9, times)));
  other.run.threads = 7;
  std::vector<RunMeasure> runs = {other, cells[0].runs[0]};
  settle_clocks(store_, {&runs});
  EXPECT_EQ(runs[0].clock_ms, other.raw_clock_ms);
  EXPECT_EQ(runs[0].disturbed_steps, 0);
  runs[0].run.threads = runs[1].run.threads;
  settle_clocks(store_, {&runs});
  EXPECT_EQ(runs[0].disturbed_steps, 10);
}

TEST_F(TrainingClock, TheTimeToTheTargetIsPairedWhereAllRunsReachIt) {
  const results::PlanRecord plan =
      plan_of({{"before", {}}, {"after", {.first = 160.0, .second = 240.0, .third = 320.0}}});
  const std::vector<CellMeasures> cells = read_cells(store_, plan, {});
  const ComparisonTable reached = compare(plan, cells, {.published_step_ms = {}, .target = 4.0});
  ASSERT_TRUE(reached.rows[1].to_target_change);
  EXPECT_TRUE(reached.rows[1].to_target_change->is_paired);
  EXPECT_NEAR(reached.rows[1].to_target_change->value, ThreePhases{}.clock() / 2000.0, 0.1);
  EXPECT_FALSE(compare(plan, cells, {.published_step_ms = {}, .target = 1.0}).rows[1].to_target_change);
}

/// One row for each window, with the mean of its steps and the ratio at the same steps.
TEST_F(TrainingClock, TimesByPhaseAreAlignedByStep) {
  const results::PlanRecord plan = plan_of({{"before", {}}, {"after", {.second = 123.6}}});
  const std::vector<CellMeasures> cells = read_cells(store_, plan, {});
  const std::vector<StepPhase> phases = step_phases(store_, cells, compare(plan, cells, {}));
  ASSERT_EQ(phases.size(), 3U);
  const std::int64_t bounds[3][2] = {{kUntimed, 44}, {45, 74}, {75, kStepCount - 1}};
  const double means[3] = {80.0, 123.6, 160.0}, ratios[3] = {1.0, 1.03, 1.0};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(phases[i].first_step, bounds[i][0]);
    EXPECT_EQ(phases[i].last_step, bounds[i][1]);
    ASSERT_EQ(phases[i].cells.size(), 2U);
    EXPECT_NEAR(*summarise(phases[i].cells[1].step_ms).mean / means[i], 1.0, 0.005) << i;
    ASSERT_TRUE(phases[i].cells[1].ratio) << i;
    EXPECT_NEAR(phases[i].cells[1].ratio->value, ratios[i], 0.004) << i;
    EXPECT_FALSE(phases[i].cells[0].ratio) << i;
  }
  const core::Json json = core::Json::parse(render_json(comparison_report(store_, plan, {})));
  const core::Json& rows = json.at("tables").at("schedule_phases");
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows.at(3).at("steps").at("first"), 45);
  EXPECT_EQ(rows.at(3).at("row"), "after");
  EXPECT_NEAR(rows.at(3).at("ratio").at("value").get<double>(), 1.03, 0.004);
}

TEST_F(TrainingClock, WithoutAScheduleThePhasesAreLevelsOfTheTimes) {
  windows_ = false;
  const results::PlanRecord plan = plan_of({{"before", {}}, {"after", {}}});
  const std::vector<CellMeasures> cells = read_cells(store_, plan, {});
  const std::vector<StepPhase> phases = step_phases(store_, cells, compare(plan, cells, {}));
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_EQ(phases[1].first_step, 45);
  EXPECT_EQ(phases[2].first_step, 75);
}

TEST(MeasuredBoundaries, NoiseAndFewTimesHaveNone) {
  NormalDraws draws(5);
  std::vector<StepTime> times;
  for (std::int64_t step = 0; step < 400; ++step) times.push_back({.step = step, .ms = 100.0 + draws.next()});
  EXPECT_TRUE(measured_boundaries(times).empty());
  for (std::size_t i = 201; i < times.size(); ++i) times[i].ms *= 1.1;
  EXPECT_EQ(measured_boundaries(times), std::vector<std::int64_t>{201});
  EXPECT_TRUE(measured_boundaries(std::span(times).subspan(195, 12)).empty());
}

TEST(ScheduledBoundaries, AreChangesOfTheWindowAndOfTheStageOfTheRate) {
  std::vector<results::Sample> window, rate;
  for (std::int64_t step = 0; step < 30; ++step) {
    window.push_back({step, step < 12 ? 128.0 : 256.0});
    rate.push_back({step, step < 20 ? 1.0 : 1.0 - 0.1 * static_cast<double>(step - 19)});
  }
  EXPECT_EQ(scheduled_boundaries(window, rate), (std::vector<std::int64_t>{12, 20}));
  EXPECT_TRUE(scheduled_boundaries({}, {}).empty());
}

/// The published logs: the clock is what they print, and a level of it is not lost in stretches.
TEST(PublishedClocks, AreThoseThatTheLogsPrint) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "nanobench-published-clocks";
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / "store.db";
  std::filesystem::remove(file);
  results::Store store(file);
  results::LogImport import(store, "logs");
  std::map<std::string, double> printed;  // by the log's digest
  for (const results::LogFile& log_file : results::find_log_files({golden_data("public_logs")}).files) {
    const results::LogReading reading = results::read_log_file(log_file.path);
    ASSERT_EQ(reading.problem, std::nullopt);
    const results::SpeedrunLog& log = reading.log;
    import.add(log_file, log);
    for (const results::SpeedrunRun& run : log.runs) {
      const auto last = run.final_validation();
      if (last && last->clock_ms) printed[log.digest] = *last->clock_ms;
    }
  }
  const results::LogImportResult result = import.finish({});
  int compared = 0;
  const results::PlanRecord plan = store.plan(result.plan_id);
  const std::vector<CellMeasures> cells = read_cells(store, plan, {});
  EXPECT_EQ(compare(plan, cells, {}).target, 3.28);
  EXPECT_EQ(compare(plan, cells, {.published_step_ms = {}, .target = 3.3}).target, 3.3);
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) {
      const auto known = printed.find(store.run_facts(run.run.id).at("log/digest"));
      if (!run.clock_ms || known == printed.end()) continue;
      EXPECT_DOUBLE_EQ(*run.raw_clock_ms, known->second) << cell.cell.label;
      EXPECT_LE(*run.clock_ms, *run.raw_clock_ms) << cell.cell.label;
      if (run.disturbed_steps == 0) {
        EXPECT_DOUBLE_EQ(*run.clock_ms, known->second) << cell.cell.label;
      }
      if (run.disturbed_steps == 0 && run.run.result->timed_steps) {
        EXPECT_NEAR(*run.step_ms * static_cast<double>(*run.run.result->timed_steps), known->second, 1e-3);
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 5);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace nanobench::reports
