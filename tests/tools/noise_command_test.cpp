// `nanobench calibrate`, `gate --calibrated` and `run --until-decided` from the outside.
#include <map>
#include <string>

#include "tests/tools/gate_command_line.h"

namespace nanobench::tools {
namespace {

TEST(CalibrateCommand, ShowsTheNoiseThatWasPlantedAndGivesTheGateItsMargins) {
  const CommandLine shell("calibrate");
  shell.write("g.json", gate_suite(R"({"step_cv": 0.05})"));
  shell.write("base.json", gate_suite(R"({"step_cv": 0.05})"));
  const std::vector<std::string> gate = {"gate",         "g.json", "--baseline-suite", "base.json",
                                         "--calibrated", "--json", "--quiet"};
  const ProgramResult too_early = shell.run(gate);
  EXPECT_EQ(too_early.exit_code, 2);
  EXPECT_NE(too_early.err.find("nanobench calibrate g.json --scale smoke --threads 1"), std::string::npos)
      << too_early.err;

  const ProgramResult result = shell.run({"calibrate", "g.json", "--pairs", "12", "--json", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json report = json_of(result);
  EXPECT_EQ(report.at("kind"), "calibration");
  EXPECT_EQ(report.at("facts").at("pairs"), 12);
  // The median of four timed steps with 5 % each.
  EXPECT_GT(report.at("facts").at("time_cv").get<double>(), 0.01);
  EXPECT_LT(report.at("facts").at("time_cv").get<double>(), 0.06);
  EXPECT_EQ(shell.run({"calibrate", "--stored", "--json"}).out, result.out);

  const core::Json gated = json_of(shell.run(gate));
  for (const core::Json& row : gated.at("tables").at("checks")) {
    if (row.at("metric") == "step time") {
      EXPECT_GT(row.at("margin").get<double>(), 0.02) << "wider than the usual 0.2 %";
    }
  }
}

TEST(CalibrateCommand, AnotherNumberOfThreadsIsAnotherNoise) {
  const CommandLine shell("calibrate_threads");
  shell.write("g.json", gate_suite());
  ASSERT_EQ(shell.run({"calibrate", "g.json", "--pairs", "3", "--threads", "2", "--quiet"}).exit_code, 0);
  const std::vector<std::string> gate = {"gate",         "g.json",   "--baseline-suite", "g.json",
                                         "--calibrated", "--margin", "time=0.01",        "--quiet"};
  expect_usage_error(shell.run(gate), "no calibration of the engine mock at scale smoke with 1 thread");
  ASSERT_EQ(shell.run({"calibrate", "g.json", "--pairs", "3", "--quiet"}).exit_code, 0);
  const ProgramResult result = shell.run(gate);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("Margins: from the calibration in plan "), std::string::npos) << result.out;
}

TEST(CalibrateCommand, BadInputIsOneSentence) {
  const CommandLine shell("calibrate_bad");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"calibrate", "--pairs", "1"}, {"calibrate", "--power", "2"}, {"calibrate", "no_such_suite"}}) {
    const ProgramResult result = shell.run(words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_EQ(count_of(result.err, "\n"), 1) << result.err;
  }
}

std::string leave_one_out(const std::string& cells, const std::string& step_cv = "0.002") {
  return R"({"name": "loo", "design": "leave_one_out", "base": {"record": "record17"},
             "features": ["attention_skip", "rotary"], "scale": "smoke", "seeds": [1, 2], "threads": 1,
             "engine": {"mock": {"steps": 60, "val_every": 5, "loss_sigma": 0.0, "step_cv": )" +
         step_cv + R"(, "cells": )" + cells + "}}}";
}

TEST(UntilDecided, StopsWhenEveryChangeHasItsVerdict) {
  const CommandLine shell("until");
  shell.write("s.json",
              leave_one_out(R"({"without attention_skip": {"step_ms": 15}, "without rotary": {"step_ms": 5}})"));
  const ProgramResult result =
      shell.run({"run", "s.json", "--until-decided", "--max-seeds", "30", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json report = json_of(result);
  std::map<std::string, std::string> verdicts;
  for (const core::Json& row : report.at("tables").at("effects"))
    verdicts[row.at("effect").get<std::string>()] = row.at("verdict").get<std::string>();
  EXPECT_EQ(verdicts, (std::map<std::string, std::string>{{"attention_skip", "keep"}, {"rotary", "drop"}}));
  const auto n = report.at("tables").at("effects").at(0).at("loss").at("n").get<int>();
  EXPECT_LT(n, 30) << "large effects need few seeds";
  EXPECT_GE(n, 2);
  EXPECT_EQ(json_of(shell.run({"list", "runs", "--json"})).at("tables").at("runs").size(),
            static_cast<std::size_t>(3 * n))
      << "each look reuses the runs before";
  EXPECT_EQ(json_of(shell.run({"report", "--json"})).at("tables").at("effects"), report.at("tables").at("effects"))
      << "the stored plan knows which look it is";
}

/// What the seeds left can hardly decide gets none of them.
TEST(UntilDecided, StopsAtTheMostSeedsAndEarlierWhereNothingCanCome) {
  const CommandLine shell("until_most");
  shell.write("s.json", leave_one_out(R"({"without attention_skip": {"step_ms": 10.7},
                                          "without rotary": {"step_ms": 9.7}})",
                                      /*step_cv=*/"0.3"));
  const ProgramResult result = shell.run({"run", "s.json", "--until-decided", "--max-seeds", "4", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json report = json_of(result);
  ASSERT_EQ(report.at("tables").at("effects").size(), 2U);
  for (const core::Json& row : report.at("tables").at("effects")) EXPECT_EQ(row.at("verdict"), "inconclusive");
  std::map<std::string, int> completed;
  for (const core::Json& row : report.at("tables").at("rows"))
    completed[row.at("row").get<std::string>()] = row.at("n").at("completed").get<int>();
  EXPECT_EQ(completed,
            (std::map<std::string, int>{{"record17", 4}, {"without attention_skip", 4}, {"without rotary", 3}}));
}

TEST(UntilDecided, NeedsThreeSeeds) {
  const CommandLine shell("until_two");
  shell.write("s.json", leave_one_out("{}"));
  EXPECT_EQ(shell.run({"run", "s.json", "--until-decided", "--max-seeds", "2", "--quiet"}).exit_code, core::kExitUsage);
}

TEST(UntilDecided, DoesNotWaitForWhatNoSeedCanDecide) {
  const CommandLine shell("until_code");
  shell.write("s.json", leave_one_out(R"({"without attention_skip": {"step_ms": 15, "no_kernel_for": "none"},
                                          "without rotary": {"step_ms": 30, "no_kernel_for": "blocks"},
                                          "record17": {"no_kernel_for": "none"}})"));
  const ProgramResult result = shell.run({"run", "s.json", "--until-decided", "--max-seeds", "30", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json report = json_of(result);
  for (const core::Json& row : report.at("tables").at("effects")) {
    EXPECT_EQ(row.at("verdict"), row.at("effect") == "rotary" ? "inconclusive" : "keep");
    EXPECT_LT(row.at("loss").at("n"), 30);
  }
  EXPECT_NE(result.err.find("1 of 2 decided, 1 cannot be"), std::string::npos) << result.err;
  EXPECT_NE(report.at("warnings").dump().find("(without rotary) come from different code"), std::string::npos)
      << report.at("warnings").dump();
}

TEST(UntilDecided, NeedsAChangeToDecideOn) {
  const CommandLine shell("until_bad");
  shell.write("a.json", R"({"name": "a", "design": "a_a", "base": {"record": "record17"}, "scale": "smoke",
                            "engine": "mock"})");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", "a.json", "--until-decided"},
                                             {"run", "a.json", "--max-seeds", "5"},
                                             {"run", "a.json", "--until-decided", "--max-seeds", "1"}}) {
    const ProgramResult result = shell.run(words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
  }
}

}  // namespace
}  // namespace nanobench::tools
