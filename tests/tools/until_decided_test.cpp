// `run --budget`: seeds where they decide most, while there is time. What --times and --jobs refuse.
#include "tools/cli/until_decided.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/base/error.h"
#include "results/store.h"
#include "tests/tools/refusals.h"

namespace nanobench::tools {
namespace {

/// Three cells whose times scatter too much for a verdict. A run sleeps for 0.3 s, which the plan knows.
std::string noisy_suite(double step_cv = 0.3) {
  return R"({"name": "noisy", "design": "leave_one_out", "features": ["attention_skip", "rotary"], "scale": "smoke",
             "base": {"record": "record17"}, "seeds": [1, 2, 3],
             "engine": {"mock": {"steps": 30, "sleep_ms": 10, "step_ms": 10, "step_cv": )" +
         std::to_string(step_cv) + R"(, "cells": {"without attention_skip": {"step_ms": 10.1},
                                                  "without rotary": {"step_ms": 9.9}}}}})";
}

int most_seeds(const core::Json& report) {
  int most = 0;
  for (const core::Json& row : report.at("tables").at("rows"))
    most = std::max(most, row.at("n").at("completed").get<int>());
  return most;
}

TEST(Budget, BadOnesAreOneSentence) {
  const CommandLine shell("budget_bad");
  shell.write("s.json", noisy_suite());
  expect_refusals(shell,
                  {{{"run", "s.json", "--budget", "10"}, "--budget 10"},
                   {{"run", "s.json", "--budget", "0s"}, "with its unit"},
                   {{"run", "s.json", "--budget", "-5min"}, "--budget"},
                   {{"run", "s.json", "--max-seeds", "5"}, "--until-decided or --budget"},
                   {{"run", "s.json", "--budget", "1h", "--seeds", "5", "--max-seeds", "4"}, "5 seeds already"}});
}

