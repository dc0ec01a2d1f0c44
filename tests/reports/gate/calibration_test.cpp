#include "reports/gate/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
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
                      .clock_ms = 100.0 * std::exp(drift * hours + kTimeCv * normal(random)),
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
  EXPECT_FALSE(derived_policy(calibration, {.n = 5}));
}

TEST(Calibration, OtherBitsAreNoReproduction) {
  std::vector<NoiseRun> runs = noisy_runs(3, 1);
  runs.back().loss_digest = "other";
  EXPECT_FALSE(calibrate(runs).is_reproducible);
}

/// A machine whose noise a small calibration measures before an unchanged candidate is gated.
struct NoisyMachine {
  std::mt19937_64 random{4};
  std::normal_distribution<double> normal;

  ArmRun run(int seed) {
    return {.seed = static_cast<std::uint64_t>(seed),
            .outcome = core::RunOutcome::kCompleted,
            .val_loss = 3.0 + kLossSd * normal(random),
            .clock_ms = 100.0 * std::exp(kTimeCv * normal(random)),
            .peak_bytes = 1e8,
            .loss_digest = std::to_string(random())};
  }

  Arm arm(int runs) {
    Arm arm;
    arm.cells.push_back({.label = "cell", .config_digest = "c", .runs = {}});
    for (int seed = 0; seed < runs; ++seed) arm.cells.front().runs.push_back(run(seed));
    return arm;
  }

  /// Losses and times differ between the runs of one seed.
  Calibration calibrated(int pairs) {
    std::vector<NoiseRun> runs;
    for (int seed = 0; seed < pairs; ++seed) {
      for (int arm = 0; arm < 2; ++arm) {
        const ArmRun one = run(seed);
        runs.push_back({.arm = arm,
                        .seed = one.seed,
                        .val_loss = *one.val_loss,
                        .clock_ms = *one.clock_ms,
                        .peak_bytes = 1e8,
                        .hours = 0.01 * static_cast<double>(runs.size()),
                        .loss_digest = one.loss_digest});
      }
    }
    return calibrate(runs);
  }
};

bool passes(const GateResult& result, GateMetric metric) {
  return std::any_of(result.checks.begin(), result.checks.end(), [&](const GateCheck& check) {
    return check.metric == metric && (check.verdict == Verdict::kUnchanged || check.verdict == Verdict::kImproved ||
                                      check.verdict == Verdict::kNotWorse);
  });
}

/// With the margins of a small calibration, an unchanged candidate passes each check as often as was promised.
TEST(CalibrationSimulation, DerivedMarginsGiveThePowerThatWasAskedFor) {
  constexpr int kRepetitions = 2000;
  const GatePolicy narrow{.loss = {.margin = 1e-9}, .time = {.margin = 1e-9}};
  const double error = 3.0 * std::sqrt(0.8 * 0.2 / kRepetitions);
  for (const bool is_interleaved : {true, false}) {
    NoisyMachine machine;
    int loss = 0, time = 0;
    for (int i = 0; i < kRepetitions; ++i) {
      const auto policy = derived_policy(machine.calibrated(6), {.n = 5, .is_interleaved = is_interleaved}, narrow);
      ASSERT_TRUE(policy);
      const GateResult result =
          evaluate_gate(machine.arm(5), machine.arm(5), *policy, {.is_interleaved = is_interleaved});
      loss += passes(result, GateMetric::kLoss) ? 1 : 0;
      time += passes(result, GateMetric::kTime) ? 1 : 0;
    }
    const double loss_share = static_cast<double>(loss) / kRepetitions;
    const double time_share = static_cast<double>(time) / kRepetitions;
    std::cout << "promised 0.8, passed: loss " << loss_share << ", time " << time_share << "\n";
    EXPECT_NEAR(loss_share, 0.8, error);
    EXPECT_NEAR(time_share, 0.8, error) << (is_interleaved ? "in turn" : "not in turn");
  }
}

TEST(Calibration, LossMarginsComeFromThePairsAndOtherRoundingHasItsOwn) {
  const Calibration reproducible = calibrate(noisy_runs(6, 3));
  EXPECT_EQ(derived_policy(reproducible, {.n = 5})->loss.margin, GatePolicy{}.loss.margin) << "pairs are equal";
  EXPECT_GT(derived_policy(reproducible, {.n = 5, .draws_loss_anew = true})->loss.margin, kLossSd);
  const auto apart = derived_policy(reproducible, {.n = 5, .is_interleaved = false});
  EXPECT_NE(apart->time.margin, derived_policy(reproducible, {.n = 5})->time.margin);
}

TEST(Calibration, FewerPairsNeedWiderMargins) {
  Calibration calibration{.runs = 6, .pairs = 3, .seeds = 3, .time_pair_sd = 0.01};
  const double few = derived_policy(calibration, {.n = 5})->time.margin;
  calibration.pairs = calibration.seeds = 300;
  const double many = derived_policy(calibration, {.n = 5})->time.margin;
  EXPECT_GT(few, 1.2 * many);
}

}  // namespace
}  // namespace nanobench::reports
