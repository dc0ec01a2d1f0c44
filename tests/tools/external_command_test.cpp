// A suite around somebody else's trainer, which is a shell script here: same store, same report, and every way to fail.
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/base/json.h"
#include "results/store.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

constexpr const char* kExternalCommandTrainer =
    "echo loading; echo \"step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\"\n"
    "echo \"step:2/4 train_loss:5.$SEED train_time:1000ms step_avg:500.00ms\"\n"
    "case $2 in hang) sleep 60;; exit) echo oh dear; exit 3;; signal) kill -SEGV $$;; short) exit 0;; esac\n"
    "echo \"step:4/4 val_loss:$1 train_time:2000ms step_avg:500.00ms\"\n";

std::string external_command_suite_of(const std::string& command,
                                      const std::string& mode_values = R"("good", "good2")") {
  return R"({"name": "mine", "design": "leave_one_out", "seeds": [1, 2],
    "limits": {"silence_seconds": 1},
    "engine": {"command": )" +
         command + R"(, "log": "speedrun", "env": {"SEED": "{seed}"},
      "features": {"loss": {"values": ["3.9", "3.2"]}, "mode": {"values": [)" +
         mode_values + R"(], "title": "how it ends"}}}})";
}

constexpr const char* kCommand = R"(["sh", "train.sh", "{feature:loss}{seed}", "{feature:mode}"])";

TEST(ExternalEngine, RunsStoresReportsAndReuses) {
  const CommandLine shell("external");
  shell.write("train.sh", kExternalCommandTrainer);
  shell.write("suite.json", external_command_suite_of(kCommand));
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
      {R"(["./broken", "{feature:loss}", "{feature:mode}"])", "x", "unsupported", "cannot start ./broken in "},
      {R"(["echo", "{feature:loss}", "{feature:mode}"])", "x", "crashed", "without any line of a speedrun log"},
      {R"(["sh", "train.sh", "nan", "{feature:mode}{feature:loss}"])", "x", "diverged", "not a finite number"}};
  for (const Case& item : cases) {
    const CommandLine shell(std::string("external_") + item.mode);
    shell.write("train.sh", kExternalCommandTrainer);
    std::filesystem::permissions(shell.write("broken", "#!/nowhere/interpreter\n"), std::filesystem::perms::owner_all);
    shell.write("suite.json", external_command_suite_of(item.command, "\"good\", \"" + std::string(item.mode) + "\""));
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

TEST(ExternalEngine, AMissingProgramOrScriptEndsThePlanBeforeItsFirstRun) {
  const std::vector<std::pair<const char*, std::string>> cases = {
      {R"(["no-such-program", "{feature:loss}", "{feature:mode}"])", "no-such-program"},
      {R"(["./train.sh", "{feature:loss}", "{feature:mode}"])", "./train.sh"},  // not executable
      {R"(["python3", "nothere.py", "{feature:loss}", "{feature:mode}"])", "nothere.py"}};
  for (const auto& [command, word] : cases) {
    const CommandLine shell("external_missing");
    shell.write("train.sh", kExternalCommandTrainer);
    shell.write("suite.json", external_command_suite_of(command, "\"good\", \"x\""));
    const ProgramResult result = shell.run({"run", "suite.json", "--quiet"});
    EXPECT_EQ(result.exit_code, core::kExitUsage) << result.err;
    EXPECT_NE(result.err.find("names " + word + ", which is not in its folder"), std::string::npos) << result.err;
    EXPECT_TRUE(results::Store(shell.database()).runs().empty());
  }
}

/// A library that is missing shows when the trainer starts, in every cell alike.
TEST(ExternalEngine, ATrainerThatNeverStartsFailsOnceInEachCell) {
  const CommandLine shell("external_never");
  shell.write("train.sh", "echo 'no module named torch' >&2\nexit 1\n");
  shell.write("suite.json", external_command_suite_of(R"(["sh", "train.sh", "{feature:loss}", "{feature:mode}"])",
                                                      "\"good\", \"x\", \"y\""));
  const ProgramResult result = shell.run({"run", "suite.json", "--seeds", "3"});
  EXPECT_EQ(result.exit_code, core::kExitIncomplete) << result.err;
  EXPECT_NE(result.err.find("no run has a result: all others are left out"), std::string::npos) << result.err;
  const std::size_t runs = results::Store(shell.database()).runs().size();
  EXPECT_GE(runs, 2U);
  EXPECT_LE(runs, 4U) << "until the base has failed too, whose place is drawn";
}

/// A suite of the design "cells", with one cell and one seed; `engine` without its braces.
std::string single(const std::string& engine) {
  return R"({"name": "one", "design": "cells", "cells": [{"label": "it"}], "limits": {"silence_seconds": 20},
             "engine": {)" +
         engine + "}}";
}

/// The only row of the run table.
core::Json only_run(const CommandLine& shell) {
  const core::Json runs = json_of(shell.run({"list", "runs", "--json"})).at("tables").at("runs");
  EXPECT_EQ(runs.size(), 1U);
  return runs.empty() ? core::Json::object() : runs.at(0);
}

/// Runs a module that no word of the command names, and imports another.
constexpr const char* kHiddenTrainer =
    R"(["sh", "-c", ". ./helper.sh", "sh", "{feature:mode}", "{feature:loss}", "{seed}"])";
constexpr const char* kHelper =
    "echo \"step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\"\n"
    "echo \"step:4/4 val_loss:3.2 train_time:2000ms step_avg:500.00ms\"\n";

std::size_t stored_runs(const CommandLine& shell) {
  return json_of(shell.run({"list", "runs", "--json"})).at("tables").at("runs").size();
}

TEST(ExternalSources, AChangedHelperIsMeasuredAgain) {
  const CommandLine shell("external_sources");
  shell.write("helper.sh", kHelper);
  shell.write("suite.json", external_command_suite_of(kHiddenTrainer));
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0);
  EXPECT_EQ(stored_runs(shell), 6U);
  shell.write("output.txt", "data of the trainer\n");
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0);
  EXPECT_EQ(stored_runs(shell), 6U) << "nothing has changed";
  shell.write("helper.sh", std::string(kHelper) + "# changed\n");
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0);
  EXPECT_EQ(stored_runs(shell), 12U);
}

