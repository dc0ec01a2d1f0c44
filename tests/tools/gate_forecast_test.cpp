// The chance to pass, printed before a gate runs.
#include "tests/tools/gate_command_line.h"

namespace nanobench::tools {
namespace {

/// Seeds differ by far more than two runs of one seed, which the number of earlier runs tells apart.
constexpr const char* kForecastTrainer =
    "runs=$(( $(cat ../runs) + 1 )); echo $runs >../runs\n"
    "own=$(( runs * runs * 7919 % 101 - 50 ))\n"
    "loss=$(( 10000 + $1 * $1 % 13 * 300 + own ))\n"
    "echo \"step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\"\n"
    "echo \"step:4/4 val_loss:3.$loss train_time:$((400000 + own))ms step_avg:1000.00ms\"\n";

void write_forecast_trainer(const CommandLine& shell) {
  shell.write("runs", "0");
  for (const std::string folder : {"work", "base"}) {
    std::filesystem::create_directories(shell.work() / folder);
    shell.write(folder + "/train.sh", kForecastTrainer);
    shell.write(folder + "/suite.json", R"({"name": "toy", "design": "cells", "cells": [{"label": "it"}],
        "seeds": [1, 2, 3], "engine": {"command": ["sh", "train.sh", "{seed}"]}})");
  }
}

std::vector<std::string> forecast_words(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"gate", "work/suite.json", "--baseline-folder", "base", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(GateForecast, RunsNothingAndFollowsTheCalibration) {
  const CommandLine shell("gate_forecast");
  write_forecast_trainer(shell);
  const std::vector<std::string> narrow = {"--only", "loss", "--margin", "loss=0.0003", "--forecast"};
  const ProgramResult unknown = shell.run(forecast_words(narrow));
  ASSERT_EQ(unknown.exit_code, 0) << unknown.err;
  EXPECT_TRUE(json_of(unknown).at("facts").at("chance").is_null()) << "nothing is stored";
  ASSERT_EQ(shell.run({"calibrate", "work/suite.json", "--pairs", "12", "--quiet"}).exit_code, 0);
  const std::size_t runs = results::Store(shell.database()).runs().size();

  const core::Json low = json_of(shell.run(forecast_words(narrow)));
  EXPECT_EQ(low.at("kind"), "gate_forecast");
  const double chance = low.at("facts").at("chance").get<double>();
  EXPECT_GT(chance, 0.0);
  EXPECT_LT(chance, 0.5);
  EXPECT_EQ(low.at("warnings").size(), 1U) << "one sentence says that it is low";
  const int seeds = low.at("facts").at("seeds_for_aim").get<int>();
  EXPECT_GT(seeds, 3);
  const core::Json& metric = low.at("tables").at("metrics").at(0);
  EXPECT_EQ(metric.at("metric"), "loss");
  EXPECT_LT(metric.at("sd").get<double>(), 0.001) << "of pairs, not of seeds, which differ by 0.012";
  const std::string needed = std::to_string(metric.at("needed").get<double>() + 1e-6);

  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--only", "loss", "--forecast"});
    return json_of(shell.run(forecast_words(words))).at("facts").at("chance").get<double>();
  };
  EXPECT_GE(with({"--margin", "loss=0.0003", "--seeds", std::to_string(seeds)}), 0.9);
  EXPECT_LT(with({"--margin", "loss=0.0003", "--seeds", std::to_string(seeds - 1)}), 0.9);
  EXPECT_NEAR(with({"--margin", "loss=" + needed}), 0.9, 0.01);
  EXPECT_NEAR(with({"--margin", "loss=0", "--calibrated"}), 0.8, 0.01) << "what calibrated margins promise";
  EXPECT_GT(with({"--margin", "loss=0.0003", "--until-decided", "--max-seeds", "30"}), chance);
  EXPECT_EQ(results::Store(shell.database()).runs().size(), runs) << "nothing has run";
}

TEST(GateForecast, IsTold) {
  const CommandLine shell("gate_forecast_told");
  write_forecast_trainer(shell);
  ASSERT_EQ(shell.run({"calibrate", "work/suite.json", "--pairs", "6", "--quiet"}).exit_code, 0);
  const ProgramResult sure = shell.run(forecast_words({"--only", "loss", "--margin", "loss=0.01"}));
  EXPECT_EQ(sure.exit_code, 0) << sure.err << sure.out;
  EXPECT_NE(sure.err.find("chance to pass: "), std::string::npos) << sure.err;
  EXPECT_GT(json_of(sure).at("facts").at("forecast_chance").get<double>(), 0.9);
  const ProgramResult vain = shell.run(forecast_words({"--only", "loss", "--margin", "loss=0.0001"}));
  EXPECT_NE(vain.err.find("warning: With 3 seeds a side"), std::string::npos) << vain.err;
  expect_usage_error(shell.run(forecast_words({"--forecast", "--fresh", "--only", "nothing"})), "unknown metric");
  const ProgramResult stored = shell.run({"gate", "work/suite.json", "--stored", "--forecast"});
  expect_usage_error(stored, "--stored");
}

}  // namespace
}  // namespace nanobench::tools
