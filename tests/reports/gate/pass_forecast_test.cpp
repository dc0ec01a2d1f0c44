// Margins from the pairs of a calibration, and the chance to pass before a gate runs, against simulated gates.
#include "reports/gate/pass_forecast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "reports/gate/calibration.h"
#include "reports/gate/gate.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

/// A trainer whose seeds differ far more than two runs of one seed, as seeds share data order and initial values.
struct SeededTrainer {
  double seed_sd = 0.03;
  double run_sd = 0.005;
  double time_cv = 0.01;
  NormalDraws draws;

  explicit SeededTrainer(std::uint64_t seed) : draws(seed) {}

  /// Both sides of `seeds` pairs in each cell; the candidate is worse by these.
  std::pair<Arm, Arm> arms(int cells, int seeds, double loss_harm = 0.0, double time_harm = 0.0) {
    Arm baseline{.suite = "s", .scale = "smoke", .data_digest = "d", .hardware = "h", .hosts = {"one"}};
    for (int cell = 0; cell < cells; ++cell) {
      ArmCell& added = baseline.cells.emplace_back();
      added.label = added.config_digest = "c" + std::to_string(cell);
      for (int seed = 1; seed <= seeds; ++seed)
        added.runs.push_back({.seed = static_cast<std::uint64_t>(seed), .outcome = core::RunOutcome::kCompleted});
    }
    Arm candidate = baseline;
    for (int cell = 0; cell < cells; ++cell) {
      for (int seed = 0; seed < seeds; ++seed) {
        const double common = draws.next(3.0, seed_sd);
        fill(baseline.cells[static_cast<std::size_t>(cell)].runs[static_cast<std::size_t>(seed)], common, 0.0, 0.0);
        fill(candidate.cells[static_cast<std::size_t>(cell)].runs[static_cast<std::size_t>(seed)], common, loss_harm,
             time_harm);
      }
    }
    return {baseline, candidate};
  }

  Calibration calibrated(int pairs) {
    const auto [first, second] = arms(1, pairs);
    std::vector<NoiseRun> runs;
    for (std::size_t pair = 0; pair < static_cast<std::size_t>(pairs); ++pair) {
      int arm = 0;
      for (const Arm* const side : {&first, &second}) {
        const ArmRun& run = side->cells.front().runs[pair];
        runs.push_back({.arm = arm++,
                        .seed = run.seed,
                        .val_loss = *run.val_loss,
                        .clock_ms = *run.clock_ms,
                        .peak_bytes = *run.peak_bytes,
                        .hours = 0.01 * static_cast<double>(runs.size()),
                        .loss_digest = run.loss_digest});
      }
    }
    return calibrate(runs);
  }

 private:
  void fill(ArmRun& run, double common, double loss_harm, double time_harm) {
    run.val_loss = common + draws.next(loss_harm, run_sd);
    run.clock_ms = 1000.0 * (1.0 + time_harm) * std::exp(draws.next(0.0, time_cv));
    run.peak_bytes = 1e8;
    run.loss_digest = std::to_string(*run.val_loss);
  }
};

bool passes_in(const GateResult& result, GateMetric metric, const std::string& cell = "c0") {
  for (const GateCheck& check : result.checks) {
    if (check.metric == metric && check.cell == cell)
      return check.verdict == Verdict::kUnchanged || check.verdict == Verdict::kImproved ||
             check.verdict == Verdict::kNotWorse;
  }
  ADD_FAILURE() << "no such check";
  return false;
}

const GatePolicy kNarrow{.loss = {.margin = 1e-9}, .time = {.margin = 1e-9}};

struct Shares {
  double loss = 0.0, time = 0.0;
};

