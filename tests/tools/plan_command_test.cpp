// `nanobench plan` from the outside: with the mock engine, and with the mock engine in the place of our own.
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "tests/tools/refusals.h"

namespace nanobench::tools {
namespace {

constexpr const char* kPlanCommandSuite = R"({"name": "tiny", "design": "leave_one_out", "base": {"record": "record17"},
  "features": ["attention_skip", "rotary"], "scale": "smoke", "seeds": [1, 2, 3, 4],
  "engine": {"mock": {"loss_sigma": 0.01, "step_cv": 0, "step_ms": 12, "peak_bytes": 77000000}}})";
constexpr const char* kNative = R"({"name": "own", "design": "leave_one_out", "base": {"record": "record17"},
  "features": ["attention_skip", "rotary"], "scale": "smoke", "seeds": [1, 2]})";

core::Json plan(const CommandLine& shell, std::vector<std::string> arguments, const std::string& environment = "") {
  arguments.insert(arguments.begin(), "plan");
  arguments.insert(arguments.end(), {"--json", "--quiet"});
  const ProgramResult result = shell.run(arguments, environment);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return json_of(result);
}

/// The environment with an engine of its own that behaves as the mock engine.
std::string with_engine(const CommandLine& shell) {
  const std::filesystem::path script =
      shell.write("engine", "#!/bin/sh\nexec " + std::string(NANOBENCH_BIN_DIR) + "/nanobench mock-engine \"$@\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  return "NANOBENCH_ENGINE=" + quoted(script.string());
}

TEST(PlanCommand, BeforeAnythingIsStored) {
  const CommandLine shell("plan_empty");
  shell.write("tiny.json", kPlanCommandSuite);
  const core::Json report = plan(shell, {"tiny.json"});
  EXPECT_EQ(report.at("schema_version"), 2);
  EXPECT_EQ(report.at("kind"), "plan");
  EXPECT_EQ(report.at("headline").get<std::string>().rfind("3 cells x 4 seeds = 12 runs; 12 to run", 0), 0U);
  EXPECT_EQ(report.at("facts").at("to_run"), 12);
  EXPECT_EQ(report.at("facts").at("reused"), 0);
  EXPECT_EQ(report.at("facts").at("peak_bytes"), 77000000);
  ASSERT_EQ(report.at("tables").at("cells").size(), 3u);
  ASSERT_EQ(report.at("tables").at("effects").size(), 2u);
  EXPECT_TRUE(report.at("tables").at("effects").at(0).at("loss").is_null());
  EXPECT_TRUE(report.at("facts").at("loss_noise").is_null());
  EXPECT_NE(report.at("notes").dump().find("nanobench calibrate"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(shell.database())) << "a plan stores nothing";
  const ProgramResult table = shell.run({"plan", "tiny.json"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("interleaved"), std::string::npos) << table.out;
  EXPECT_EQ(table.out.find("nan "), std::string::npos);
}

TEST(PlanCommand, WhatItSaysIsWhatHappens) {
  const CommandLine shell("plan_true");
  shell.write("tiny.json", kPlanCommandSuite);
  ASSERT_EQ(shell.run({"run", "tiny.json", "--quiet", "--seeds", "2"}).exit_code, 0);
  const core::Json before = plan(shell, {"tiny.json"});
  EXPECT_EQ(before.at("facts").at("reused"), 6);
  EXPECT_EQ(before.at("facts").at("to_run"), 6);
  ASSERT_EQ(shell.run({"run", "tiny.json", "--quiet"}).exit_code, 0);
  const core::Json runs = json_of(shell.run({"list", "runs", "--json"})).at("tables").at("runs");
  EXPECT_EQ(runs.size(), 12u);
  const core::Json shown = json_of(shell.run({"report", "--json"})).at("tables").at("rows");
  for (std::size_t cell = 0; cell < 3; ++cell) {
    const core::Json& planned = before.at("tables").at("cells").at(cell);
    EXPECT_NEAR(planned.at("step_ms").get<double>(), shown.at(cell).at("step_ms").at("mean").get<double>(), 1e-9);
    EXPECT_EQ(planned.at("peak_bytes"), 77000000);
    EXPECT_EQ(planned.at("to_run"), 2);
  }
  const core::Json after = plan(shell, {"tiny.json"});
  EXPECT_EQ(after.at("facts").at("to_run"), 0);
  EXPECT_EQ(after.at("facts").at("seconds"), 0.0);
  EXPECT_EQ(plan(shell, {"tiny.json", "--fresh"}).at("facts").at("to_run"), 12);
}

TEST(PlanCommand, StoredNoiseTellsWhatCanBeFoundAndHowManySeeds) {
  const CommandLine shell("plan_detect");
  shell.write("tiny.json", kPlanCommandSuite);
  ASSERT_EQ(shell.run({"run", "tiny.json", "--quiet", "--seeds", "20"}).exit_code, 0);
  const core::Json found = plan(shell, {"tiny.json", "--seeds", "8"});
  const core::Json noise = found.at("facts").at("loss_noise");
  EXPECT_NEAR(noise.at("sd").get<double>(), 0.01, 0.004);
  EXPECT_EQ(noise.at("is_bound"), false) << "seed by seed, from the suite itself";
  const double effect = found.at("tables").at("effects").at(0).at("loss").at("effect").get<double>();
  EXPECT_GT(effect, noise.at("sd").get<double>());
  EXPECT_TRUE(found.at("tables").at("effects").at(0).at("time").is_null()) << "step_cv 0: no noise to test against";
  const core::Json needed = plan(shell, {"tiny.json", "--detect", std::to_string(effect * 1.001)});
  EXPECT_EQ(needed.at("facts").at("needed").at("seeds"), 8);
  EXPECT_EQ(needed.at("tables").at("effects").at(0).at("loss").at("seeds"), 8);
  EXPECT_GE(needed.at("facts").at("needed_among_all").at("seeds"), 8);
  const core::Json large = plan(shell, {"tiny.json", "--detect", "1"}).at("facts").at("needed_among_all");
  EXPECT_EQ(large.at("seeds"), 3) << "two seeds give no verdict";
  EXPECT_EQ(large.at("about"), 3);
  EXPECT_TRUE(plan(shell, {"tiny.json", "--seeds", "2"}).at("tables").at("effects").at(0).at("loss").is_null());
  const core::Json smaller = plan(shell, {"tiny.json", "--detect", std::to_string(effect / 2), "--power", "0.9"});
  EXPECT_GT(smaller.at("facts").at("needed").at("seeds"), 24);
  EXPECT_GT(smaller.at("facts").at("needed").at("runs"), 12);
}

TEST(PlanCommand, CalibratesOurEngineAndStoresNothing) {
  const CommandLine shell("plan_calibrate");
  shell.write("own.json", kNative);
  const std::string engine = with_engine(shell);
  const core::Json unknown = plan(shell, {"own.json", "--no-calibration"}, engine);
  EXPECT_TRUE(unknown.at("facts").at("seconds").is_null());
  EXPECT_EQ(unknown.at("tables").at("cells").at(0).at("source"), "unknown");
  const core::Json report = plan(shell, {"own.json"}, engine);
  EXPECT_TRUE(report.at("facts").at("seconds").is_number());
  for (const core::Json& cell : report.at("tables").at("cells")) {
    EXPECT_NE(cell.at("source").dump().find("calibration"), std::string::npos);
    EXPECT_GT(cell.at("step_ms").get<double>(), 5.0) << "the mock pretends 10 ms, as it is the cheapest cell's";
    EXPECT_EQ(cell.at("peak_bytes"), 100000000);
  }
  EXPECT_FALSE(std::filesystem::exists(shell.database()));
  ASSERT_EQ(shell.run({"run", "own.json", "--quiet", "--seeds", "1"}, engine).exit_code, 0);
  const core::Json stored = plan(shell, {"own.json"}, engine);
  EXPECT_EQ(stored.at("facts").at("reused"), 3);
  for (const core::Json& cell : stored.at("tables").at("cells"))
    EXPECT_EQ(cell.at("source"), "1 stored run of this configuration");
}

TEST(PlanCommand, AnEngineThatFailsLeavesTheRestOfThePlan) {
  const CommandLine shell("plan_broken");
  shell.write("own.json", kNative);
  const std::filesystem::path script = shell.write("engine", "#!/bin/sh\nexit 1\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const core::Json report = plan(shell, {"own.json"}, "NANOBENCH_ENGINE=" + quoted(script.string()));
  EXPECT_TRUE(report.at("facts").at("seconds").is_null());
  EXPECT_NE(report.at("warnings").dump().find("calibration run ended as"), std::string::npos);
}

TEST(PlanCommand, RefusesInOneSentence) {
  const CommandLine shell("plan_bad");
  shell.write("tiny.json", kPlanCommandSuite);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"plan"}, "SUITE"},
      {{"plan", "tinny_suite"}, "tinny_suite"},
      {{"plan", "tiny.json", "--detect", "0"}, "--detect 0: expected an effect"},
      {{"plan", "tiny.json", "--detect", "much"}, "--detect"},
      {{"plan", "tiny.json", "--detect-time", "nan"}, "--detect-time nan: expected a share"},
      {{"plan", "tiny.json", "--power", "1"}, "--power 1: expected a share"},
      {{"plan", "tiny.json", "--alpha", "-1"}, "--alpha -1: expected a share"},
      {{"plan", "tiny.json", "--seeds", "x"}, "--seeds"},
      {{"plan", "tiny.json", "--db", "tiny.json"}, "tiny.json"},
  };
  expect_refusals(shell, cases);
}

}  // namespace
}  // namespace nanobench::tools