TEST(ExternalSources, UnknownSourcesAreNeverReused) {
  const CommandLine shell("external_unknown"), elsewhere("external_elsewhere");
  elsewhere.write("helper.sh", kHelper);
  const std::string command = R"(["sh", "-c", ". )" + (elsewhere.work() / "helper.sh").string() +
                              R"(", "sh", "{feature:mode}", "{feature:loss}", "{seed}"])";
  shell.write("suite.json", external_command_suite_of(command));
  const ProgramResult result = shell.run({"run", "suite.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE((result.out + result.err).find("its runs are never reused"), std::string::npos) << result.out << result.err;
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0);
  EXPECT_EQ(stored_runs(shell), 12U);
}

TEST(ExternalSources, AChangeDuringTheSuiteEndsIt) {
  const CommandLine shell("external_changing");
  shell.write("helper.sh", std::string(kHelper) + "echo '# changed' >> helper.sh\n");
  shell.write("suite.json", external_command_suite_of(kHiddenTrainer));
  const ProgramResult result = shell.run({"run", "suite.json"});
  EXPECT_EQ(result.exit_code, 4) << result.out << result.err;
  EXPECT_NE(result.err.find("helper.sh changed after the suite began"), std::string::npos) << result.err;
}

/// Prints the loss of a module that is not in its folder.
constexpr const char* kImportingTrainer =
    "import helper\n"
    "print('step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms')\n"
    "print(f'step:4/4 val_loss:{helper.loss} train_time:2000ms step_avg:500.00ms')\n";

/// One cell and two seeds of a trainer that finds its helper in `lib`, another folder.
std::string importing_suite(const std::string& command, const std::filesystem::path& lib) {
  return R"({"name": "one", "design": "cells", "cells": [{"label": "it"}], "seeds": [1, 2], "engine": {"command": )" +
         command + R"(, "env": {"PYTHONPATH": ")" + lib.string() + R"(", "SEED": "{seed}"}}})";
}