/// How often both metrics of the first cell pass with the margins of a small calibration.
Shares pass_shares(int cells, int seeds, double harm_in_margins, int repetitions) {
  SeededTrainer trainer(static_cast<std::uint64_t>(10 * cells + seeds));
  Shares shares;
  for (int i = 0; i < repetitions; ++i) {
    const auto policy = derived_policy(trainer.calibrated(6), {.n = seeds, .cells = cells}, kNarrow);
    const auto [baseline, candidate] =
        trainer.arms(cells, seeds, harm_in_margins * policy->loss.margin, harm_in_margins * policy->time.margin);
    const GateResult result = evaluate_gate(baseline, candidate, *policy, {.is_interleaved = true});
    shares.loss += passes_in(result, GateMetric::kLoss) ? 1.0 / repetitions : 0.0;
    shares.time += passes_in(result, GateMetric::kTime) ? 1.0 / repetitions : 0.0;
  }
  return shares;
}

/// Both bounds: with the spread over seeds in place of the pairs', nearly every unchanged candidate would pass.
TEST(CalibratedMarginsSimulation, AnUnchangedCandidatePassesAsOftenAsPromised) {
  constexpr int kRepetitions = 500;
  for (const auto& [cells, seeds] : {std::pair(1, 3), std::pair(1, 8), std::pair(4, 2), std::pair(4, 5)}) {
    const Shares shares = pass_shares(cells, seeds, 0.0, kRepetitions);
    std::cout << cells << " cells, " << seeds << " seeds: loss " << shares.loss << ", time " << shares.time << "\n";
    // Where a cell's own spread is far from the others', it stands alone, which few seeds make a little rarer to pass.
    const double tolerance = slack(0.8, kRepetitions) + (cells > 1 ? 0.03 : 0.0);
    EXPECT_NEAR(shares.loss, 0.8, tolerance) << cells << " cells, " << seeds << " seeds";
    EXPECT_NEAR(shares.time, 0.8, tolerance) << cells << " cells, " << seeds << " seeds";
  }
}

TEST(CalibratedMarginsSimulation, HarmOfTheMarginPassesAtMostAsOftenAsAlpha) {
  constexpr int kRepetitions = 500;
  for (const auto& [cells, seeds] : {std::pair(1, 5), std::pair(4, 3)}) {
    const Shares shares = pass_shares(cells, seeds, 1.0, kRepetitions);
    EXPECT_LE(shares.loss, 0.05 + slack(0.05, kRepetitions));
    EXPECT_LE(shares.time, 0.05 + slack(0.05, kRepetitions));
  }
}

TEST(CalibratedMargins, FollowThePairsAndNotTheSeeds) {
  SeededTrainer trainer(3);
  const Calibration calibration = trainer.calibrated(400);
  EXPECT_NEAR(*calibration.loss_sd, 0.03, 0.003);
  EXPECT_NEAR(*calibration.loss_pair_sd, 0.005 * std::sqrt(2.0), 0.0008);
  const GateNoise noise = noise_of_gate(calibration, true);
  EXPECT_EQ(noise.loss->sd, *calibration.loss_pair_sd);
  EXPECT_NEAR(noise.time->sd, 0.01 * std::sqrt(2.0), 0.0015);
  EXPECT_FALSE(noise_of_gate(calibration, false).time->is_paired) << "an earlier baseline has no times beside it";
  // 0.8 of power at 5 seeds takes 3.07 standard errors of the pairs' mean.
  EXPECT_NEAR(derived_policy(calibration, {.n = 5}, kNarrow)->loss.margin, 0.005 * std::sqrt(2.0 / 5.0) * 3.07, 0.001);
}

TEST(CalibratedMargins, CellsThatShareTheirSpreadHoldNarrowerOnes) {
  SeededTrainer trainer(4);
  const Calibration calibration = trainer.calibrated(12);
  const double alone = derived_policy(calibration, {.n = 2}, kNarrow)->loss.margin;
  const double shared = derived_policy(calibration, {.n = 2, .cells = 4}, kNarrow)->loss.margin;
  EXPECT_LT(shared, 0.6 * alone);
}

GatePolicy loss_and_time(double loss, double time) {
  GatePolicy policy{.loss = {.margin = loss}, .time = {.margin = time}};
  policy.memory.gates = policy.cost.gates = false;
  return policy;
}

/// The noise of a SeededTrainer, known exactly.
GateNoise known_noise() {
  const auto noise = [](double sd) { return CheckNoise{.sd = std::sqrt(2.0) * sd, .df = 1e4}; };
  return {.loss = noise(0.005), .time = noise(0.01)};
}

