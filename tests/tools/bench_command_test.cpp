// `bench` measures small scripts. No test asserts a time: metrics, counts, orders and exit codes are what is compared.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/base/json.h"
#include "results/store.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

using core::Json;

ProgramResult bench(const CommandLine& shell, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "bench");
  return shell.run(arguments);
}

Json bench_json(const CommandLine& shell, std::vector<std::string> arguments, int code = 0) {
  arguments.insert(arguments.begin(), {"--json", "--quiet"});
  const ProgramResult result = bench(shell, arguments);
  EXPECT_EQ(result.exit_code, code) << result.err << result.out;
  return result.out.empty() ? Json() : json_of(result);
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::istringstream text(read_text(file));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// Whether this process is gone, or will be soon.
bool ends(long pid) {
  const auto is_there = [&] {
    const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
    return !stat.empty() && stat.find(") Z") == std::string::npos;
  };
  for (int i = 0; i < 2000 && is_there(); ++i) usleep(10'000);
  return !is_there();
}

TEST(BenchCommand, MeasuresStoresAndReports) {
  const CommandLine shell("bench_stores");
  const Json document = bench_json(shell, {"--runs", "3", "true", "sh -c 'exit 0'"});
  EXPECT_EQ(document.at("kind"), "bench");
  const Json rows = document.at("tables").at("commands");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.at(0).at("command"), "true");
  EXPECT_EQ(rows.at(0).at("wall_ms").at("n"), 3);
  EXPECT_GT(rows.at(0).at("wall_ms").at("mean").get<double>(), 0.0);
  EXPECT_GT(rows.at(0).at("peak_bytes").at("mean").get<double>(), 0.0);
  EXPECT_EQ(rows.at(1).at("n").at("completed"), 3);
  EXPECT_EQ(document.at("tables").at("contrasts").size(), 1U);
  EXPECT_EQ(document.at("tables").at("runs").size(), 6U);
  const Json report = json_of(shell.run({"report", "--json"}));
  EXPECT_EQ(report.at("tables"), document.at("tables")) << "report prints what bench printed";
  EXPECT_EQ(json_of(shell.run({"list", "runs", "--json"})).at("tables").at("runs").size(), 6U);
  EXPECT_EQ(shell.run({"show", "1"}).exit_code, 0);
  EXPECT_EQ(shell.run({"report", "--format", "html", "--out", "page.html"}).exit_code, 0);
  EXPECT_EQ(shell.run({"compare", "true", "sh -c 'exit 0'"}).exit_code, 0);
  EXPECT_EQ(json_of(shell.run({"export", "--format", "json"})).at("runs").size(), 6U);
  const ProgramResult check = shell.run({"db", "check", shell.database().string()});
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
}

TEST(BenchCommand, WordsAfterDashesAreOneCommand) {
  const CommandLine shell("bench_words");
  const Json document = bench_json(
      shell, {"--runs", "1", "--metric", "n=n:([0-9]+)", "--", "sh", "-c", "echo n:$#", "x", "--json", "a b"});
  ASSERT_EQ(document.at("tables").at("commands").size(), 1U);
  EXPECT_EQ(document.at("tables").at("metrics").at(0).at("mean").at("mean"), 2.0);
}

TEST(BenchCommand, RoundsInterleaveInTheOrderOfTheSeed) {
  const CommandLine shell("bench_order");
  shell.write("say.sh", "echo $1 >>order\n");
  const std::vector<std::string> arguments = {"--runs", "8", "sh say.sh a", "sh say.sh b", "sh say.sh c"};
  bench_json(shell, arguments);
  const std::vector<std::string> order = lines_of(shell.work() / "order");
  ASSERT_EQ(order.size(), 24U);
  std::set<std::string> rounds;
  for (std::size_t i = 0; i < order.size(); i += 3) {
    const std::set<std::string> round(order.begin() + static_cast<std::ptrdiff_t>(i),
                                      order.begin() + static_cast<std::ptrdiff_t>(i + 3));
    EXPECT_EQ(round, (std::set<std::string>{"a", "b", "c"}));
    rounds.insert(order[i] + order[i + 1] + order[i + 2]);
  }
  EXPECT_GT(rounds.size(), 1U);
  std::filesystem::remove(shell.work() / "order");
  bench_json(shell, arguments);
  EXPECT_EQ(lines_of(shell.work() / "order"), order) << "the same seed, the same order";
  std::filesystem::remove(shell.work() / "order");
  std::vector<std::string> other = arguments;
  other.insert(other.begin(), {"--order-seed", "2"});
  bench_json(shell, other);
  EXPECT_NE(lines_of(shell.work() / "order"), order);
}

/// Each waits for the other's first and second word: one after the other they would wait forever.
constexpr const char* kTalk =
    "touch $1-a; while [ ! -e $2-a ]; do :; done; touch $1-b; while [ ! -e $2-b ]; do :; done; echo n:1\n";

TEST(BenchTurns, CommandsProgressTogether) {
  const CommandLine shell("bench_turns");
  shell.write("talk.sh", kTalk);
  const Json document =
      bench_json(shell, {"--runs", "3", "--turns=5ms", "--timeout", "60s", "--prepare", "rm -f x-a x-b y-a y-b",
                         "--metric", "n=n:([0-9]+)", "sh talk.sh x y", "sh talk.sh y x"});
  const Json rows = document.at("tables").at("commands");
  EXPECT_EQ(rows.at(0).at("n").at("completed"), 3);
  EXPECT_EQ(rows.at(1).at("n").at("completed"), 3);
  EXPECT_EQ(document.at("facts").at("turn_ms"), 5.0);
  for (const Json& run : document.at("tables").at("runs")) EXPECT_GE(run.at("turns").get<double>(), 1.0);
  EXPECT_NE(document.at("warnings").dump().find("includes its pauses"), std::string::npos) << document.at("warnings");
  EXPECT_EQ(json_of(shell.run({"report", "--json"})).at("tables"), document.at("tables"));
}

/// A command of a round looks at the other one while it runs itself.
TEST(BenchTurns, OneAtATimeRuns) {
  const CommandLine shell("bench_turns_one");
  shell.write("look.sh",
              "echo $$ >$1.pid; while [ ! -s $2.pid ]; do :; done\n"
              "read -r other <$2.pid; running=0; looks=0; i=0\n"
              "while [ $i -lt 3000 ]; do i=$((i + 1))\n"
              "  [ -e /proc/$other/stat ] && read -r line </proc/$other/stat || continue\n"
              "  state=${line##*) }; looks=$((looks + 1))\n"
              "  case $state in T*|Z*|X*) ;; *) running=$((running + 1)) ;; esac\n"
              "done; echo running:$running looks:$looks\n");
  const Json document = bench_json(
      shell, {"--runs", "1", "--turns=20ms", "--prepare", "rm -f x.pid y.pid", "--metric", "running=running:([0-9]+)",
              "--metric", "looks=looks:([0-9]+)", "sh look.sh x y", "sh look.sh y x"});
  double looks = 0.0;
  for (const Json& row : document.at("tables").at("metrics")) {
    const double mean = row.at("mean").at("mean").get<double>();
    if (row.at("metric") == "running") {
      EXPECT_EQ(mean, 0.0) << row;
    } else {
      looks += mean;
    }
  }
  EXPECT_GT(looks, 0.0) << "they were in memory at once";
}

TEST(BenchTurns, WhatRunsAroundThemIsOutsideOfTheTurns) {
  const CommandLine shell("bench_turns_hooks");
  shell.write("say.sh", "echo $1 >>order\n");
  bench_json(shell, {"--runs", "1", "--turns", "--prepare", "sh say.sh before", "--conclude", "sh say.sh after",
                     "--setup", "sh say.sh setup", "--cleanup", "sh say.sh cleanup", "sh say.sh run", "sh say.sh run"});
  EXPECT_EQ(lines_of(shell.work() / "order"),
            (std::vector<std::string>{"setup", "before", "before", "run", "run", "after", "after", "cleanup"}));
}

TEST(BenchTurns, AFailingCommandKeepsTheOthersSamples) {
  const CommandLine shell("bench_turns_fails");
  const Json document = bench_json(shell, {"--runs", "4", "--turns", "true", "sh -c 'exit 3'", "./no-such-program"}, 4);
  const Json rows = document.at("tables").at("commands");
  EXPECT_EQ(rows.at(0).at("n").at("completed"), 4);
  EXPECT_EQ(rows.at(1).at("n").at("failed"), 2);
  EXPECT_EQ(rows.at(2).at("n").at("failed"), 1);
  EXPECT_NE(document.at("warnings").dump().find("No command was paused"), std::string::npos) << document.at("warnings");
}

TEST(BenchTurns, CtrlCEndsWhatIsPaused) {
  const CommandLine shell("bench_turns_interrupt");
  // The child of the second command is seen to end; the first one interrupts once it is there.
  shell.write("wait.sh", "sleep 600 & echo $! >child.new; mv child.new child; wait\n");
  shell.write("stop.sh", "while [ ! -e child ]; do :; done; kill -INT $PPID; sleep 600\n");
  const ProgramResult result = bench(shell, {"--runs", "3", "--turns=5ms", "sh wait.sh", "sh stop.sh"});
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_EQ(result.out, "") << "nothing was completed";
  EXPECT_TRUE(ends(std::stol(read_text(shell.work() / "child"))));
}

TEST(BenchTurns, AKilledBenchLeavesNothingBehind) {
  const CommandLine shell("bench_turns_killed");
  shell.write("wait.sh", "sleep 600 & echo $! >child.new; mv child.new child; wait\n");
  shell.write("stop.sh", "while [ ! -e child ]; do :; done; echo $$ >own; kill -KILL $PPID; sleep 600\n");
  EXPECT_NE(bench(shell, {"--runs", "3", "--turns=5ms", "sh wait.sh", "sh stop.sh"}).exit_code, 0);
  EXPECT_TRUE(ends(std::stol(read_text(shell.work() / "child")))) << "it was paused";
  EXPECT_TRUE(ends(std::stol(read_text(shell.work() / "own"))));
}

TEST(BenchCommand, HooksRunAroundEachRun) {
  const CommandLine shell("bench_hooks");
  shell.write("say.sh", "echo $1 >>order\n");
  bench_json(shell, {"--runs", "2", "--warmup", "1", "--setup", "sh say.sh setup", "--prepare", "sh say.sh before-{n}",
                     "--conclude", "sh say.sh after", "--cleanup", "sh say.sh cleanup", "--param", "n=7",
                     "sh say.sh run-{n}"});
  const std::vector<std::string> expected = {"setup", "before-7", "run-7", "after", "before-7", "run-7",
                                             "after", "before-7", "run-7", "after", "cleanup"};
  EXPECT_EQ(lines_of(shell.work() / "order"), expected);
}

TEST(BenchCommand, ParametersGiveEveryCombination) {
  const CommandLine shell("bench_parameters");
  const Json document = bench_json(
      shell, {"--runs", "1", "--param", "n=1:3", "--param", "m=x,y", "--metric", "v=([0-9])", "echo {n} {m}"});
  const Json rows = document.at("tables").at("metrics");
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows.at(0).at("command"), "echo 1 x");
  EXPECT_EQ(rows.at(5).at("command"), "echo 3 y");
  EXPECT_EQ(rows.at(5).at("mean").at("mean"), 3.0);
}

