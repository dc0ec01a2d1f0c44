// Runs at once, each on processors of its own.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>

#include "core/base/error.h"
#include "core/hardware/processors.h"
#include "results/metric.h"
#include "runner_fixture.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::RunOutcome;
using results::Store;

/// Counts the runs in progress.
class Counting : public Remembering {
 public:
  void on_run_started(const Plan& plan, const PlannedRun& run, std::int64_t id) override {
    Remembering::on_run_started(plan, run, id);
    most = std::max(most, ++now);
    if (started == interrupt_at) raise(SIGINT);
  }
  void on_run_finished(const Plan& plan, const PlannedRun& run, const results::RunRecord& record,
                       bool is_reused) override {
    Remembering::on_run_finished(plan, run, record, is_reused);
    if (!is_reused) --now;
  }

  int now = 0;
  int most = 0;
  int interrupt_at = 0;
};

class SideBySideTest : public RunnerTest {
 protected:
  void SetUp() override {
    if (core::usable_processors().size() < 2) GTEST_SKIP() << "one processor";
  }

  SuiteRunResult run_at_once(const Plan& plan, RunnerOptions options = {}) {
    Store store(file());
    options.jobs = 2;
    options.grace_seconds = 0.3;
    options.wait_poll_seconds = 0.02;
    return run_plan(plan, store, options, counting_);
  }

  Counting counting_;
};

const Json kSlow = {{"steps", 12}, {"val_every", 4}, {"loss_sigma", 0.1}, {"sleep_ms", 5}};

TEST_F(SideBySideTest, LossesAreThoseOfRunsAloneAndThereAreNoTimes) {
  const Plan plan = mock_plan(engine(), kSlow, {{"seeds", {1, 2}}});
  EXPECT_EQ(run_at_once(plan).completed, 6);
  EXPECT_EQ(counting_.most, 2);
  EXPECT_EQ(run(plan).completed, 6) << "a run that needs times repeats them";
  const Store store(file());
  const auto losses = [&](std::int64_t id, const char* metric) {
    std::vector<double> list;
    for (const results::Sample& sample : store.samples(id, metric)) list.push_back(sample.value);
    return list;
  };
  std::set<std::string> processors;
  for (const results::RunRecord& beside : counting_.records) {
    const auto alone = std::find_if(observer_.records.begin(), observer_.records.end(),
                                    [&](const results::RunRecord& one) { return one.digest == beside.digest; });
    ASSERT_NE(alone, observer_.records.end());
    EXPECT_EQ(losses(beside.id, results::kTrainLoss), losses(alone->id, results::kTrainLoss));
    EXPECT_EQ(losses(beside.id, results::kValLoss), losses(alone->id, results::kValLoss));
    EXPECT_EQ(beside.result->final_val_loss, alone->result->final_val_loss);
    EXPECT_EQ(beside.result->steps, alone->result->steps);
    EXPECT_FALSE(beside.result->train_ms || beside.result->mean_step_ms());
    for (const char* const metric : {results::kStepMs, results::kClockMs, results::kValClockMs})
      EXPECT_TRUE(store.samples(beside.id, metric).empty()) << metric;
    EXPECT_TRUE(alone->result->train_ms && !store.samples(alone->id, results::kClockMs).empty());
    processors.insert(store.run_facts(beside.id).at(results::kJobProcessors));
    EXPECT_FALSE(store.run_facts(alone->id).contains(results::kJobProcessors));
  }
  EXPECT_EQ(processors.size(), 2U) << "each place has its own";
}

TEST_F(SideBySideTest, RunsWithTimesAreReused) {
  const Plan plan = mock_plan(engine(), kSlow);
  run(plan);
  EXPECT_EQ(run_at_once(plan).reused, 3);
  EXPECT_EQ(run_at_once(mock_plan(engine(), kSlow, {{"seeds", {1, 2}}})).completed, 3);
  EXPECT_EQ(run_at_once(mock_plan(engine(), kSlow, {{"seeds", {1, 2}}})).reused, 6) << "losses without times too";
}

