// How instructions are counted: what is started, what is run, what is read. And the gate with a stand-in for valgrind.
#include "tools/cli/instructions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "tests/tools/gate_command_line.h"

namespace nanobench::tools {
namespace {

TEST(Instructions, ReadsTheTotalOfOldAndNewVersions) {
  EXPECT_EQ(instructions_in("noise\n==22585== \n==22585== I   refs:      1,547,456,104\n"), 1547456104.0);
  EXPECT_EQ(instructions_in("==7== I refs:        12\n"), 12.0);
  EXPECT_EQ(instructions_in("==7== I refs: 1\n==8== I refs: 2\n"), 2.0) << "the last process is the engine";
  for (const char* text : {"", "==7== I   refs:", "==7== I refs: many\n", "I refs: 12\n", "==7== D refs: 12\n",
                           "==7== I refs: 99,999,999,999,999,999,999,999\n"})
    EXPECT_FALSE(instructions_in(text)) << text;
}

TEST(Instructions, TheEngineMustNotStartItselfAgain) {
  const std::vector<std::string> command = counting_command({"/bin/engine", "argument"});
  const auto has_prefix = [&](const std::string& prefix) {
    return std::any_of(command.begin(), command.end(),
                       [&](const std::string& word) { return word.rfind(prefix, 0) == 0; });
  };
  EXPECT_EQ(command.front(), "env");
  EXPECT_TRUE(has_prefix("GOMP_SPINCOUNT="));
  EXPECT_TRUE(has_prefix("GLIBC_TUNABLES="));
  EXPECT_TRUE(has_prefix("--tool=cachegrind"));
  EXPECT_TRUE(has_prefix("--cache-sim=no"));
  EXPECT_EQ(*(command.end() - 2), "/bin/engine");
  EXPECT_EQ(command.back(), "argument");
}

TEST(Instructions, AreOfTwoStepsOfTheFirstCellWithOneThread) {
  suites::Plan plan;
  for (const std::uint64_t seed : {5, 3, 1}) {
    suites::PlannedRun& run = plan.runs.emplace_back();
    run.cell = seed == 1 ? 1 : 0;
    run.seed = run.spec.seed = seed;
    run.spec.threads = 8;
  }
  const core::RunSpec spec = counting_spec(plan);
  EXPECT_EQ(spec.seed, 3U) << "seed 1 is of another cell";
  EXPECT_EQ(spec.threads, 1);
  EXPECT_EQ(spec.config.run.stop_after, 2);
  plan.runs[1].spec.config.distributed.processes = 2;
  EXPECT_THROW(counting_spec(plan), core::Error);
  EXPECT_THROW(counting_spec({}), core::Error);
}

/// Gates two copies of the pretending engine; `valgrind` is a script that stands in for the real one.
struct Counted {
  explicit Counted(const std::string& name) : shell(name) {
    shell.write("g.json", R"({"name": "g", "design": "history", "records": ["record12"], "scale": "smoke",
                              "seeds": [1, 2], "threads": 1})");
    for (const char* engine : {"old", "new"}) {
      std::filesystem::copy_file(std::string(NANOBENCH_BIN_DIR) + "/nanobench_mock_engine", shell.work() / engine);
      std::ofstream(shell.work() / engine, std::ios::app) << engine;  // other bytes: another version
    }
    std::filesystem::create_directories(shell.work() / "bin");
  }
  ProgramResult gate(const std::string& valgrind) const {
    const std::filesystem::path program = shell.work() / "bin" / "valgrind";
    std::filesystem::remove(program);
    shell.write("bin/valgrind", "#!/bin/sh\n" + valgrind);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return shell.run({"gate", "g.json", "--baseline-engine", (shell.work() / "old").string(), "--only", "cost",
                      "--instructions", "--json", "--quiet"},
                     "NANOBENCH_ENGINE=" + quoted((shell.work() / "new").string()) +
                         " PATH=" + quoted((shell.work() / "bin").string() + ":" + std::getenv("PATH")));
  }
  CommandLine shell;
};

/// Counts 1,000,000 for the old engine and `count` for the new one.
std::string counting_script(const std::string& count) {
  return "[ \"$1\" = --version ] && exit 0\n[ -n \"$GOMP_SPINCOUNT$GLIBC_TUNABLES\" ] || exit 9\n"
         "case \"$*\" in */old*) n=1,000,000;; *) n=" +
         count + ";; esac\necho \"==7== I   refs:      $n\" >&2\n";
}

TEST(GateInstructions, AreACheckWithAMarginOfItsOwn) {
  const Counted counted("gate_instructions");
  const ProgramResult same = counted.gate(counting_script("1,004,000"));
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  const ProgramResult more = counted.gate(counting_script("1,006,000"));
  EXPECT_EQ(more.exit_code, 1) << more.out << more.err;
  EXPECT_EQ(metrics_with(json_of(more), "regressed"), std::set<std::string>{"instructions"});
}

TEST(GateInstructions, ASideThatCannotBeCountedIsMissingEvidence) {
  const Counted counted("gate_instructions_fail");
  const ProgramResult failed = counted.gate(
      "[ \"$1\" = --version ] && exit 0\ncase \"$*\" in */old*) echo '==7== I refs: 10';; *) echo bad; exit 3;; "
      "esac\n");
  EXPECT_EQ(failed.exit_code, 4) << failed.out << failed.err;
  EXPECT_NE(failed.out.find("candidate: the run under valgrind ended with exit code 3: bad"), std::string::npos)
      << failed.out;
  const ProgramResult absent = counted.gate("exit 127\n");
  EXPECT_NE(absent.out.find("valgrind is not installed"), std::string::npos) << absent.out;
}

}  // namespace
}  // namespace nanobench::tools