TEST(BenchCommand, MetricsAreJudged) {
  const CommandLine shell("bench_metrics");
  // Values that depend on the number of the run alone, so that the statistics are known.
  shell.write("count.sh", "n=$(cat n$1 2>/dev/null || echo 0); n=$((n + 1)); echo $n >n$1; echo v=$(($2 + n % 2))\n");
  const Json document = bench_json(shell, {"--runs", "6", "--metric", "v[points]=v=([0-9]+)", "sh count.sh a 100",
                                           "sh count.sh b 200", "sh count.sh c 100"});
  const Json rows = document.at("tables").at("metrics");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows.at(0).at("mean").at("mean"), 100.5);
  EXPECT_EQ(rows.at(0).at("unit"), "points");
  EXPECT_TRUE(rows.at(0).at("change").is_null());
  EXPECT_EQ(rows.at(1).at("change").at("value"), 100.0);
  EXPECT_EQ(rows.at(1).at("verdict"), "higher");
  EXPECT_EQ(rows.at(2).at("change").at("value"), 0.0);
  EXPECT_EQ(rows.at(2).at("verdict"), "same");
}

TEST(BenchCommand, OneAndTwoRoundsGiveNoVerdict) {
  const CommandLine shell("bench_few");
  for (const char* runs : {"1", "2"}) {
    const Json row = bench_json(shell, {"--runs", runs, "true", "sleep 0.05"}).at("tables").at("contrasts").at(0);
    EXPECT_EQ(row.at("verdict").at("word"), "open") << runs;
    EXPECT_EQ(row.at("time_ratio").at("low").is_null(), true) << runs;
  }
}

