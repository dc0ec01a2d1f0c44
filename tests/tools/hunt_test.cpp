// The hunt for what matters, around a trainer that is a shell script here.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/base/json.h"
#include "tests/tools/refusals.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

/// $1 is the seed, the others are features. The third costs 0.2 nats and the eighth saves 0.1; noise is 0.01.
constexpr const char* kTrainer =
    "loss=$(echo \"$@\" | awk '{ srand($1 * 1000 + $2 + 2 * $3 + 4 * $4 + 8 * $5 + 16 * $6 + 32 * $7 + 64 * $8 + 128 * "
    "$9);"
    " noise = rand() + rand() + rand() - 1.5; print 3.5 + 0.2 * (1 - $4) - 0.1 * (1 - $9) + 0.02 * noise }')\n"
    "echo \"step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\"\n"
    "echo \"step:4/4 val_loss:$loss train_time:2000ms step_avg:500.00ms\"\n";

std::string suite_of(int features) {
  core::OrderedJson json = {{"name", "mine"}, {"design", "leave_one_out"}};
  json["engine"] = {{"command", {"sh", "train.sh", "{seed}"}}, {"log", "speedrun"}};
  for (int i = 1; i <= features; ++i) {
    const std::string id = "f" + std::to_string(i);
    json["engine"]["command"].push_back("{feature:" + id + "}");
    json["engine"]["features"][id]["values"] = {"0", "1"};
  }
  return json.dump();
}

std::set<std::string> effects_of(const core::Json& report) {
  std::set<std::string> effects;
  for (const core::Json& row : report.at("tables").at("effects")) effects.insert(row.at("effect").get<std::string>());
  return effects;
}

TEST(HuntCommand, FindsWhatMattersWithFreshSeeds) {
  const CommandLine shell("hunt");
  shell.write("train.sh", kTrainer);
  shell.write("suite.json", suite_of(8));
  const ProgramResult result = shell.run({"hunt", "suite.json", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json report = json_of(result);
  EXPECT_EQ(report.at("kind"), "hunt");
  const core::Json screening = report.at("tables").at("screening");
  ASSERT_EQ(screening.size(), 8U);
  EXPECT_EQ(screening.at(0).at("feature"), "f3");
  EXPECT_EQ(screening.at(1).at("feature"), "f8");
  EXPECT_EQ(screening.at(1).at("suspected_in"), "loss");
  EXPECT_NEAR(screening.at(0).at("loss").at("value").get<double>(), 0.2, 0.04);
  const std::set<std::string> effects = effects_of(report);
  EXPECT_TRUE(effects.contains("f3") && effects.contains("f8"));
  EXPECT_LE(effects.size(), 4U) << "not all are tested";
  EXPECT_NE(report.at("headline").get<std::string>().find("suspected"), std::string::npos);
  std::map<std::string, std::set<int>> seeds;
  const core::Json list = json_of(shell.run({"list", "runs", "--json"}));
  for (const core::Json& run : list.at("tables").at("runs"))
    seeds[run.at("suite").get<std::string>()].insert(run.at("seed").get<int>());
  EXPECT_EQ(seeds.at("mine screening"), std::set<int>{1});
  EXPECT_FALSE(seeds.at("mine suspects").contains(1)) << "no run that chose a suspect judges it";
  const ProgramResult again = shell.run({"hunt", "suite.json", "--json", "--quiet"});
  EXPECT_EQ(json_of(again).at("tables"), report.at("tables")) << "nothing is run twice";
}

TEST(HuntCommand, TheNumberOfRunsIsKept) {
  const CommandLine shell("hunt_runs");
  shell.write("train.sh", kTrainer);
  shell.write("suite.json", suite_of(8));
  ASSERT_EQ(shell.run({"hunt", "suite.json", "--runs", "24", "--quiet"}).exit_code, 0);
  const auto runs = json_of(shell.run({"list", "runs", "--json"})).at("tables").at("runs").size();
  EXPECT_GE(runs, 16U);
  EXPECT_LE(runs, 24U);
}

TEST(HuntCommand, WhereNothingMattersNothingIsTested) {
  const CommandLine shell("hunt_nothing");
  shell.write("train.sh",
              "echo \"step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\"\n"
              "echo \"step:4/4 val_loss:3.$1 train_time:2000ms step_avg:500.00ms\"\n");
  shell.write("suite.json", suite_of(6));
  const ProgramResult result = shell.run({"hunt", "suite.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("None of 6 features is suspected"), std::string::npos) << result.out;
}

TEST(HuntCommand, BadInputIsOneSentence) {
  const CommandLine shell("hunt_bad");
  shell.write("suite.json", suite_of(4));
  core::Json with_values = core::Json::parse(suite_of(4));
  with_values["design"] = "factorial";
  with_values["features"] = {{{"id", "f1"}, {"values", {"0", "1"}}}};
  shell.write("values.json", with_values.dump());
  expect_refusals(shell, {{{"hunt", "record99"}, "record99"},
                          {{"hunt", "speedrun_history"}, "no base"},
                          {{"hunt", "record17", "--runs", "3"}, "--runs"},
                          {{"hunt", "record17", "--runs", "100000"}, "at most 1024"},
                          {{"hunt", "record17", "--features", ""}, "--features"},
                          {{"hunt", "record17", "--features", "a,,b"}, "--features"},
                          {{"hunt", "record17", "--features", "rotory"}, "rotary"},
                          {{"hunt", "record17", "--scale", "tiny"}, "tiny"},
                          {{"hunt", "suite.json", "--features", "f9"}, "f9"},
                          {{"hunt", "values.json"}, "several values of 'f1'"}});
}

}  // namespace
}  // namespace nanobench::tools
