// What the runner does with engines that work and with engines that fail.
#include "suites/run/runner.h"
#include "suites/run/engine_process.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "results/check.h"
#include "results/metric.h"
#include "results/run_log.h"
#include "runner_fixture.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::RunOutcome;
using results::RunRecord;
using results::Store;

Json fault(const std::string& kind, int step = 4, int value = -1) {
  Json json = {{"steps", 10}, {"fault", {{"kind", kind}, {"step", step}}}};
  if (value >= 0) json["fault"]["value"] = value;
  return json;
}

TEST_F(RunnerTest, StoresAWholePlan) {
  const Plan plan = mock_plan(engine(), {{"steps", 10}, {"val_every", 5}}, {{"seeds", {1, 2}}});
  const SuiteRunResult result = run(plan);
  EXPECT_EQ(result.completed, 6);
  EXPECT_EQ(result.reused + result.failed + result.diverged, 0);
  EXPECT_TRUE(result.is_whole());
  EXPECT_EQ(observer_.started, 6);
  EXPECT_EQ(observer_.records.size(), 6u);

  const Store store(file(), results::OpenMode::kReadOnly);
  const RunRecord& record = observer_.records.front();
  ASSERT_TRUE(record.is_completed());
  EXPECT_EQ(store.samples(record.id, results::kTrainLoss).size(), 10u);
  EXPECT_EQ(store.samples(record.id, results::kStepMs).size(), 10u);
  EXPECT_EQ(store.samples(record.id, results::kClockMs).size(), 8u) << "two steps are untimed";
  EXPECT_EQ(store.samples(record.id, "phase/forward_ms").size(), 10u);
  const std::vector<results::Sample> val = store.samples(record.id, results::kValLoss);
  ASSERT_EQ(val.size(), 3u);
  EXPECT_EQ(val.back().step, 10);
  EXPECT_EQ(val.back().value, *record.result->final_val_loss);
  EXPECT_EQ(*record.result->train_ms, store.samples(record.id, results::kClockMs).back().value);
  EXPECT_EQ(record.result->steps, 10);
  EXPECT_EQ(record.result->timed_steps, 8);
  EXPECT_EQ(record.result->peak_bytes, 100'000'000);
  EXPECT_EQ(store.environment(*record.environment_id)->facts.at("engine"), "mock");
  const auto facts = store.run_facts(record.id);
  for (const char* name :
       {"start/load_1m", "end/load_1m", "start/cpu_ticks", "end/uptime_s", "used/user_ms", "used/involuntary_switches"})
    EXPECT_TRUE(facts.contains(name)) << name;

  const results::PlanRecord stored = store.plan(result.plan_id);
  ASSERT_EQ(stored.lines.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(stored.lines[i].run_id, observer_.records[i].id);
    EXPECT_EQ(stored.lines[i].cell, observer_.records[i].cell);
  }
  for (const results::PlanLine& line : stored.lines)
    EXPECT_FALSE(store.samples(*line.run_id, results::kValLoss).empty()) << line.cell;
}

TEST_F(RunnerTest, TheSameSpecGivesTheSameLosses) {
  const Plan plan = mock_plan(engine(), {{"steps", 10}, {"loss_sigma", 0.1}}, {{"records", {"record12"}}});
  run(plan);
  run(plan, true);
  ASSERT_EQ(observer_.records.size(), 2u);
  EXPECT_NE(observer_.records[0].id, observer_.records[1].id);
  EXPECT_EQ(observer_.records[0].result->final_val_loss, observer_.records[1].result->final_val_loss);
}

TEST_F(RunnerTest, ReusesWhatIsFinished) {
  const Plan plan = mock_plan(engine(), {{"steps", 5}});
  const SuiteRunResult first = run(plan);
  const SuiteRunResult second = run(plan);
  EXPECT_EQ(second.plan_id, first.plan_id);
  EXPECT_EQ(second.reused, 3);
  EXPECT_EQ(second.completed, 0);
  EXPECT_EQ(observer_.started, 3);
  EXPECT_EQ(observer_.reused, 3);
  EXPECT_EQ(observer_.reusable, std::vector<bool>(3, true));
  const SuiteRunResult fresh = run(plan, true);
  EXPECT_EQ(fresh.completed, 3);
  EXPECT_NE(fresh.plan_id, first.plan_id);
}