/// Three changes, whose losses have a standard deviation of 0.01. `cells`: settings of the mock engine.
std::string three_changes(const std::string& cells) {
  return R"({"name": "three", "design": "leave_one_out", "features": ["attention_skip", "rotary", "window_warmup"],
             "scale": "smoke", "base": {"record": "record17"}, "seeds": [1, 2, 3], "threads": 1,
             "engine": {"mock": {"steps": 30, "step_ms": 10, "step_cv": 0.02, "loss_sigma": 0.01, "cells": {)" +
         cells + "}}}}";
}

/// Completed runs of each cell.
std::map<std::string, int> completed_of(const core::Json& report) {
  std::map<std::string, int> completed;
  for (const core::Json& row : report.at("tables").at("rows"))
    completed[row.at("row").get<std::string>()] = row.at("n").at("completed").get<int>();
  return completed;
}

TEST(UntilDecided, ACellThatFailsEndsItsChangesAlone) {
  const CommandLine shell("until_failing");
  shell.write("s.json", three_changes(R"("without attention_skip": {"effect": 0.006},
                                         "without rotary": {"fault": {"kind": "exit", "step": 5}})"));
  const ProgramResult result = shell.run({"run", "s.json", "--until-decided", "--quiet", "--json"});
  EXPECT_EQ(result.exit_code, core::kExitIncomplete) << result.err;
  const std::map<std::string, int> completed = completed_of(json_of(result));
  EXPECT_EQ(completed.at("without rotary"), 0);
  EXPECT_GT(completed.at("record17"), 3) << "the other changes got more seeds";
  int crashed = 0;
  for (const results::RunRecord& run : results::Store(shell.database()).runs()) crashed += !run.is_evidence();
  EXPECT_EQ(crashed, 2) << "the looks do not try it again";
}

/// Without times nothing is worth seconds, but the losses can be told apart.
TEST(UntilDecided, RunsSideBySideAreDecidedByTheirLosses) {
  const CommandLine shell("until_jobs");
  shell.write("s.json", three_changes(R"("without attention_skip": {"effect": 1.0}, "without rotary": {"effect": -0.8},
                                         "without window_warmup": {"effect": 0.9})"));
  const ProgramResult result = shell.run({"run", "s.json", "--jobs", "2", "--until-decided", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const auto& [cell, runs] : completed_of(json_of(result))) EXPECT_EQ(runs, 3) << cell;
}

TEST(UntilDecided, FreshMeasuresEachSeedAnewOnce) {
  const CommandLine shell("until_fresh");
  shell.write("s.json", three_changes(R"("without rotary": {"effect": 0.03})"));
  const std::vector<std::string> command = {"run", "s.json", "--until-decided", "--max-seeds", "5", "--quiet"};
  ASSERT_EQ(shell.run(command).exit_code, 0);
  const std::size_t once = results::Store(shell.database()).runs().size();
  EXPECT_GT(once, 12U) << "more than the first look";
  std::vector<std::string> fresh = command;
  fresh.emplace_back("--fresh");
  ASSERT_EQ(shell.run(fresh).exit_code, 0);
  EXPECT_EQ(results::Store(shell.database()).runs().size(), 2 * once);
}

/// A trainer of which no file is known is never reused, but for what the same command has measured.
TEST(UntilDecided, ALookDoesNotMeasureAnewWhatTheLookBeforeHas) {
  const CommandLine shell("until_unknown");
  const std::string trainer =
      "echo step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms; "
      "echo step:4/4 val_loss:3.$(( ($0 * 37 + $1 * 5) % 10 + 1 )) train_time:$((200 + $0 * 13 % 7))ms "
      "step_avg:50.00ms";
  shell.write("s.json", R"({"name": "unknown", "design": "leave_one_out", "seeds": [1, 2, 3], "features": ["f"],
      "engine": {"command": ["bash", "-c", ")" +
                            trainer + R"(", "{seed}", "{feature:f}"], "log": "speedrun",
                 "features": {"f": {"values": ["0", "1"]}}}})");
  const std::vector<std::string> command = {"run", "s.json", "--until-decided", "--max-seeds", "40", "--quiet"};
  ASSERT_EQ(shell.run(command).exit_code, 0);
  const auto runs_and_places = [&] {
    std::set<std::pair<std::string, std::uint64_t>> places;
    const std::vector<results::RunRecord> runs = results::Store(shell.database()).runs();
    for (const results::RunRecord& run : runs) places.insert({run.cell, run.seed});
    return std::pair(runs.size(), places.size());
  };
  const auto [runs, places] = runs_and_places();
  EXPECT_GT(places, 6U) << "one look is too few for this test";
  EXPECT_EQ(runs, places);
  ASSERT_EQ(shell.run(command).exit_code, 0);
  EXPECT_EQ(runs_and_places().first, 2 * runs) << "another command measures anew";
}

TEST(Budget, WhatIsHopelessIsNamed) {
  const CommandLine shell("budget_hopeless");
  shell.write("s.json",
              three_changes(R"("without attention_skip": {"effect": 0.5}, "without rotary": {"effect": 0.5})"));
  const ProgramResult result = shell.run({"run", "s.json", "--budget", "1h", "--max-seeds", "6", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string answer = json_of(result).at("headline");
  EXPECT_NE(answer.find("window_warmup will hardly be decided by 6 seeds"), std::string::npos) << answer;
}

/// A trainer has no pilots, so that its first runs tell what others take: three seeds would be 1.8 s and more.
TEST(Budget, OneSeedOfATrainerTellsWhatTheOthersTake) {
  const CommandLine shell("budget_trainer");
  shell.write("train.sh", "sleep 0.3\necho 'step:4/4 val_loss:3.5 train_time:2000ms step_avg:500.00ms'\n");
  shell.write("s.json", R"({"name": "trainer", "design": "leave_one_out", "seeds": [1, 2, 3], "features": ["f"],
      "engine": {"command": ["sh", "train.sh", "{seed}", "{feature:f}"], "log": "speedrun",
                 "features": {"f": {"values": ["0", "1"]}}}})");
  const ProgramResult result = shell.run({"run", "s.json", "--budget", "1s", "--quiet"});
  EXPECT_EQ(result.exit_code, core::kExitUsage) << result.out;
  EXPECT_NE(result.err.find("the first look, at 3 seeds of 2 cells"), std::string::npos) << result.err;
  EXPECT_EQ(results::Store(shell.database()).runs().size(), 2U);
  EXPECT_EQ(shell.run({"run", "s.json", "--budget", "1h", "--max-seeds", "3", "--quiet"}).exit_code, 0);
  EXPECT_EQ(results::Store(shell.database()).runs().size(), 6U);
}

TEST(SharingTheMachine, WhatCannotBeIsOneSentence) {
  const CommandLine shell("sharing_bad");
  shell.write("s.json", noisy_suite());
  expect_refusals(shell, {{{"run", "s.json", "--times", "turns", "--launcher", "env"}, "--times turns"},
                          {{"run", "s.json", "--jobs", "2", "--launcher", "env"}, "--jobs"},
                          {{"run", "s.json", "--jobs", "2", "--times", "turns"}, "leave out --times turns, or --jobs"},
                          {{"run", "s.json", "--jobs", "0"}, "--jobs"},
                          {{"run", "s.json", "--jobs", "x"}, "expected auto or a number"},
                          {{"run", "s.json", "--jobs", "2", "--threads", "4000"}, "processors, and there are"}});
}

TEST(SharingTheMachine, MoreThreadsThanProcessorsAreSaid) {
  const CommandLine shell("sharing_threads");
  shell.write("s.json", noisy_suite());
  const std::string warning = "warning: 4000 threads share ";
  EXPECT_NE(shell.run({"run", "s.json", "--threads", "4000", "--seeds", "1,"}).err.find(warning), std::string::npos);
  EXPECT_EQ(shell.run({"run", "s.json", "--seeds", "1,"}).err.find("share"), std::string::npos);
  const std::vector<std::string> profile = {"profile", "record1", "--scale", "smoke", "--threads", "4000"};
  EXPECT_NE(shell.run(profile, "NANOBENCH_ENGINE=/bin/true").err.find(warning), std::string::npos);
}

TEST(Budget, WithoutRoomForTheFirstLookNothingIsRun) {
  const CommandLine shell("budget_small");
  shell.write("s.json", noisy_suite());
  const ProgramResult result = shell.run({"run", "s.json", "--budget", "2s", "--quiet"});
  EXPECT_EQ(result.exit_code, core::kExitUsage);
  EXPECT_NE(result.err.find("the first look, at 3 seeds of 3 cells"), std::string::npos) << result.err;
  const ProgramResult runs = shell.run({"list", "runs", "--json"});
  EXPECT_EQ(runs.out.find("completed"), std::string::npos) << runs.out;
}

/// Each seed takes 0.9 s, so five are too many for four seconds on any machine.
TEST(Budget, SeedsAreAddedWhileTheyFit) {
  const CommandLine shell("budget_fit");
  shell.write("s.json", noisy_suite());
  const ProgramResult result = shell.run({"run", "s.json", "--budget", "4s", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json report = json_of(result);
  const int seeds = most_seeds(report);
  EXPECT_GE(seeds, 3);
  EXPECT_LT(seeds, 5);
  EXPECT_NE(report.at("headline").get<std::string>().find("of the budget of 4.0 s spent"), std::string::npos)
      << report.at("headline");
  const core::Json more =
      json_of(shell.run({"run", "s.json", "--budget", "1h", "--max-seeds", "5", "--quiet", "--json"}));
  EXPECT_GE(most_seeds(more), seeds);
}

/// A seed of `rotary` takes three seconds, which no longer fit; one of the other change takes none to speak of.
TEST(Budget, WhatNoLongerFitsStopsAndTheRestGoesOn) {
  const CommandLine shell("budget_rest");
  shell.write("s.json", R"({"name": "uneven", "design": "leave_one_out", "features": ["attention_skip", "rotary"],
      "scale": "smoke", "base": {"record": "record17"}, "seeds": [1, 2, 3],
      "engine": {"mock": {"steps": 10, "sleep_ms": 1, "step_ms": 10, "step_cv": 0.3, "cells": {
          "without attention_skip": {"step_ms": 13}, "without rotary": {"step_ms": 13, "sleep_ms": 300}}}}})");
  const ProgramResult result =
      shell.run({"run", "s.json", "--budget", "11.3s", "--max-seeds", "12", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json report = json_of(result);
  std::map<std::string, int> completed;
  for (const core::Json& row : report.at("tables").at("rows"))
    completed[row.at("row").get<std::string>()] = row.at("n").at("completed").get<int>();
  EXPECT_EQ(completed["without rotary"], 3);
  EXPECT_GT(completed["without attention_skip"], 3);
  EXPECT_EQ(completed["record17"], completed["without attention_skip"]);
}

/// What is decided does not depend on the time that was given, if it was enough.
TEST(Budget, IsUntilDecidedThatMayEndEarlier) {
  const CommandLine with("budget_with"), without("budget_without");
  for (const CommandLine* shell : {&with, &without}) shell->write("s.json", noisy_suite(0.01));
  const core::Json budget =
      json_of(with.run({"run", "s.json", "--budget", "1h", "--max-seeds", "5", "--quiet", "--json"}));
  const core::Json plain =
      json_of(without.run({"run", "s.json", "--until-decided", "--max-seeds", "5", "--quiet", "--json"}));
  EXPECT_EQ(budget.at("tables").at("effects"), plain.at("tables").at("effects"));
}

}  // namespace
}  // namespace nanobench::tools