struct FailureCase {
  const char* name;
  std::vector<std::string> arguments;
  const char* outcome;
  const char* words;
};

TEST(BenchCommand, AFailingCommandKeepsTheOthersSamples) {
  const std::vector<FailureCase> cases = {
      {"exit", {"sh -c 'echo oh dear >&2; exit 3'"}, "crashed", "exit code 3; its last words: oh dear"},
      {"signal", {"sh -c 'kill -SEGV $$'"}, "crashed", "SIGSEGV"},
      {"hang", {"sleep 60", "--timeout", "0.2s"}, "timed_out", "--timeout"},
      {"absent", {"./no-such-program"}, "unsupported", "cannot start ./no-such-program"},
      {"metric", {"echo nothing", "--metric", "n=n:([0-9]+)"}, "crashed", "no number for the metric n"},
      {"prepare", {"true", "--prepare", "true", "--prepare", "false"}, "crashed", "the prepare command false failed"}};
  for (const FailureCase& item : cases) {
    const CommandLine shell(std::string("bench_fails_") + item.name);
    std::vector<std::string> arguments = {"--runs", "4", "echo n:1"};
    arguments.insert(arguments.end(), item.arguments.begin(), item.arguments.end());
    const Json document = bench_json(shell, arguments, 4);
    const Json rows = document.at("tables").at("commands");
    EXPECT_EQ(rows.at(0).at("n").at("completed"), 4) << item.name;
    EXPECT_EQ(rows.at(1).at("n").at("completed"), 0) << item.name;
    EXPECT_LE(rows.at(1).at("n").at("failed"), 2) << item.name << ": it is given up";
    EXPECT_NE(document.at("warnings").dump().find(item.words), std::string::npos)
        << item.name << document.at("warnings");
    EXPECT_NE(document.at("tables").at("runs").dump().find(item.outcome), std::string::npos) << item.name;
  }
}