/// The engine writes down where it may run.
TEST_F(SideBySideTest, AnEngineHasItsProcessorsOnly) {
  const std::string script = (folder_ / "engine.sh").string();
  std::ofstream(script) << "#!/bin/sh\ntaskset -cp $$ | sed 's/.*: //' >>" << (folder_ / "where").string() << "\nexec "
                        << engine() << " \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  EXPECT_EQ(run_at_once(mock_plan(script, kSlow)).completed, 3);
  std::ifstream in(folder_ / "where");
  std::set<std::string> places;
  for (std::string line; std::getline(in, line);) places.insert(line);
  EXPECT_EQ(places.size(), 2U);
  for (const std::string& place : places) EXPECT_EQ(place.find_first_not_of("0123456789"), std::string::npos) << place;
}

TEST_F(SideBySideTest, FailuresConcernTheirRunsOnly) {
  for (const char* const kind : {"signal", "exit", "garbage", "nan", "hang"}) {
    counting_ = {};
    const Json mock = {{"steps", 12}, {"cells", {{"record13", {{"fault", {{"kind", kind}, {"step", 5}}}}}}}};
    const Plan plan = mock_plan(engine(), mock, {{"limits", {{"seconds_per_run", 60}, {"silence_seconds", 0.5}}}});
    const SuiteRunResult result = run_at_once(plan, {.is_fresh = true});
    EXPECT_EQ(result.completed, 2) << kind;
    EXPECT_EQ(counting_.records.size(), 3U) << kind;
  }
}

TEST_F(SideBySideTest, ACellThatFailsTwiceIsGivenUp) {
  const Json mock = {{"steps", 12}, {"cells", {{"record13", {{"fault", {{"kind", "exit"}, {"step", 5}}}}}}}};
  const SuiteRunResult result = run_at_once(mock_plan(engine(), mock, {{"seeds", {1, 2, 3, 4, 5, 6}}}));
  EXPECT_EQ(result.completed, 12);
  EXPECT_GE(result.left_out, 3);
  EXPECT_EQ(result.failed + result.left_out, 6);
}

TEST_F(SideBySideTest, AnInterruptStopsThemAllAndTheNextCallContinues) {
  counting_.interrupt_at = 2;
  Json slower = kSlow;  // on a machine as slow as under sanitizers, too, a second run begins before the first one ends
  slower["sleep_ms"] = 50;
  const Plan plan = mock_plan(engine(), slower, {{"seeds", {1, 2}}});
  const SuiteRunResult cut = run_at_once(plan);
  EXPECT_TRUE(cut.is_interrupted);
  EXPECT_EQ(counting_.records.size(), 2U);
  for (const results::RunRecord& record : counting_.records)
    EXPECT_EQ(record.result->outcome, RunOutcome::kInterrupted);
  counting_ = {};
  EXPECT_EQ(run_at_once(plan).completed, 6);
}

/// Each call does what the one before left, whatever the way.
TEST_F(SideBySideTest, AnInterruptedPlanContinuesInAnotherWay) {
  const Plan plan = mock_plan(engine(), kSlow, {{"seeds", {1, 2, 3}}});
  Store store(file());
  counting_.interrupt_at = 3;
  EXPECT_TRUE(run_at_once(plan).is_interrupted);
  counting_ = {};
  counting_.interrupt_at = 4;
  RunnerOptions in_turns{.times = TimesChoice::kTurns, .grace_seconds = 0.3, .wait_poll_seconds = 0.02};
  EXPECT_TRUE(run_plan(plan, store, in_turns, counting_).is_interrupted);
  counting_ = {};
  const SuiteRunResult last = run(plan);
  EXPECT_TRUE(last.is_whole());
  EXPECT_EQ(last.completed + last.reused, 9);
  std::map<std::string, std::set<double>> losses;
  for (const results::RunRecord& run : store.runs({.outcome = RunOutcome::kCompleted}))
    losses[run.digest].insert(*run.result->final_val_loss);
  EXPECT_EQ(losses.size(), 9U);
  for (const auto& [digest, values] : losses) EXPECT_EQ(values.size(), 1U) << "one loss, however often it was run";
}

TEST_F(SideBySideTest, MoreThanTheProcessorsHoldIsRefused) {
  const auto processors = static_cast<int>(core::usable_processors().size());
  Store store(file());
  try {
    run_plan(mock_plan(engine(), kSlow, {{"threads", 2}}), store, {.jobs = processors}, counting_);
    ADD_FAILURE() << "ran";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("--jobs " + std::to_string(processors)), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(store.runs().empty());
}

}  // namespace
}  // namespace nanobench::suites