TEST_F(RunnerTest, AFailedCellIsARowAndTheOthersGoOn) {
  const Json mock = {{"steps", 5}, {"cells", {{"record13", {{"fault", {{"kind", "signal"}, {"step", 2}}}}}}}};
  const Plan plan = mock_plan(engine(), mock);
  const SuiteRunResult result = run(plan);
  EXPECT_EQ(result.completed, 2);
  EXPECT_EQ(result.failed, 1);
  EXPECT_FALSE(result.is_whole());
  const SuiteRunResult again = run(plan);
  EXPECT_EQ(again.reused, 2);
  EXPECT_EQ(again.failed, 1) << "what failed is tried again";
  EXPECT_EQ(Store(file()).runs({.cell = "record13"}).size(), 2u);
}

struct FaultCase {
  const char* name;
  Json mock;
  RunOutcome outcome;
  const char* message;
  std::optional<std::int64_t> exit_code;  // absent where it depends on who is faster, engine or runner

  friend void PrintTo(const FaultCase& item, std::ostream* out) { *out << item.name; }
};

class RunnerFaultTest : public RunnerTest, public testing::WithParamInterface<FaultCase> {};

TEST_P(RunnerFaultTest, BecomesARowWithAReason) {
  const FaultCase& param = GetParam();
  const RunRecord record = run_one(param.mock, {{"limits", {{"seconds_per_run", 60}, {"silence_seconds", 1}}}});
  ASSERT_TRUE(record.result.has_value());
  EXPECT_EQ(enum_name(record.result->outcome), enum_name(param.outcome)) << record.result->message;
  EXPECT_NE(record.result->message.find(param.message), std::string::npos) << record.result->message;
  if (param.exit_code) {
    EXPECT_EQ(record.result->exit_code, param.exit_code);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, RunnerFaultTest,
    testing::Values(
        FaultCase{"Segfault", fault("signal"), RunOutcome::kCrashed, "signal 11 (SIGSEGV)", -11},
        FaultCase{"Killed", fault("signal", 4, 9), RunOutcome::kCrashed, "signal 9 (SIGKILL)", -9},
        FaultCase{"ExitCode", fault("exit", 4, 7), RunOutcome::kCrashed, "exiting as told", 7},
        FaultCase{"ExitZeroWithoutFinish", fault("exit", 4, 0), RunOutcome::kCrashed, words_of(EarlyEnd::kUnsaid), 0},
        FaultCase{"Hang", fault("hang"), RunOutcome::kTimedOut, " 1 ", std::nullopt},
        FaultCase{"Garbage", fault("garbage"), RunOutcome::kCrashed, " 7 ", std::nullopt},
        FaultCase{"CutLine", fault("cut_line"), RunOutcome::kCrashed, words_of(EarlyEnd::kCutLine), 0},
        FaultCase{"Nan", fault("nan"), RunOutcome::kDiverged, "step 4: ", std::nullopt},
        FaultCase{"OutOfMemory", fault("out_of_memory"), RunOutcome::kOutOfMemory, "simulates a lack of memory", 1},
        FaultCase{"BadAlloc", fault("bad_alloc"), RunOutcome::kOutOfMemory, "std::bad_alloc", -6},
        FaultCase{"Unsupported", fault("unsupported"), RunOutcome::kUnsupported, "does not know this setting", 1},
        FaultCase{"NoHello", fault("no_hello"), RunOutcome::kCrashed, "\"hello\"", std::nullopt},
        FaultCase{"WrongProtocol", fault("wrong_protocol"), RunOutcome::kCrashed, "protocol", std::nullopt},
        FaultCase{"RepeatedStep", fault("repeated_step"), RunOutcome::kCrashed, " 3 ", std::nullopt},
        FaultCase{"LongLine", fault("long_line"), RunOutcome::kCrashed, words_of(EarlyEnd::kLongLine), std::nullopt},
        FaultCase{"CloseEvents", fault("close_events"), RunOutcome::kCrashed, words_of(EarlyEnd::kUnsaid), 0},
        FaultCase{"ExitAfterFinish", fault("exit_after_finish", 0, 3), RunOutcome::kCrashed,
                  words_of(EarlyEnd::kAfterFinish), 3},
        FaultCase{"BadSettings", Json{{"stepps", 5}}, RunOutcome::kUnsupported, "/mock/stepps: ", 2}),
    [](const auto& fault_case) { return std::string(fault_case.param.name); });

TEST_F(RunnerTest, KillsAnEngineThatDoesNotListen) {
  const RunRecord record =
      run_one(fault("ignore_signals", 0, 100), {{"limits", {{"seconds_per_run", 0.3}, {"silence_seconds", 60}}}});
  EXPECT_EQ(record.result->outcome, RunOutcome::kTimedOut);
  EXPECT_NE(record.result->message.find(" 0.3 "), std::string::npos) << record.result->message;
  EXPECT_EQ(record.result->exit_code, -9);
}

TEST_F(RunnerTest, DoesNotWaitForAGrandchildThatHoldsThePipes) {
  const RunRecord record = run_one(fault("grandchild"));
  EXPECT_TRUE(record.is_completed()) << record.result->message;
}

TEST_F(RunnerTest, ADivergedRunKeepsItsSamplesAndIsNotRepeated) {
  const Plan plan = mock_plan(engine(), fault("nan"), {{"records", {"record12"}}});
  EXPECT_EQ(run(plan).diverged, 1);
  const std::vector<results::Sample> losses = Store(file()).samples(observer_.records.back().id, results::kTrainLoss);
  ASSERT_GE(losses.size(), 5u);
  EXPECT_EQ(losses[3].value, losses[3].value);
  EXPECT_NE(losses[4].value, losses[4].value);
  EXPECT_EQ(run(plan).reused, 1);
}

TEST_F(RunnerTest, StoresAFloodOfEvents) {
  constexpr int kEvents = 100'000;
  const RunRecord record = run_one(fault("flood", 4, kEvents));
  ASSERT_TRUE(record.is_completed()) << record.result->message;
  EXPECT_EQ(Store(file()).samples(record.id, results::kTrainLoss).size(), static_cast<std::size_t>(kEvents) + 10);
}

TEST_F(RunnerTest, KeepsTheEnginesLastWords) {
  const RunRecord record = run_one(fault("exit", 4, 1));
  const std::vector<results::RunMessage> messages = Store(file()).messages(record.id);
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages.back().kind, results::RunMessageKind::kOutput);
  EXPECT_NE(messages.back().text.find("exiting as told"), std::string::npos);
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST_F(RunnerTest, KeepsWhatAFailedRunPrintedInFilesOfItsOwn) {
  const RunRecord completed = run_one({{"steps", 5}});
  const RunRecord failed = run_one(fault("exit", 4, 1));
  const results::RunLogFiles files = results::run_log_files(file(), failed.id);
  EXPECT_EQ(text_of(files.err), "mock engine: exiting as told\n");
  EXPECT_FALSE(std::filesystem::exists(files.out)) << "it printed nothing there";
  const Store store(file());
  EXPECT_EQ(store.run_facts(failed.id).at(results::kStderrFile), files.err.string());
  EXPECT_FALSE(store.run_facts(failed.id).contains(results::kStdoutFile));
  EXPECT_FALSE(store.run_facts(completed.id).contains(results::kStderrFile));
  EXPECT_TRUE(results::check_store(file()).is_fine());
}

TEST_F(RunnerTest, LastWordsAreMadeText) {
  const RunRecord record = run_one(fault("noise"));
  EXPECT_NE(record.result->message.find("broken"), std::string::npos) << record.result->message;
  EXPECT_EQ(record.result->message.find('\x1b'), std::string::npos);
  EXPECT_NO_THROW(Json(record.result->message).dump());
  EXPECT_NO_THROW(Json(Store(file()).messages(record.id).back().text).dump());
}

TEST_F(RunnerTest, SaysThatTheEngineCannotBeStarted) {
  const Plan plan = mock_plan("/nowhere/engine", {{"steps", 5}});
  try {
    run(plan);
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kUnavailable);
    EXPECT_NE(std::string(error.what()).find("/nowhere/engine"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(Store(file()).runs({.is_running = true}).empty());
}

TEST_F(RunnerTest, LeavesNoFilesBehind) {
  const std::filesystem::path temporary = folder_ / "tmp";
  std::filesystem::create_directory(temporary);
  setenv("TMPDIR", temporary.c_str(), 1);
  run_one({{"steps", 5}});
  run_one(fault("signal"));
  unsetenv("TMPDIR");
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

}  // namespace
}  // namespace nanobench::suites