TEST(BenchCommand, AnExitCodeMayBeIgnored) {
  const CommandLine shell("bench_ignored");
  const Json document = bench_json(shell, {"--runs", "3", "--ignore-failure", "sh -c 'exit 3'"});
  EXPECT_EQ(document.at("tables").at("runs").at(0).at("exit_code"), 3);
  EXPECT_EQ(document.at("tables").at("runs").at(0).at("outcome"), "completed");
  bench_json(shell, {"--runs", "3", "--ignore-failure", "sh -c 'kill -KILL $$'"}, 4);
}

TEST(BenchCommand, OutputIsDiscardedUnlessAskedFor) {
  const CommandLine shell("bench_output");
  const ProgramResult silent = bench(shell, {"--runs", "1", "--quiet", "echo a-word-of-it"});
  EXPECT_EQ(silent.out.find("\na-word-of-it\n"), std::string::npos);
  const ProgramResult shown = bench(shell, {"--runs", "1", "--quiet", "--show-output", "echo a-word-of-it"});
  EXPECT_EQ(shown.out.find("a-word-of-it\n"), 0U) << shown.out;
  const ProgramResult large = bench(
      shell, {"--runs", "1", "--quiet", "--shell", "--metric", "n=n:([0-9]+)", "yes | head -c 50000000; echo n:4"});
  EXPECT_EQ(large.exit_code, 0) << large.err;
}

