// Gates that add seeds until they have an answer: their error rate, and the command from the outside.
#include "tools/cli/gate_looks.h"

#include "tests/reports/stats/simulation.h"
#include "tests/tools/gate_command_line.h"
#include "tests/tools/refusals.h"

namespace nanobench::tools {
namespace {

constexpr int kCells = 3;
constexpr int kMaxSeeds = 8;

std::vector<std::uint64_t> all_seeds() {
  std::vector<std::uint64_t> seeds;
  for (int seed = 1; seed <= kMaxSeeds; ++seed) seeds.push_back(static_cast<std::uint64_t>(seed));
  return seeds;
}

/// Losses only, with noise of 0.01 that the arms do not share.
reports::Arm noisy_arm(reports::NormalDraws& draws, double shift) {
  reports::Arm arm{.name = "a", .suite = "s", .scale = "smoke", .data_digest = "d", .engine = "e", .hardware = "h"};
  arm.hosts = {"one"};
  for (int cell = 0; cell < kCells; ++cell) {
    reports::ArmCell& added = arm.cells.emplace_back();
    added.label = added.config_digest = "c" + std::to_string(cell);
    for (const std::uint64_t seed : all_seeds()) {
      reports::ArmRun& run = added.runs.emplace_back();
      run.seed = seed;
      run.outcome = core::RunOutcome::kCompleted;
      run.val_loss = draws.next(3.0 + shift, 0.01);
    }
  }
  return arm;
}

reports::GatePolicy loss_only() {
  reports::GatePolicy policy;
  policy.time.gates = policy.memory.gates = policy.cost.gates = false;
  policy.loss.margin = 0.0;
  return policy;
}

/// The answer at the look that has one, or at the last; and the seeds that it took.
std::pair<reports::GateAnswer, int> decide(reports::NormalDraws& draws, double shift) {
  static GateLooks looks(3, kMaxSeeds, 0.05);
  const reports::Arm baseline = noisy_arm(draws, 0.0), candidate = noisy_arm(draws, shift);
  for (int look = 1;; ++look) {
    const reports::GateResult result =
        looks.evaluate(baseline, candidate, loss_only(), {.is_interleaved = true}, all_seeds(), look);
    const bool is_last = look == looks.count();
    if (result.answer != reports::GateAnswer::kInconclusive || is_last) return {result.answer, looks.seeds(look)};
  }
}

TEST(GateLooks, HaveTheFalseAlarmsOfOneLook) {
  constexpr int kTrials = 600;
  reports::NormalDraws draws(5);
  const double share =
      reports::share_of(kTrials, [&] { return decide(draws, 0.0).first == reports::GateAnswer::kRegression; });
  EXPECT_LE(share, 0.05 + reports::slack(0.05, kTrials));
  EXPECT_GT(share, 0.01) << "and it spends them";
}

TEST(GateLooks, ManySeedsHaveFiftyLooks) {
  const GateLooks looks(3, 200, 0.05);
  EXPECT_LE(looks.count(), 50);
  EXPECT_EQ(looks.seeds(1), 3);
  EXPECT_EQ(looks.seeds(looks.count()), 200);
  EXPECT_LT(looks.seeds(looks.count() - 1), 200);
  EXPECT_EQ(GateLooks(3, 10, 0.05).count(), 8) << "else one after each seed";
}

TEST(GateLooks, EndEarlyWhereTheHarmIsPlain) {
  reports::NormalDraws draws(6);
  double seeds = 0.0;
  const double share = reports::share_of(200, [&] {
    const auto [answer, needed] = decide(draws, 0.03);
    seeds += needed / 200.0;
    return answer == reports::GateAnswer::kRegression;
  });
  EXPECT_GT(share, 0.95);
  EXPECT_LT(seeds, 6.0);
}

TEST(GateUntilDecided, EndsAtTheFirstLookWithAnAnswer) {
  const CommandLine shell("gate_until");
  const std::string noise = R"("loss_sigma": 0.003)";
  const ProgramResult bad =
      gate_in_turn(shell, gate_suite("{\"effect\": 0.02, " + noise + "}", R"(["record12"])", "g", "[1, 2, 3]"),
                   gate_suite("{" + noise + "}", R"(["record12"])", "g", "[1, 2, 3]"),
                   {"--until-decided", "--max-seeds", "9", "--only", "loss", "--json"});
  EXPECT_EQ(bad.exit_code, 1) << bad.err << bad.out;
  const core::Json report = json_of(bad);
  EXPECT_EQ(report.at("facts").at("false_alarms"), 0.05);
  EXPECT_NE(report.at("notes").dump().find(" of 7, at "), std::string::npos) << report.at("notes");
  const results::Store store(shell.database(), results::OpenMode::kReadOnly);
  const auto completed = store.runs({.outcome = core::RunOutcome::kCompleted}).size();
  EXPECT_LT(completed, 18U);
  EXPECT_EQ(store.plans().size(), 2U) << "all looks are parts of one plan for each side";
  const ProgramResult again =
      shell.run(gate_words({"--baseline-suite", "base.json", "--until-decided", "--max-seeds", "9", "--only", "loss"}));
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_EQ(store.runs({.outcome = core::RunOutcome::kCompleted}).size(), completed) << "nothing is run twice";
}

TEST(GateUntilDecided, GoesToTheLastLookWithoutOne) {
  const CommandLine shell("gate_until_end");
  const std::string noisy = gate_suite(R"({"loss_sigma": 0.05})", R"(["record12"])", "g", "[1, 2, 3]");
  const ProgramResult result =
      gate_in_turn(shell, gate_suite(R"({"loss_sigma": 0.05, "effect": 0.001})", R"(["record12"])", "g", "[1, 2, 3]"),
                   noisy, {"--until-decided", "--max-seeds", "5", "--only", "loss"});
  EXPECT_EQ(result.exit_code, 3) << result.out;
  expect_each_run_once(shell, 2, 10);
}

TEST(GateUntilDecided, ABudgetEndsIt) {
  const CommandLine shell("gate_budget");
  const std::string slow = R"({"loss_sigma": 0.05, "sleep_ms": 50})";
  const ProgramResult result = gate_in_turn(shell, gate_suite(slow, R"(["record12"])", "g", "[1, 2, 3]"),
                                            gate_suite(slow, R"(["record12"])", "g", "[1, 2, 3]"),
                                            {"--budget", "4s", "--max-seeds", "40", "--only", "loss"});
  EXPECT_EQ(result.exit_code, 3) << result.err << result.out;
  EXPECT_NE(result.out.find("The budget of 4.0 s holds no further seed"), std::string::npos) << result.out;
  const results::Store store(shell.database(), results::OpenMode::kReadOnly);
  EXPECT_LT(store.runs({.outcome = core::RunOutcome::kCompleted}).size(), 40U);
}

TEST(GateUntilDecided, SeatsMakeTheRunsOfTheLookOnly) {
  const CommandLine shell("gate_until_seats");
  for (const std::string folder : {"work", "base"}) {
    std::filesystem::create_directories(shell.work() / folder);
    shell.write(folder + "/train.sh",
                "echo \"step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\"\n"
                "echo \"step:4/4 val_loss:3.1$1 train_time:4000ms step_avg:1000.00ms\"\n");
    shell.write(folder + "/suite.json", R"({"name": "s", "design": "cells", "cells": [{"label": "it"}], "seeds": [1, 2],
        "engine": {"command": ["sh", "train.sh", "{seed}"], "seats": [{"env": {"A": "1"}}, {"env": {"A": "2"}}]}})");
  }
  const ProgramResult result = shell.run({"gate", "work/suite.json", "--baseline-folder", "base", "--only", "loss",
                                          "--until-decided", "--max-seeds", "9", "--quiet"});
  EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(results::Store(shell.database()).runs().size(), 4U) << "the first look has an answer";
}

TEST(GateUntilDecided, WhatCannotBeIsOneSentence) {
  const CommandLine shell("gate_until_bad");
  shell.write("g.json", gate_suite());
  expect_refusals(
      shell, {{{"gate", "g.json", "--until-decided"}, "--baseline-engine"},
              {{"gate", "g.json", "--budget", "1min"}, "--baseline-suite"},
              {{"gate", "g.json", "--baseline-suite", "g.json", "--budget", "10"}, "with its unit"},
              {{"gate", "g.json", "--baseline-suite", "g.json", "--max-seeds", "9"}, "--until-decided"},
              {{"gate", "g.json", "--baseline-suite", "g.json", "--until-decided", "--max-seeds", "1"}, "--max-seeds"},
              {{"gate", "g.json", "--baseline-suite", "g.json", "--until-decided", "--seeds", "6", "--max-seeds", "4"},
               "6 seeds already"}});
}

}  // namespace
}  // namespace nanobench::tools
