#include "results/import/log_import.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/json.h"
#include "results/metric.h"
#include "tests/results/import/log_texts.h"
#include "tests/results/store_fixture.h"

namespace nanobench::results {
namespace {

class LogImportTest : public StoreTest {
 protected:
  static LogFile file_in(const std::string& folder, const std::string& name) {
    return {.path = folder + "/" + name, .folder = folder, .name = name};
  }
  static std::string run_text(const std::string& loss, const std::string& script = "one") {
    return log_text(
        "step:0/8 val_loss:10.8258 train_time:0ms step_avg:nanms\n"
        "step:1/8 train_loss:9.5 train_time:50ms step_avg:nanms\n"
        "step:2/8 train_loss:9.0 train_time:100ms step_avg:nanms\n"
        "step:2/8 val_loss:7.5 train_time:101ms step_avg:50.50ms\n"
        "step:8/8 train_time:461ms step_avg:60.00ms\n"
        "step:8/8 val_loss:" +
            loss +
            " train_time:480ms step_avg:60.00ms\n"
            "peak memory allocated: 100 MiB reserved: 200 MiB\n",
        script);
  }
  LogImportResult import(const std::vector<std::pair<std::string, std::string>>& logs) {
    LogImport import(store_, "logs");
    int count = 0;
    for (const auto& [folder, text] : logs)
      import.add(file_in(folder, "run" + std::to_string(++count) + ".txt"), read_speedrun_log(text));
    return import.finish({"nanobench", "import"});
  }
  Store store_{file()};
};

TEST_F(LogImportTest, StoresARunAsItWasLogged) {
  const LogImportResult result = import({{"2025-01-04_SoftCap", run_text("3.2785")}});
  EXPECT_EQ(result.added, 1U);
  const RunRecord run = store_.runs().at(0);
  EXPECT_TRUE(run.is_completed());
  EXPECT_EQ(run.engine, "speedrun-log");
  EXPECT_EQ(run.engine_version, read_speedrun_log(run_text("x")).script_digest);
  EXPECT_EQ(run.hardware, "8x NVIDIA H100 80GB HBM3");
  EXPECT_EQ(run.cell, "2025-01-04_SoftCap");
  EXPECT_EQ(run.record, "record18");
  EXPECT_EQ(run.result->final_val_loss, 3.2785);
  EXPECT_EQ(run.result->train_ms, 480.0);
  EXPECT_EQ(run.result->timed_steps, 8);
  EXPECT_EQ(run.result->peak_bytes, 100 * 1024 * 1024);
  EXPECT_EQ(core::parse_json(run.config, "config").at("planned_steps"), 8);
  const std::vector<Sample> losses = store_.samples(run.id, kValLoss);
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_EQ(losses[2].step, 8);
  EXPECT_EQ(losses[2].value, 3.2785);
  EXPECT_EQ(store_.samples(run.id, kTrainLoss).size(), 2U);
  const std::vector<Sample> step_ms = store_.samples(run.id, kStepMs);
  ASSERT_EQ(step_ms.size(), 1U) << "the first stretch is left out";
  EXPECT_EQ(step_ms[0].step, 8);
  EXPECT_EQ(step_ms[0].value, 60.0);  // (461 - 101) / 6
  EXPECT_EQ(store_.run_facts(run.id).at("log/driver"), "535.183.06");
  EXPECT_EQ(store_.run_facts(run.id).at("log/folder"), "2025-01-04_SoftCap");
}

TEST_F(LogImportTest, AClockThatJumpsBackIsNoTimeOfTheRun) {
  std::string text = run_text("3.2785");
  const std::string clock = "train_time:480ms";
  text.replace(text.find(clock), clock.size(), "train_time:90ms");
  import({{ "joined", text }});
  const RunRecord run = store_.runs().at(0);
  EXPECT_EQ(run.result->final_val_loss, 3.2785);
  EXPECT_EQ(run.result->train_ms, std::nullopt);
  EXPECT_EQ(run.result->timed_steps, std::nullopt);
  const std::vector<RunMessage> messages = store_.messages(run.id);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].text, words_of(LogProblem::kClockBack));
}

TEST_F(LogImportTest, ImportingAgainAddsNothing) {
  const std::vector<std::pair<std::string, std::string>> logs = {{"a", run_text("3.27")}, {"a", run_text("3.28")}};
  const LogImportResult first = import(logs);
  const LogImportResult again = import(logs);
  EXPECT_EQ(first.added, 2U);
  EXPECT_EQ(again.added, 0U);
  EXPECT_EQ(again.known, 2U);
  EXPECT_EQ(again.plan_id, first.plan_id);
  EXPECT_EQ(store_.runs().size(), 2U);
  const LogImportResult more = import({logs[0], logs[1], {"a", run_text("3.29")}});
  EXPECT_EQ(more.added, 1U);
  EXPECT_NE(more.plan_id, first.plan_id);
  EXPECT_EQ(store_.plan(more.plan_id).lines.size(), 3U);
}

TEST_F(LogImportTest, CellsAreNamedByWhatTellsThemApart) {
  const LogImportResult result =
      import({{"a", run_text("3.27")}, {"a", run_text("3.28", "two")}, {"b", run_text("3.29")}, {"b", steps_text()}});
  const PlanRecord plan = store_.plan(result.plan_id);
  ASSERT_EQ(plan.cells.size(), 4U);
  EXPECT_EQ(plan.cells[0].label.rfind("a, script ", 0), 0U) << plan.cells[0].label;
  EXPECT_EQ(plan.cells[2].label, "b, 3 steps, unknown GPU, script none");
  EXPECT_EQ(plan.cells[3].label.rfind("b, 8 steps, 8x NVIDIA H100 80GB HBM3, script ", 0), 0U) << plan.cells[3].label;
  for (const PlanLine& line : plan.lines) {
    ASSERT_TRUE(line.run_id);
    EXPECT_EQ(store_.run(*line.run_id).cell, line.cell);
  }
}