TEST(BenchCommand, InputAndShell) {
  const CommandLine shell("bench_input");
  shell.write("in.txt", "n:12\nn:13\n");
  EXPECT_EQ(bench_json(shell, {"--runs", "1", "--input", "in.txt", "--metric", "n=n:([0-9]+)", "cat"})
                .at("tables")
                .at("metrics")
                .at(0)
                .at("mean")
                .at("mean"),
            13.0);
  EXPECT_EQ(bench_json(shell, {"--runs", "1", "--shell", "--metric", "n=n:([0-9]+)", "cat in.txt | head -n 1"})
                .at("tables")
                .at("metrics")
                .at(0)
                .at("mean")
                .at("mean"),
            12.0);
}

TEST(BenchCommand, BadInputIsOneSentenceAndStoresNothing) {
  const CommandLine shell("bench_bad");
  const std::vector<std::vector<std::string>> cases = {{},
                                                       {"a | b"},
                                                       {"'a"},
                                                       {"--param", "n=1", "a"},
                                                       {"--param", "n", "a"},
                                                       {"--metric", "n", "a"},
                                                       {"--metric", "n=x", "a"},
                                                       {"--metric", "n=(a)", "--metric", "n=(b)", "a"},
                                                       {"--runs", "0", "a"},
                                                       {"--runs", "x", "a"},
                                                       {"--warmup", "-1", "a"},
                                                       {"--min-runs", "9", "--max-runs", "3", "a"},
                                                       {"--reference", "3", "a", "b"},
                                                       {"--margin", "0", "a"},
                                                       {"--margin", "1x", "a"},
                                                       {"--margin", "200%", "a"},
                                                       {"--timeout", "30", "a"},
                                                       {"--budget", "fast", "a"},
                                                       {"--name", "x", "--name", "y", "a"},
                                                       {"--prepare", "x", "--prepare", "y", "a"},
                                                       {"--prepare", "x > y", "a"},
                                                       {"--gate", "a"},
                                                       {"--baseline", "no-such-baseline", "a"},
                                                       {"--turns", "a"},
                                                       {"--turns=0.1ms", "a", "b"},
                                                       {"--turns=fast", "a", "b"},
                                                       {"--turns", "50ms", "a", "b"},
                                                       {"--export", "xml", "a"},
                                                       {"--out", "file.xyz", "a"},
                                                       {"--shell", "--", "a", "b"}};
  for (const std::vector<std::string>& arguments : cases) {
    const ProgramResult result = bench(shell, arguments);
    EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(arguments) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
  }
  const ProgramResult failed_setup = bench(shell, {"--setup", "false", "true"});
  EXPECT_EQ(failed_setup.exit_code, 2);
  EXPECT_NE(shell.run({"report"}).exit_code, 0) << "nothing was stored";
}