TEST(ExternalImports, AChangedModuleFromElsewhereIsMeasuredAgain) {
  for (const char* command : {R"(["python3", "train.py"])", R"(["sh", "-c", "python3 -m train"])"}) {
    const CommandLine shell("external_imports"), elsewhere("external_lib");
    elsewhere.write("helper.py", "loss = 3.5\n");
    shell.write("train.py", kImportingTrainer);
    shell.write("suite.json", importing_suite(command, elsewhere.work()));
    ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0) << command;
    EXPECT_EQ(stored_runs(shell), 2U);
    ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0);
    EXPECT_EQ(stored_runs(shell), 2U) << "nothing has changed";
    elsewhere.write("helper.py", "loss = 3.25\n");
    const ProgramResult result = shell.run({"run", "suite.json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE((result.out + result.err)
                  .find("2 finished runs loaded " + (elsewhere.work() / "helper.py").string() +
                        ", which has changed since, so they are measured again"),
              std::string::npos)
        << result.out << result.err;
    EXPECT_EQ(stored_runs(shell), 4U);
    ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0);
    EXPECT_EQ(stored_runs(shell), 4U) << "the new runs are as the module is now";
    const std::string shown = shell.run({"show", "4", "--json"}).out;
    EXPECT_NE(shown.find((elsewhere.work() / "helper.py").string()), std::string::npos) << shown;
  }
}

TEST(ExternalImports, ChangedSettingsOfTheFolderAreMeasuredAgain) {
  const CommandLine shell("external_settings"), elsewhere("external_settings_lib");
  elsewhere.write("helper.py",
                  "import json\nloss = json.load(open('config.json'))\nopen('last.json', 'w').write('1')\n");
  shell.write("config.json", "3.5");
  shell.write("train.py", kImportingTrainer);
  shell.write("suite.json", importing_suite(R"(["python3", "train.py"])", elsewhere.work()));
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0);
  shell.write("last.json", "2");
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0);
  EXPECT_EQ(stored_runs(shell), 2U) << "an output is no setting";
  shell.write("config.json", "3.25");
  const ProgramResult result = shell.run({"run", "suite.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE((result.out + result.err).find("config.json"), std::string::npos) << result.out << result.err;
  EXPECT_EQ(stored_runs(shell), 4U);
}

TEST(ExternalImports, AModuleThatIsGoneIsSaid) {
  const CommandLine shell("external_imports_gone"), elsewhere("external_lib_gone");
  elsewhere.write("helper.py", "loss = 3.5\n");
  shell.write("train.py", kImportingTrainer);
  shell.write("suite.json", importing_suite(R"(["python3", "train.py"])", elsewhere.work()));
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet", "--seeds", "1"}).exit_code, 0);
  std::filesystem::remove(elsewhere.work() / "helper.py");
  const ProgramResult result = shell.run({"run", "suite.json", "--seeds", "1"});
  EXPECT_EQ(result.exit_code, 4) << "it cannot be imported";
  EXPECT_NE((result.out + result.err).find("helper.py, which is gone, so it is measured again"), std::string::npos)
      << result.out << result.err;
}

TEST(ExternalImports, ASitecustomizeOfTheUserWorksAndCounts) {
  const CommandLine shell("external_imports_site"), elsewhere("external_lib_site");
  elsewhere.write("helper.py", "import sys\nloss = sys.loss_of_the_site\n");
  elsewhere.write("sitecustomize.py", "import sys\nsys.loss_of_the_site = 3.5\n");
  shell.write("train.py", kImportingTrainer);
  shell.write("suite.json", importing_suite(R"(["python3", "train.py"])", elsewhere.work()));
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0) << "the module of the user was imported";
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0);
  EXPECT_EQ(stored_runs(shell), 2U) << "nothing has changed";
  elsewhere.write("sitecustomize.py", "import sys\nsys.loss_of_the_site = 3.25\n");
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 0);
  EXPECT_EQ(stored_runs(shell), 4U);
}

TEST(ExternalImports, ADivergedTrainerHasToldWhatItLoaded) {
  const CommandLine shell("external_imports_nan"), elsewhere("external_lib_nan");
  elsewhere.write("helper.py", "loss = 'nan'\n");
  shell.write("train.py", std::string(kImportingTrainer) + "import time\ntime.sleep(60)\n");
  shell.write("suite.json", importing_suite(R"(["python3", "train.py"])", elsewhere.work()));
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet", "--seeds", "1"}).exit_code, 0) << "it is ended by a signal";
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet", "--seeds", "1"}).exit_code, 0);
  EXPECT_EQ(stored_runs(shell), 1U) << "nothing has changed";
  elsewhere.write("helper.py", "loss = 'inf'\n");
  ASSERT_EQ(shell.run({"run", "suite.json", "--quiet", "--seeds", "1"}).exit_code, 0);
  EXPECT_EQ(stored_runs(shell), 2U);
}

