// A suite around somebody else's trainer, which is a shell script here: same store, same report, and every way to fail.
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <fstream>

#include "core/base/json.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

constexpr const char* kTrainer =
    "echo loading; echo \"step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\"\n"
    "echo \"step:2/4 train_loss:5.$SEED train_time:1000ms step_avg:500.00ms\"\n"
    "case $2 in hang) sleep 60;; exit) echo oh dear; exit 3;; signal) kill -SEGV $$;; short) exit 0;; esac\n"
    "echo \"step:4/4 val_loss:$1 train_time:2000ms step_avg:500.00ms\"\n";

std::string suite_of(const std::string& command, const std::string& mode_values = R"("good", "good2")") {
  return R"({"name": "mine", "design": "leave_one_out", "seeds": [1, 2],
    "limits": {"silence_seconds": 1},
    "engine": {"command": )" +
         command + R"(, "log": "speedrun", "env": {"SEED": "{seed}"},
      "features": {"loss": {"values": ["3.9", "3.2"]}, "mode": {"values": [)" +
         mode_values + R"(], "title": "how it ends"}}}})";
}

constexpr const char* kCommand = R"(["sh", "train.sh", "{feature:loss}{seed}", "{feature:mode}"])";

core::Json json_of(const ProgramResult& result) {
  return core::parse_json(result.out, "stdout");
}

TEST(ExternalEngine, RunsStoresReportsAndReuses) {
  const CommandLine shell("external");
  shell.write("train.sh", kTrainer);
  shell.write("suite.json", suite_of(kCommand));
  const ProgramResult result = shell.run({"run", "suite.json", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const core::Json rows = json_of(result).at("tables").at("rows");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_NEAR(rows.at(0).at("val_loss").at("mean").get<double>(), 3.215, 1e-9);  // 3.21 and 3.22
  EXPECT_NEAR(rows.at(1).at("val_loss").at("mean").get<double>(), 3.915, 1e-9);
  EXPECT_EQ(rows.at(0).at("step_ms").at("mean"), 500.0);
  EXPECT_EQ(rows.at(0).at("n").at("completed"), 2);
  const ProgramResult again = shell.run({"run", "suite.json", "--json", "--quiet"});
  EXPECT_EQ(json_of(again).at("tables"), json_of(result).at("tables"));
  EXPECT_EQ(json_of(shell.run({"list", "runs", "--json"})).at("tables").at("runs").size(), 6U) << "nothing ran twice";
  EXPECT_EQ(shell.run({"show", "1"}).exit_code, 0);
  EXPECT_EQ(shell.run({"show", "suite.json"}).exit_code, 0);
  EXPECT_EQ(shell.run({"run", "suite.json", "--scale", "nano"}).exit_code, 2);
}

TEST(ExternalEngine, EveryFailureIsARowWithAReason) {
  struct Case {
    const char* command;
    const char* mode;
    const char* outcome;
    const char* words;
  };
  const std::vector<Case> cases = {
      {kCommand, "exit", "crashed", "exit code 3 and without saying that it had finished; its last words: oh dear"},
      {kCommand, "signal", "crashed", "SIGSEGV"},
      {kCommand, "short", "crashed", "its last validation is at step 0 of 4"},
      {kCommand, "hang", "timed_out", "said nothing for 1 seconds; its last words: step:2/4"},
      {R"(["no-such-program", "{feature:loss}", "{feature:mode}"])", "x", "unsupported",
       "cannot start no-such-program in "},
      {R"(["echo", "{feature:loss}", "{feature:mode}"])", "x", "crashed", "without any line of a speedrun log"},
      {R"(["sh", "train.sh", "nan", "{feature:mode}{feature:loss}"])", "x", "diverged", "not a finite number"}};
  for (const Case& item : cases) {
    const CommandLine shell(std::string("external_") + item.mode);
    shell.write("train.sh", kTrainer);
    shell.write("suite.json", suite_of(item.command, "\"good\", \"" + std::string(item.mode) + "\""));
    const ProgramResult result = shell.run({"run", "suite.json", "--json", "--seeds", "1"});
    const bool is_evidence = std::string(item.outcome) == "diverged";
    EXPECT_EQ(result.exit_code, is_evidence ? 0 : 4) << item.mode << result.err;
    const core::Json runs = json_of(shell.run({"list", "runs", "--json"})).at("tables").at("runs");
    bool is_found = false;
    for (const core::Json& run : runs) {
      is_found = is_found || (run.dump().find(item.outcome) != std::string::npos);
    }
    EXPECT_TRUE(is_found) << item.mode << ": " << runs.dump(1);
    EXPECT_NE(result.out.find(item.words), std::string::npos) << item.mode << ": " << result.out;
  }
}

std::vector<pid_t> pids_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<pid_t> pids;
  for (pid_t pid = 0; in >> pid;) pids.push_back(pid);
  return pids;
}

/// Neither alive nor waiting to be reaped by someone who will not.
bool is_gone(pid_t pid) {
  const std::string status = read_text("/proc/" + std::to_string(pid) + "/stat");
  return status.empty() || status.find(") Z") != std::string::npos;
}

TEST(ExternalEngine, AKilledRunnerLeavesNoTrainerAndContinues) {
  const CommandLine shell("external_kill");
  shell.write("train.sh", std::string("if [ ! -e fast ]; then sleep 60 & echo $$ $! >>pids; wait; fi\n") + kTrainer);
  shell.write("suite.json", suite_of(kCommand));
  for (int i = 0; i < 20 && pids_in(shell.work() / "pids").size() < 4; ++i)
    shell.run({"run", "suite.json", "--quiet"}, "timeout -s KILL 0.5");
  const std::vector<pid_t> pids = pids_in(shell.work() / "pids");
  ASSERT_GE(pids.size(), 4U) << "two runs were killed, each a script and its child";
  for (const pid_t pid : pids) {
    for (int i = 0; i < 200 && !is_gone(pid); ++i) usleep(50'000);
    EXPECT_TRUE(is_gone(pid)) << "process " << pid << " outlived the runner";
  }
  shell.write("fast", "");
  const ProgramResult result = shell.run({"run", "suite.json", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  int completed = 0;
  const core::Json rows = json_of(result).at("tables").at("rows");
  for (const core::Json& row : rows) completed += row.at("n").at("completed").get<int>();
  EXPECT_EQ(completed, 6);
}

}  // namespace
}  // namespace nanobench::tools