/// The forecast from a good calibration is the share of simulated gates that pass, over a range of chances.
TEST(PassForecastSimulation, IsTheShareOfGatesThatPass) {
  constexpr int kRepetitions = 1500;
  for (const double scale : {0.5, 1.0, 1.6}) {
    SeededTrainer trainer(7);
    const GatePolicy policy = loss_and_time(0.009 * scale, 0.018 * scale);
    const GateSize size{.n = 5, .cells = 2};
    const PassForecast forecast = forecast_pass(known_noise(), policy, size, policy.alpha);
    const double share = reports::share_of(kRepetitions, [&] {
      const auto [baseline, candidate] = trainer.arms(size.cells, size.n);
      return evaluate_gate(baseline, candidate, policy, {.is_interleaved = true}).answer == GateAnswer::kPass;
    });
    std::cout << "forecast " << *forecast.chance << ", passed " << share << "\n";
    // Two cells share their spread, so that their checks are a little dependent.
    EXPECT_NEAR(*forecast.chance, share, slack(share, kRepetitions) + 0.04) << scale;
  }
}

TEST(PassForecastSimulation, TheSeedsAndMarginsThatItNamesSuffice) {
  constexpr int kRepetitions = 1000;
  SeededTrainer trainer(8);
  const GateNoise noise = known_noise();
  const GatePolicy policy = loss_and_time(0.009, 0.018);
  const PassForecast forecast = forecast_pass(noise, policy, {.n = 3}, policy.alpha);
  ASSERT_TRUE(forecast.seeds);
  EXPECT_LT(*forecast.chance, PassForecast::kAimedChance);
  const auto share = [&](int seeds, const GatePolicy& used) {
    return reports::share_of(kRepetitions, [&] {
      const auto [baseline, candidate] = trainer.arms(1, seeds);
      return evaluate_gate(baseline, candidate, used, {.is_interleaved = true}).answer == GateAnswer::kPass;
    });
  };
  EXPECT_GE(share(*forecast.seeds, policy), 0.9 - slack(0.9, kRepetitions));
  EXPECT_LT(share(*forecast.seeds - 2, policy), 0.9) << "no more than it takes";
  const GatePolicy wide = loss_and_time(*forecast.metrics[0].needed, *forecast.metrics[1].needed);
  EXPECT_NEAR(share(3, wide), 0.9, slack(0.9, kRepetitions) + 0.01);
}

TEST(PassForecast, WhatIsNotKnownIsNotInvented) {
  const GatePolicy policy = loss_and_time(0.01, 0.02);
  const PassForecast nothing = forecast_pass({}, policy, {.n = 5}, 0.05);
  EXPECT_FALSE(nothing.chance || nothing.seeds || nothing.is_low());
  ASSERT_EQ(nothing.metrics.size(), 2U);
  EXPECT_FALSE(nothing.metrics[0].sd);
  const PassForecast same_bits = forecast_pass({.loss = CheckNoise{.sd = 0.0, .df = 5.0}}, policy, {.n = 5}, 0.05);
  EXPECT_EQ(*same_bits.chance, 1.0);
  const PassForecast single = forecast_pass({.loss = CheckNoise{.sd = 0.001, .df = 5.0}}, policy, {.n = 1}, 0.05);
  EXPECT_EQ(*single.chance, 0.0) << "one run of each side proves nothing";
  ASSERT_TRUE(single.seeds);
  EXPECT_GE(*single.seeds, 2) << "more do";
  const GatePolicy no_margin = loss_and_time(0.0, 0.02);
  const PassForecast never = forecast_pass({.loss = CheckNoise{.sd = 0.01, .df = 50.0}}, no_margin, {.n = 5}, 0.05);
  EXPECT_NEAR(*never.chance, 0.05, 1e-9) << "without a margin, only a false alarm passes";
  EXPECT_FALSE(never.seeds) << "no number of seeds proves that nothing at all has changed";
  EXPECT_TRUE(never.is_low());
}

}  // namespace
}  // namespace nanobench::reports