TEST(ExternalLogFile, ItsLinesCountAndStandardOutputIsForPeople) {
  const CommandLine shell("external_log");
  shell.write("train.sh",
              "mkdir -p logs; log=$1\n"
              "echo 'step:4/4 val_loss:9.9 train_time:1ms step_avg:1.00ms'\n"
              "echo 'step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms' > $log\n"
              "for i in 1 2 3; do echo \"step:$i/4 train_time:${i}000ms step_avg:1000.00ms\" >> $log; done\n"
              "printf 'step:4/4 val_loss:3.%s train_time:4000ms step_avg:1000.00ms' $2 >> $log\n");
  shell.write("suite.json", R"({"name": "logged", "design": "a_a", "seeds": [1, 2], "engine": {
      "command": ["sh", "train.sh", "logs/{seed}.txt", "{seed}"], "log_file": "logs/{seed}.txt"}})");
  const ProgramResult result = shell.run({"run", "suite.json", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const core::Json rows = json_of(result).at("tables").at("rows");
  EXPECT_NEAR(rows.at(0).at("val_loss").at("mean").get<double>(), 3.15, 1e-9) << "3.1 and 3.2";
  EXPECT_NEAR(rows.at(1).at("val_loss").at("mean").get<double>(), 3.15, 1e-9)
      << "the log of the run before is no log of this one";
  EXPECT_EQ(rows.at(0).at("step_ms").at("mean"), 1000.0);
}

TEST(ExternalLogFile, AMissingOrAnOldOneIsACrashWithAReason) {
  for (const bool is_there : {false, true}) {
    const CommandLine shell("external_nolog");
    shell.write("suite.json", single(R"("command": ["sh", "-c", "echo bye"], "log_file": "log.txt")"));
    if (is_there) shell.write("log.txt", "step:4/4 val_loss:3.1 train_time:1ms step_avg:1.00ms\n");
    EXPECT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 4);
    const std::string shown = shell.run({"show", "1", "--json"}).out;
    EXPECT_NE(shown.find("crashed"), std::string::npos) << shown;
    EXPECT_NE(
        shown.find(is_there ? "it wrote nothing into its log file log.txt in " : "there is no log file log.txt in "),
        std::string::npos)
        << shown;
    EXPECT_NE(shown.find("its last words: bye"), std::string::npos) << shown;
  }
}

TEST(ExternalLogFile, LinesAppearWhileTheTrainerRuns) {
  const CommandLine shell("external_live");
  shell.write("train.sh",
              "echo 'step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms' > log.txt\n"
              "i=0; while [ ! -e seen ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done\n"
              "[ -e seen ] || exit 9\n"
              "echo 'step:4/4 val_loss:3.5 train_time:4000ms step_avg:1000.00ms' >> log.txt\n");
  shell.write(
      "look.sh",
      "i=0; while [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1))\n"
      "python3 -c \"import sqlite3; print(sqlite3.connect('../results.db').execute('SELECT value FROM samples WHERE "
      "metric = ?', ('val/loss',)).fetchall())\" 2>/dev/null | grep -q 10.8 && { touch seen; exit; }; done\n");
  shell.write("suite.json", single(R"("command": ["sh", "train.sh"], "log_file": "log.txt")"));
  const std::string look = "cd " + quoted(shell.work().string()) + " && sh look.sh &";
  ASSERT_EQ(std::system(look.c_str()), 0);
  const ProgramResult result = shell.run({"run", "suite.json", "--json", "--quiet"});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_TRUE(std::filesystem::exists(shell.work() / "seen"))
      << "the first line was in the store before the last one was written";
}

