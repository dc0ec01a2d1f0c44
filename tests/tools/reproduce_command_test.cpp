// `nanobench reproduce RUN` from the outside.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "results/sqlite.h"
#include "results/store.h"
#include "tests/tools/refusals.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

std::string suite_with(const std::string& engine) {
  return R"({"name": "once", "design": "history", "records": ["record12"], "scale": "smoke", "seeds": [3], "threads": 2)" +
         (engine.empty() ? "" : ", \"engine\": " + engine) + "}";
}

/// A store with one run of a suite, and perhaps its pilot. Returns the run's number.
std::string run_once(const CommandLine& shell, const std::string& engine) {
  shell.write("once.json", suite_with(engine));
  const ProgramResult result = shell.run({"run", "once.json", "--quiet"});
  EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 4) << result.err;
  const results::Store store(shell.database(), results::OpenMode::kReadOnly);
  const std::vector<results::RunRecord> runs = store.runs({.suite = "once"});
  EXPECT_FALSE(runs.empty());
  return runs.empty() ? "" : std::to_string(runs.back().id);
}

void change(const CommandLine& shell, const char* sql) {
  results::Database database(shell.database(), shell.database().string(), SQLITE_OPEN_READWRITE);
  database.execute(sql);
}

std::vector<std::string> again(const std::string& run) {
  return {"reproduce", run, "--quiet", "--json"};
}

TEST(ReproduceCommand, ARunOfTheEngineHasTheSameBits) {
  const CommandLine shell("reproduce_engine");
  const std::string run = run_once(shell, "");
  const std::size_t stored = results::Store(shell.database()).runs().size();
  const ProgramResult result = shell.run(again(run));
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const core::Json json = json_of(result);
  EXPECT_EQ(json.at("facts").at("is_same"), true);
  const core::Json& series = json.at("tables").at("series");
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].at("metric"), "train/loss");
  EXPECT_GT(series[0].at("stored"), 10);
  EXPECT_EQ(series[0].at("same"), series[0].at("stored"));
  EXPECT_FALSE(json.at("tables").contains("conditions")) << "the same engine and machine";
  EXPECT_EQ(results::Store(shell.database()).runs().size(), stored) << "nothing is stored";

  change(shell, "UPDATE samples SET value = value + 1e-12 WHERE metric = 'val/loss' AND step > 0");
  change(shell, "UPDATE runs SET engine_version = 'older'");
  const ProgramResult other = shell.run(again(run));
  EXPECT_EQ(other.exit_code, 1) << other.err << other.out;
  const core::Json differing = json_of(other);
  EXPECT_EQ(differing.at("facts").at("is_same"), false);
  EXPECT_EQ(differing.at("tables").at("series")[0].at("first_step"), nullptr);
  EXPECT_GT(differing.at("tables").at("series")[1].at("first_step"), 0);
  EXPECT_EQ(differing.at("tables").at("conditions")[0].at("stored"), "older");
}

TEST(ReproduceCommand, ARunOfTheMockEngineToo) {
  const CommandLine shell("reproduce_mock");
  const std::string run = run_once(shell, R"({"mock": {"loss_sigma": 0.01}})");
  const ProgramResult result = shell.run({"reproduce", run, "--quiet"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.find("Not reproduced"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("Reproduced: "), std::string::npos) << result.out;
}

TEST(ReproduceCommand, ADivergedRunDivergesAgain) {
  const CommandLine shell("reproduce_diverged");
  const std::string run = run_once(shell, R"({"mock": {"fault": {"kind": "nan", "step": 10}}})");
  const ProgramResult result = shell.run(again(run));
  EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
  change(shell, "DELETE FROM samples WHERE step > 10");
  const ProgramResult sooner = shell.run(again(run));
  EXPECT_EQ(sooner.exit_code, 0) << "it was stopped sooner after it had diverged: " << sooner.err << sooner.out;
  change(shell, "UPDATE samples SET value = 9 WHERE step = 9");
  EXPECT_EQ(shell.run(again(run)).exit_code, 1);
}

TEST(ReproduceCommand, RefusesWithOneSentence) {
  const CommandLine shell("reproduce_refused");
  const std::string run = run_once(shell, R"({"mock": {"fault": {"kind": "signal", "step": 10}}})");
  expect_refusals(shell, {{again(run), "ended as crashed"}});
  change(shell, "UPDATE runs SET outcome = 'completed', mock = NULL, engine = 'my_trainer'");
  expect_refusals(shell, {{again(run), "of my_trainer"}});
  change(shell, "UPDATE runs SET engine = 'nanobench-train', data_digest = '00', data_name = 'text:book'");
  expect_refusals(shell, {{again(run), "name them with --data"}});
  change(shell, "UPDATE runs SET data_name = 'synthetic'");
  expect_refusals(shell, {{{"reproduce", run, "--data", "synthetic"}, "these are not the data of run"}});
  change(shell, "UPDATE runs SET config = '{\"operation\": {}}'");
  expect_refusals(shell, {{again(run), "a single operation"}});
}

}  // namespace
}  // namespace nanobench::tools