TEST_F(LogImportTest, RunsThatAllEndAtOneStepAreComplete) {
  const std::string end = "step:8/9 val_loss:3.27 train_time:480ms step_avg:60.00ms\n";
  const std::string start = "step:0/9 val_loss:10.8 train_time:0ms step_avg:nanms\n";
  import({{"a", start + end}, {"a", start + "step:4/9 train_loss:5\n" + end}, { "b", start + end + " " }});
  const std::vector<RunRecord> runs = store_.runs();
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].result->final_val_loss, 3.27);
  EXPECT_TRUE(runs[1].is_completed());
  EXPECT_EQ(runs[2].result->outcome, core::RunOutcome::kInterrupted) << "one run shows no plan";
}

TEST_F(LogImportTest, TheNamedStepHoldsTheFinalLoss) {
  LogImport import(store_, "logs");
  const std::string text = run_text("3.2785");
  import.add(file_in("a", "1.txt"), read_speedrun_log(text), 2);
  std::string other = run_text("3.2786");
  other.replace(other.find("val_loss:3.2786"), 15, "val_loss:3.2786 val_ema_loss:3.25");
  import.add(file_in("a", "2.txt"), read_speedrun_log(other));
  import.finish({});
  const std::vector<RunRecord> runs = store_.runs();
  EXPECT_EQ(runs[0].result->final_val_loss, 7.5);
  EXPECT_EQ(runs[0].result->train_ms, 101.0);
  EXPECT_EQ(runs[1].result->final_val_loss, 3.25) << "of the averaged weights";
}

TEST_F(LogImportTest, WithAControlTheFoldersAreArms) {
  LogImport import(store_, "logs", "m");
  import.add(file_in("a", "1.txt"), read_speedrun_log(run_text("3.27")));
  import.add(file_in("a", "2.txt"), read_speedrun_log(run_text("3.28", "two")));
  import.add({.path = "d/m/1.txt", .folder = "d", .subdir = "m", .name = "1.txt"}, read_speedrun_log(run_text("3.26")));
  import.add(file_in("z", "1.txt"), read_speedrun_log(run_text("3.25")));
  const PlanRecord plan = store_.plan(import.finish({}).plan_id);
  ASSERT_EQ(plan.cells.size(), 3U);
  EXPECT_EQ(plan.cells[0].label, "d/m") << "the control is first";
  EXPECT_EQ(plan.cells[1].label, "a") << "whatever its scripts";
  ASSERT_EQ(plan.contrasts.size(), 2U);
  EXPECT_EQ(plan.contrasts[0].effect, "a");
  EXPECT_EQ(plan.contrasts[0].coefficients, (std::map<std::string, double>{{"a", 1.0}, {"d/m", -1.0}}));
  EXPECT_EQ(plan.contrasts[1].effect, "z");
  EXPECT_EQ(plan.lines.size(), 4U);
}

TEST_F(LogImportTest, AControlThatIsNoArmWritesNothing) {
  for (const char* control : {"b", "m"}) {
    LogImport import(store_, "logs", control);
    import.add(file_in("a", "1.txt"), read_speedrun_log(run_text("3.27")));
    for (const char* folder : {"c", "d"})
      import.add({.path = "1.txt", .folder = folder, .subdir = "m", .name = "1.txt"},
                 read_speedrun_log(run_text("3.28", folder)));
    const bool is_known = std::string(control) == "m";
    EXPECT_REFUSAL(import.finish({}), is_known ? core::Reason::kAmbiguous : core::Reason::kUnknownName, control);
  }
  EXPECT_TRUE(store_.runs().empty());
}

TEST_F(LogImportTest, CutAndDivergedLogsAreRowsWithAReason) {
  const std::string text = run_text("3.27");
  import({{"a", text.substr(0, text.find("step:8/8 val"))}, {"a", run_text("nan")}, { "a", "no log" }});
  const std::vector<RunRecord> runs = store_.runs();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].result->outcome, core::RunOutcome::kInterrupted);
  EXPECT_NE(runs[0].result->message.find(words_of(LogEnd{.last_validation = 2, .last_step = 8})), std::string::npos)
      << runs[0].result->message;
  EXPECT_FALSE(runs[0].result->final_val_loss);
  EXPECT_EQ(runs[1].result->outcome, core::RunOutcome::kDiverged);
}

TEST_F(LogImportTest, AnyBytesAreStoredAndReadAgain) {
  std::string text = run_text("3.27");
  text.replace(text.find("NVIDIA H100"), 6, "\xff\xc3 \x01\x80\xfe");
  LogImport import(store_, "logs");
  import.add(file_in("a", "b.txt"), read_speedrun_log(text));
  import.add(file_in("a", "c.txt"), read_speedrun_log(run_text("3.28")));
  const LogImportResult result = import.finish({});
  EXPECT_EQ(result.added, 2U);
  EXPECT_EQ(store_.plan(result.plan_id).cells.size(), 2U);
}

TEST_F(LogImportTest, SeedsDifferSoThatNothingIsPaired) {
  import({{"a", run_text("3.27")}, {"a", run_text("3.28")}, { "b", run_text("3.29") }});
  const std::vector<RunRecord> runs = store_.runs();
  EXPECT_NE(runs[0].seed, runs[1].seed);
  EXPECT_NE(runs[0].seed, runs[2].seed);
}

}  // namespace
}  // namespace nanobench::results
