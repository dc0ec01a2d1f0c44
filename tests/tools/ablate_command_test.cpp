// `nanobench ablate` from the outside, with the mock engine.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/json.h"
#include "tests/tools/refusals.h"

namespace nanobench::tools {
namespace {

std::vector<std::string> ablate(const std::string& design, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"ablate", "--base",  "record:17", "--design",
                                        design,   "--scale", "smoke",     "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

const core::Json& effect_of(const core::Json& report, const std::string& effect) {
  for (const core::Json& row : report.at("tables").at("effects")) {
    if (row.at("effect") == effect) return row;
  }
  throw core::Error(core::ErrorCode::kNotFound, "no effect " + effect);
}

/// 0.01 for attention_skip, -0.02 for rotary, 0.004 for both together, no noise.
constexpr const char* kPlanted = R"({"mock": {"loss_sigma": 0, "step_cv": 0, "cells": {
  "attention_skip": {"effect": 0.01, "step_ms": 8}, "rotary": {"effect": -0.02},
  "attention_skip + rotary": {"effect": -0.006, "step_ms": 8}}}})";

TEST(AblateCommand, RunsADesignAndRecoversPlantedEffects) {
  const CommandLine shell("ablate");
  const ProgramResult result = shell.run(
      ablate("factorial", {"--features", "attention_skip,rotary", "--engine", kPlanted, "--seeds", "2", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json report = json_of(result);
  EXPECT_EQ(report.at("tables").at("rows").size(), 4u);
  // The mock's validation loss comes within e^-6 of its end.
  EXPECT_NEAR(effect_of(report, "attention_skip").at("loss").at("value").get<double>(), 0.012, 4e-5);
  EXPECT_NEAR(effect_of(report, "rotary").at("loss").at("value").get<double>(), -0.018, 6e-5);
  EXPECT_NEAR(effect_of(report, "attention_skip x rotary").at("loss").at("value").get<double>(), 0.002, 1e-5);
  EXPECT_NEAR(effect_of(report, "attention_skip").at("time_ratio").at("value").get<double>(), 0.8, 1e-9);
  EXPECT_EQ(effect_of(report, "rotary").at("loss").at("n"), 2);
  EXPECT_TRUE(effect_of(report, "rotary").at("loss").at("low").is_null()) << "both seeds say just the same";
  const core::Json stored = json_of(shell.run({"report", "--json"}));
  EXPECT_EQ(stored.at("tables").at("effects"), report.at("tables").at("effects")) << "read from the store";
}

TEST(AblateCommand, WhatItSavesIsTheSamePlan) {
  const CommandLine shell("ablate_save");
  const std::vector<std::string> command = ablate(
      "sweep", {"--axis", "/optimizer/hidden_matrices/lr=0.02,0.05", "--engine", "mock", "--save", "sweep.json"});
  ASSERT_EQ(shell.run(command).exit_code, 0);
  const core::Json first = json_of(shell.run({"report", "--json"}));
  const ProgramResult again = shell.run({"run", "sweep.json", "--quiet", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  for (const char* table : {"rows", "effects"})
    EXPECT_EQ(json_of(again).at("tables").at(table), first.at("tables").at(table)) << table;
  EXPECT_EQ(json_of(shell.run({"list", "runs", "--json"})).at("tables").at("runs").size(), 2u) << "nothing ran twice";
  EXPECT_EQ(shell.run({"report", "--plan", "2"}).exit_code, 2) << "one plan, whichever command asked for it";
  const std::string before = read_text(shell.work() / "sweep.json");
  ProgramResult refused = shell.run(command);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--overwrite"), std::string::npos) << refused.err;
  EXPECT_EQ(read_text(shell.work() / "sweep.json"), before);
  std::vector<std::string> overwriting = command;
  overwriting.insert(overwriting.end(), {"--overwrite", "--seeds", "3", "--dry-run"});
  EXPECT_EQ(shell.run(overwriting).exit_code, 0);
  EXPECT_NE(read_text(shell.work() / "sweep.json"), before);
}

TEST(AblateCommand, WhereAndHowRunsComputeIsPartOfTheSuite) {
  const CommandLine shell("ablate_device");
  ASSERT_EQ(shell
                .run(ablate("leave_one_out", {"--features", "rotary", "--device", "cuda:1", "--kernels", "reference",
                                              "--save", "s.json", "--dry-run"}))
                .exit_code,
            0);
  const core::Json suite = core::parse_json(read_text(shell.work() / "s.json"), "s.json");
  EXPECT_EQ(suite.at("device"), "cuda:1");
  EXPECT_EQ(suite.at("kernels"), "reference");
}

TEST(AblateCommand, ReferenceKernelsAreRunsOfTheirOwn) {
  const CommandLine shell("ablate_kernels");
  for (const char* kernels : {"fused", "reference", "fused"}) {
    const ProgramResult result =
        shell.run(ablate("leave_one_out", {"--features", "rotary", "--engine", "mock", "--kernels", kernels}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  int by_reference = 0, all = 0;
  const core::Json list = json_of(shell.run({"list", "runs", "--json"}));
  for (const core::Json& run : list.at("tables").at("runs")) {
    const ProgramResult shown = shell.run({"show", run.at("run").dump()});
    by_reference += shown.out.find("mock, reference kernels") != std::string::npos ? 1 : 0;
    ++all;
  }
  EXPECT_EQ(all, 4) << "those of fused kernels were there already";
  EXPECT_EQ(by_reference, 2);
}

TEST(AblateCommand, ADryRunTrainsNothingAndSaysWhatEstimatesWhat) {
  const CommandLine shell("ablate_dry");
  const ProgramResult result =
      shell.run(ablate("fractional_factorial", {"--features", "attention_skip,rotary,adam_beta1,value_mix", "--runs",
                                                "8", "--dry-run", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json report = json_of(result);
  EXPECT_EQ(report.at("kind"), "suite");
  EXPECT_EQ(report.at("tables").at("cells").size(), 8u);
  EXPECT_EQ(effect_of(report, "attention_skip x rotary").at("aliases"), core::Json({"adam_beta1 x value_mix"}));
  EXPECT_FALSE(std::filesystem::exists(shell.database()));
}

TEST(AblateCommand, AnAAHasRunsOfItsOwnWithTheirOwnNoise) {
  const CommandLine shell("ablate_aa");
  const std::vector<std::string> command =
      ablate("a_a", {"--engine", R"({"loss_sigma": 0.01})", "--seeds", "4", "--json"});
  const ProgramResult result = shell.run(command);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json noise = effect_of(json_of(result), "B against A");
  EXPECT_EQ(noise.at("kind"), "noise");
  EXPECT_NE(noise.at("loss").at("value").get<double>(), 0.0);
  EXPECT_LT(std::abs(noise.at("loss").at("value").get<double>()), 0.03);
  EXPECT_EQ(json_of(shell.run({"list", "runs", "--json"})).at("tables").at("runs").size(), 8u);
  ASSERT_EQ(shell.run(command).exit_code, 0);
  EXPECT_EQ(json_of(shell.run({"list", "runs", "--json"})).at("tables").at("runs").size(), 8u) << "finished: reused";
}

TEST(AblateCommand, AllFeaturesAndOtherValues) {
  const CommandLine shell("ablate_all");
  const ProgramResult all = shell.run(ablate("leave_one_out", {"--features", "all", "--dry-run", "--json"}));
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_GE(json_of(all).at("tables").at("cells").size(), 10u);
  const ProgramResult values = shell.run(ablate(
      "factorial", {"--features", "rotary", "--values", "logit_softcap=30,logit_softcap=off", "--dry-run", "--json"}));
  ASSERT_EQ(values.exit_code, 0) << values.err;
  EXPECT_EQ(json_of(values).at("tables").at("cells").size(), 4u);
}

TEST(AblateCommand, RefusesInOneSentence) {
  const CommandLine shell("ablate_bad");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"ablate", "--design", "leave_one_out", "--features", "rotary"}, "--base is missing"},
      {ablate("leave_one_ot", {"--features", "rotary"}), "did you mean \"leave_one_out\""},
      {ablate("leave_one_out", {}), "--features is missing"},
      {ablate("leave_one_out", {"--features", "rotarry"}), "rotarry"},
      {ablate("leave_one_out", {"--features", "rotary,,x"}), "one comma"},
      {ablate("leave_one_out", {"--features", "rotary", "--runs", "8"}), "--runs does not apply"},
      {ablate("leave_one_out", {"--features", "rotary", "--axis", "a=1"}), "--axis does not apply"},
      {ablate("factorial", {"--features", "rotary", "--values", "rotary"}), "expected NAME=VALUE"},
      {ablate("factorial", {"--features", "all", "--values", "rotary=x"}), "--features all"},
      {ablate("sweep", {}), "needs at least one axis"},
      {ablate("sweep", {"--axis", "/optimizer/hidden_matrices/lrr=1"}), "did you mean \"lr\""},
      {ablate("a_a", {"--engine", "{\"loss"}), "--engine"},
      {ablate("a_a", {"--save", "nowhere/x.json"}), "nowhere"},
      {{"ablate", "--base", "record:171", "--design", "a_a"}, "record171"},
  };
  expect_refusals(shell, cases);
}

}  // namespace
}  // namespace nanobench::tools
