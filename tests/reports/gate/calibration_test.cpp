#include "reports/gate/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reports/gate/gate.h"

namespace nanobench::reports {
namespace {

constexpr double kLossSd = 0.002;
constexpr double kTimeCv = 0.01;

/// Pairs on a machine of known noise that slows down by 1 % an hour. One seed gives one loss.
std::vector<NoiseRun> noisy_runs(int pairs, std::uint64_t seed, double drift = 0.01) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<NoiseRun> runs;
  for (int pair = 0; pair < pairs; ++pair) {
    const double loss = 3.0 + kLossSd * normal(random);
    for (int arm = 0; arm < 2; ++arm) {
      const double hours = 0.01 * static_cast<double>(runs.size());
      runs.push_back({.arm = arm,
                      .seed = static_cast<std::uint64_t>(pair),
                      .val_loss = loss,
                      .step_ms = 100.0 * std::exp(drift * hours + kTimeCv * normal(random)),
                      .peak_bytes = 1e8,
                      .hours = hours,
                      .loss_digest = std::to_string(pair)});
    }
  }
  return runs;
}

TEST(Calibration, FindsThePlantedNoise) {
  const Calibration calibration = calibrate(noisy_runs(2000, 5, 0.02));
  EXPECT_EQ(calibration.runs, 4000);
  EXPECT_EQ(calibration.pairs, 2000);
  EXPECT_NEAR(*calibration.loss_sd, kLossSd, 0.1 * kLossSd);
  EXPECT_EQ(*calibration.loss_pair_sd, 0.0);
  EXPECT_TRUE(calibration.is_reproducible);
  EXPECT_NEAR(*calibration.time_cv, kTimeCv, 0.1 * kTimeCv);
  EXPECT_NEAR(*calibration.time_pair_sd, kTimeCv * std::sqrt(2.0), 0.1 * kTimeCv);
  EXPECT_EQ(*calibration.memory_pair_sd, 0.0);
  ASSERT_TRUE(calibration.drift);
  EXPECT_NEAR(calibration.session_hours, 39.99, 1e-9);
  const double planted = 0.02 * calibration.session_hours;
  EXPECT_NEAR(calibration.drift->value, planted, 4 * calibration.drift->se);
  EXPECT_GT(calibration.drift->value, 10 * calibration.drift->se);
}

TEST(Calibration, OneRunTellsNothing) {
  const Calibration calibration = calibrate({noisy_runs(1, 1).front()});
  EXPECT_FALSE(calibration.loss_sd || calibration.time_cv || calibration.drift);
  EXPECT_FALSE(calibration.is_reproducible);
  EXPECT_FALSE(derived_policy(calibration, 5));
}

TEST(Calibration, OtherBitsAreNoReproduction) {
  std::vector<NoiseRun> runs = noisy_runs(3, 1);
  runs.back().loss_digest = "other";
  EXPECT_FALSE(calibrate(runs).is_reproducible);
}

TEST(Calibration, IsKeptAsItIs) {
  const Calibration calibration = calibrate(noisy_runs(4, 9));
  const core::Json json = core::Json::parse(to_json(calibration).dump());
  EXPECT_EQ(to_json(read_calibration(json, "c")).dump(), to_json(calibration).dump());
}

/// With the derived margins an unchanged candidate passes its time check as often as was asked.
TEST(CalibrationSimulation, DerivedMarginsGiveThePowerThatWasAskedFor) {
  constexpr int kRuns = 6, kRepetitions = 1000;
  const std::optional<GatePolicy> policy = derived_policy(calibrate(noisy_runs(400, 3, 0.0)), kRuns, 0.8);
  ASSERT_TRUE(policy);
  EXPECT_GT(policy->time.margin, 0.002);
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  int passed = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    Arm arms[2];
    for (Arm& arm : arms) {
      arm.cells.push_back({.label = "cell", .config_digest = "c", .runs = {}});
      for (int run = 0; run < kRuns; ++run) {
        arm.cells.front().runs.push_back({.seed = static_cast<std::uint64_t>(run),
                                          .outcome = "completed",
                                          .val_loss = 3.0,
                                          .step_ms = 100.0 * std::exp(kTimeCv * normal(random)),
                                          .loss_digest = "same"});
      }
    }
    GatePolicy only_time = *policy;
    only_time.memory.gates = false;
    for (const GateCheck& check : evaluate_gate(arms[0], arms[1], only_time, {.is_interleaved = true}).checks) {
      const bool is_time = check.metric == GateMetric::kTime;
      if (is_time && (check.verdict == Verdict::kUnchanged || check.verdict == Verdict::kImproved)) ++passed;
    }
  }
  EXPECT_NEAR(static_cast<double>(passed) / kRepetitions, 0.8, 0.06);
}

}  // namespace
}  // namespace nanobench::reports