TEST(ExternalOutput, GarbageLongLinesAndCarriageReturnsDoNoHarm) {
  const CommandLine shell("external_garbage");
  shell.write("train.py", R"(import sys
out = sys.stdout.buffer
out.write(b'\xff\xfe\x00\x1b[31m step:\n' + b'x' * 3000000 + b'\nstep:99999999999999999999/4 val_loss:1\n')
sys.stderr.buffer.write(b'\xc3(\x00' * 100000)
out.write(b'peak memory allocated: 1e300 MiB\nstep:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\r\n')
out.write(b'step:4/4 val_loss:abc train_time:-1ms step_avg:xms\nstep:4/4 val_loss:3.5 train_time:4000ms step_avg:1000.00ms')
)");
  shell.write("suite.json", single(R"("command": ["python3", "train.py"])"));
  const ProgramResult result = shell.run({"run", "suite.json", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(json_of(result).at("tables").at("rows").at(0).at("val_loss").at("mean"), 3.5);
  EXPECT_EQ(result.out.find("e300"), std::string::npos);
}

TEST(ExternalOutput, GarbageAsLastWordsIsStillASentence) {
  const CommandLine shell("external_last");
  shell.write("suite.json", single(R"("command": ["printf", "\\377\\033[2J\\n"])"));
  EXPECT_EQ(shell.run({"run", "suite.json", "--quiet"}).exit_code, 4);
  EXPECT_EQ(only_run(shell).at("outcome"), "crashed");
  EXPECT_EQ(shell.run({"show", "1"}).exit_code, 0);
}

TEST(ExternalEnvironment, IsWhatTheSuiteSays) {
  const CommandLine shell("external_environment");
  shell.write("train.sh",
              "env | cut -d= -f1 | grep -vE '^(_|PWD|OLDPWD|SHLVL)$' | sort | tr '\\n' ' ' > names; ls /proc/self/fd | "
              "tr '\\n' ' ' > files\n"
              "printf '%s' \"$VALUE\" > value; printf '%s' \"$1\" > word\n"
              "echo 'step:4/4 val_loss:3.5 train_time:4000ms step_avg:1000.00ms'\n");
  shell.write("suite.json",
              single(R"("command": ["/bin/sh", "train.sh", "{feature:x}"], "inherit": ["PATH", "NOT_SET", "MINE"],
      "env": {"VALUE": "{feature:x}"}, "features": {"x": {"values": ["no", "$(touch hacked)'\"; touch hacked #{seed}"]}})"));
  const ProgramResult result = shell.run({"run", "suite.json", "--quiet"}, "MINE=1 OTHER=2");
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(read_text(shell.work() / "names"), "MINE NANOBENCH_TRAINER PATH PYTHONPATH PYTHONUNBUFFERED VALUE ")
      << "and what a shell sets itself";
  EXPECT_EQ(read_text(shell.work() / "files"), "0 1 2 3 ") << "3 is the folder that ls reads";
  for (const char* name : {"value", "word"})
    EXPECT_EQ(read_text(shell.work() / name), "$(touch hacked)'\"; touch hacked #{seed}") << name;
  EXPECT_FALSE(std::filesystem::exists(shell.work() / "hacked"));
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
  shell.write("train.sh",
              std::string("if [ ! -e fast ]; then sleep 60 & echo $$ $! >>pids; wait; fi\n") + kExternalCommandTrainer);
  shell.write("suite.json", external_command_suite_of(kCommand));
  for (int i = 0; i < 20 && pids_in(shell.work() / "pids").size() < 4; ++i)
    shell.run({"run", "suite.json", "--quiet"}, killed_after(0.5 + 0.1 * i));
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

/// A worker in a session of its own, as launchers make them; `end` is how the trainer goes on.
std::string launcher(const std::string& end) {
  return "setsid sh -c 'echo $$ >>pids; sleep 60' & echo $$ >>pids; sleep 0.3\n"
         "echo 'step:4/4 val_loss:3.5 train_time:4000ms step_avg:1000.00ms'\n" +
         end;
}

TEST(ExternalProcesses, NothingThatATrainerStartedOutlivesIt) {
  struct Case {
    const char* end;
    const char* prefix;  ///< of the command
    int exit_code;
  };
  for (const Case& item : {Case{"exit 0", "env", 0},
                           {"exit 3", "env", 4},
                           {"kill -KILL $PPID; sleep 60", "env", 4},
                           {"sleep 60", "env", 4},
                           {"sleep 60", "timeout -s KILL 1", 137},
                           {"sleep 60", "timeout --preserve-status -s INT 1", 130}}) {
    const CommandLine shell("external_strays");
    shell.write("train.sh", launcher(item.end));
    std::string suite = single(R"("command": ["sh", "train.sh"])");
    suite.replace(suite.find("20"), 2, "0.8");
    shell.write("suite.json", suite);
    const ProgramResult result = shell.run({"run", "suite.json", "--quiet"}, item.prefix);
    EXPECT_EQ(result.exit_code, item.exit_code) << item.end << result.err;
    const std::vector<pid_t> pids = pids_in(shell.work() / "pids");
    ASSERT_EQ(pids.size(), 2U);
    for (const pid_t pid : pids) {
      for (int i = 0; i < 200 && !is_gone(pid); ++i) usleep(20'000);
      EXPECT_TRUE(is_gone(pid)) << item.end << ": process " << pid << " outlived the run";
    }
  }
}

}  // namespace
}  // namespace nanobench::tools