TEST(BenchCommand, NothingThatStartsIsBadInput) {
  const CommandLine shell("bench_absent");
  const ProgramResult result = bench(shell, {"./no-such-program"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("cannot start ./no-such-program"), std::string::npos) << result.err;
}

TEST(BenchCommand, ExportsAndFiles) {
  const CommandLine shell("bench_exports");
  const ProgramResult result = bench(shell, {"--runs", "3", "--out", "b.json", "true", "sh -c true"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("sh -c true"), std::string::npos) << "the table is printed too";
  EXPECT_EQ(core::read_json_file(shell.work() / "b.json").at("tables").at("runs").size(), 6U);
  EXPECT_EQ(bench(shell, {"--runs", "3", "--out", "b.csv", "--quiet", "true"}).out, "");
  EXPECT_NE(read_text(shell.work() / "b.csv").find("wall_ms"), std::string::npos);
  EXPECT_NE(bench(shell, {"--runs", "3", "--export", "md", "true"}).out.find("| command |"), std::string::npos);
}

/// A metric that interrupts the measurement at its fifth run shows what Ctrl-C keeps.
TEST(BenchCommand, CtrlCKeepsWhatIsMeasured) {
  const CommandLine shell("bench_interrupt");
  shell.write("run.sh", "echo x >>runs; if [ $(wc -l <runs) -ge 5 ]; then kill -INT $PPID; sleep 60; fi\n");
  const Json document =
      bench_json(shell, {"--runs", "50", "--cleanup", "sh -c 'sleep 0.5; touch cleaned'", "sh run.sh"}, 130);
  EXPECT_EQ(document.at("tables").at("commands").at(0).at("n").at("completed"), 4);
  EXPECT_EQ(document.at("tables").at("commands").at(0).at("n").at("planned"), 50);
  EXPECT_TRUE(std::filesystem::exists(shell.work() / "cleaned"));
  EXPECT_EQ(json_of(shell.run({"report", "--json"})).at("tables"), document.at("tables"));
}

TEST(BenchCommand, CtrlCBeforeAnythingStoresNothing) {
  const CommandLine shell("bench_interrupt_first");
  shell.write("run.sh", "kill -INT $PPID; sleep 60\n");
  const ProgramResult result = bench(shell, {"sh run.sh"});
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(shell.run({"report"}).exit_code, 0);
}

TEST(BenchCommand, TheGateHasTheGatesExitCodes) {
  const CommandLine shell("bench_gate");
  // A difference of a factor of ten and more is proved in any weather.
  EXPECT_EQ(bench(shell, {"--runs", "6", "--gate", "--margin", "5%", "true", "sleep 0.3"}).exit_code, 1);
  EXPECT_EQ(bench(shell, {"--runs", "6", "--gate", "--margin", "5%", "sleep 0.3", "true"}).exit_code, 0);
  EXPECT_EQ(bench(shell, {"--runs", "1", "--gate", "true", "sleep 0.01"}).exit_code, 3);
  EXPECT_EQ(bench(shell, {"--runs", "3", "--gate", "true", "false"}).exit_code, 4);
}

TEST(BenchCommand, ABaselineIsComparedByName) {
  const CommandLine shell("bench_baseline");
  ASSERT_EQ(bench(shell, {"--runs", "6", "--quiet", "--name", "it", "sleep 0.2"}).exit_code, 0);
  ASSERT_EQ(shell.run({"baseline", "save", "main", "--suite", "bench"}).exit_code, 0);
  const ProgramResult other =
      bench(shell, {"--runs", "6", "--baseline", "main", "--margin", "5%", "--name", "it", "true"});
  EXPECT_EQ(other.exit_code, 5) << "another command is not comparable: " << other.err << other.out;
  const ProgramResult same =
      bench(shell, {"--runs", "6", "--baseline", "main", "--margin", "100%", "--name", "it", "sleep 0.2"});
  EXPECT_EQ(same.exit_code, 0) << same.err << same.out;
}

}  // namespace
}  // namespace nanobench::tools
