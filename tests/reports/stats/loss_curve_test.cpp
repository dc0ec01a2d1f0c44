#include "reports/stats/loss_curve.h"

#include <gtest/gtest.h>
#include <cmath>

#include "core/base/error.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

using Reached = TimeToTarget::Status;

const std::vector<CurvePoint> kCurve = {{std::nullopt, 5.0}, {10.0, 4.0}, {20.0, 3.0}, {30.0, 3.5}, {40.0, 2.0}};

TEST(TimeToTarget, InterpolatesBetweenValidations) {
  EXPECT_DOUBLE_EQ(time_to_target(kCurve, 3.25).seconds, 17.5);
  EXPECT_DOUBLE_EQ(time_to_target(kCurve, 3.0).seconds, 20.0) << "reached exactly at a validation";
}

TEST(TimeToTarget, TakesTheFirstCrossing) {
  EXPECT_DOUBLE_EQ(time_to_target(kCurve, 3.2).seconds, 18.0) << "later validations above the target do not count";
}

TEST(TimeToTarget, TheClockStandsAtZeroBeforeItStarts) {
  EXPECT_DOUBLE_EQ(time_to_target(kCurve, 4.5).seconds, 5.0);
}

TEST(TimeToTarget, NotReachedIsSaidAndNeverZero) {
  const TimeToTarget time = time_to_target(kCurve, 1.0);
  EXPECT_EQ(time.status, Reached::kNotReached);
  EXPECT_FALSE(time.is_reached());
}

TEST(TimeToTarget, MetBeforeTheClockStartsHasNoTime) {
  EXPECT_EQ(time_to_target(kCurve, 5.0).status, Reached::kBeforeClock);
  EXPECT_EQ(time_to_target(kCurve, 9.0).status, Reached::kBeforeClock);
}

TEST(TimeToTarget, ARunReachesItsOwnFinalLoss) {
  EXPECT_DOUBLE_EQ(time_to_target(kCurve, kCurve.back().loss).seconds, 40.0);
}

TEST(TimeToTarget, WithoutACurveThereIsNoAnswer) {
  EXPECT_EQ(time_to_target({}, 3.0).status, Reached::kNoCurve);
  EXPECT_EQ(time_to_target({{std::nullopt, 5.0}}, 3.0).status, Reached::kNoCurve);
}

TEST(TimeToTarget, ValuesThatAreNotFiniteAreLeftOut) {
  EXPECT_DOUBLE_EQ(time_to_target({{0.0, 4.0}, {5.0, std::nan("")}, {10.0, 2.0}}, 3.0).seconds, 5.0);
  EXPECT_FALSE(time_to_target({{0.0, 4.0}, {5.0, std::nan("")}}, 3.0).is_reached());
}

using Points = std::vector<SlopePoint>;
using Status = EqualLoss::Status;

Estimate estimate_at(const nlohmann::json& list) {
  return {.value = list[0], .se = list[1], .df = list[2]};
}

EqualLossInput typical() {
  return {.loss_change = {.value = 0.002, .se = 0.0005, .df = 8},
          .slope = {.value = -1e-4, .se = 1e-5, .df = 8},
          .step_time_ratio = {.value = 1.0, .se = 0.002, .df = 8},
          .steps = 1000,
          .step_s = 0.1};
}

TEST(FitLine, AgreesWithReference) {
  for (const nlohmann::json& entry : vectors("lines")) {
    const auto x = list_of(entry, "x");
    const auto loss = list_of(entry, "loss");
    const auto weight = list_of(entry, "weight");
    Points points;
    for (std::size_t i = 0; i < x.size(); ++i) points.push_back({.x = x[i], .loss = loss[i], .weight = weight[i]});
    const auto fit = fit_line(points);
    ASSERT_TRUE(fit);
    EXPECT_NEAR(fit->slope.value, entry.at("slope").get<double>(), 1e-9 * fit->slope.se + 1e-9 * 2e-4);
    expect_close(fit->slope.se, entry.at("se"), entry.dump());
    expect_close(fit->residual_sd, entry.at("residual_sd"), entry.dump());
    expect_close(fit->slope.df, entry.at("df"), entry.dump());
  }
}

TEST(FitLine, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(fit_line(Points{{1, 3.0}, {2, 2.9}})) << "two points have no residual";
  EXPECT_FALSE(fit_line(Points{{1, 3.0}, {1, 2.9}, {1, 2.8}})) << "one x has no slope";
  EXPECT_FALSE(fit_line(Points{{1, 3.0}, {2, 2.9}, {3, 2.8}})) << "exactly on a line";
  EXPECT_FALSE(fit_line(Points{{1, 3.0}, {2, std::nan("")}, {3, 2.7}}));
  EXPECT_FALSE(fit_line(Points{{1, 3.0}, {2, 2.8, 0.0}, {3, 2.7}})) << "a weight of 0";
}

TEST(Windows, TakeWhatIsAsked) {
  const Points points = {{0, 5.0}, {100, 4.0}, {200, 3.5}, {300, 3.3}, {400, 3.2}};
  EXPECT_EQ(in_window(points, 200, 300).size(), 2U);
  const Points nearest = near_target(points, 3.4, 3);
  ASSERT_EQ(nearest.size(), 3U);
  EXPECT_DOUBLE_EQ(nearest[0].x, 200);
  EXPECT_DOUBLE_EQ(nearest[2].x, 400);
  EXPECT_EQ(near_target(points, 3.4, 9).size(), 5U);
}

TEST(SlopeOverRuns, TakesTheErrorFromTheScatter) {
  const std::vector<Points> runs = {{{0, 3.0}, {10, 2.0}}, {{0, 3.0}, {10, 1.8}}, {{0, 3.0}, {10, 2.2}}};
  const auto slope = slope_over_runs(runs);
  ASSERT_TRUE(slope);
  EXPECT_NEAR(slope->value, -0.1, 1e-14);
  EXPECT_NEAR(slope->se, 0.02 / std::sqrt(3.0), 1e-14);
  EXPECT_DOUBLE_EQ(slope->df, 2.0);
  EXPECT_FALSE(slope_over_runs(std::vector<Points>{runs[0]})) << "one run has no scatter";
  EXPECT_FALSE(slope_over_runs(std::vector<Points>{runs[0], {{0, 3.0}}}));
}

TEST(EqualLoss, AgreesWithReference) {
  for (const nlohmann::json& entry : vectors("equal_loss")) {
    const EqualLoss result = at_equal_loss({.loss_change = estimate_at(entry.at("loss")),
                                            .slope = estimate_at(entry.at("slope")),
                                            .step_time_ratio = estimate_at(entry.at("ratio")),
                                            .steps = entry.at("steps"),
                                            .step_s = entry.at("step_s")},
                                           entry.at("level"));
    ASSERT_TRUE(result.is_converted());
    const std::string what = entry.dump();
    expect_close(result.steps.value, entry.at("more_steps"), what);
    expect_close(result.steps.se, entry.at("steps_se"), what);
    expect_close(result.steps.df, entry.at("steps_df"), what);
    expect_close(result.steps_interval.low, entry.at("steps_low"), what);
    expect_close(result.steps_interval.high, entry.at("steps_high"), what);
    expect_close(result.seconds.value, entry.at("seconds"), what);
    expect_close(result.seconds.se, entry.at("seconds_se"), what);
    expect_close(result.seconds.df, entry.at("seconds_df"), what);
  }
}

TEST(EqualLoss, AWorseLossCostsStepsAndAFasterStepBuysThemBack) {
  EqualLossInput input = typical();
  EXPECT_NEAR(at_equal_loss(input).steps.value, 20.0, 1e-9);
  EXPECT_NEAR(at_equal_loss(input).seconds.value, 2.0, 1e-9);
  input.step_time_ratio.value = 1000.0 / 1020.0;
  EXPECT_NEAR(at_equal_loss(input).seconds.value, 0.0, 1e-9);
  input.loss_change.value = -0.002;
  EXPECT_LT(at_equal_loss(input).seconds_interval.high, 0.0);
}

TEST(EqualLoss, KnownPartsAddNoError) {
  EqualLossInput input = typical();
  input.slope.se = 0.0;
  input.step_time_ratio.se = 0.0;
  const EqualLoss result = at_equal_loss(input);
  EXPECT_NEAR(result.steps.se, 5.0, 1e-9);
  EXPECT_NEAR(result.seconds.se, 0.5, 1e-9);
  const ConfidenceInterval plain = interval_of(result.seconds);
  EXPECT_NEAR(result.seconds_interval.low, plain.low, 1e-9);
  EXPECT_NEAR(result.seconds_interval.high, plain.high, 1e-9);
}

TEST(EqualLoss, AnUncertainSlopeIsRefused) {
  EqualLossInput input = typical();
  input.slope.se = 5e-5;
  EXPECT_EQ(at_equal_loss(input).status, Status::kSlopeUncertain);
  input = typical();
  input.slope.value = 1e-4;
  EXPECT_EQ(at_equal_loss(input).status, Status::kSlopeUncertain) << "training does not help any more";
}

TEST(EqualLoss, MissingIsSaid) {
  EqualLossInput input = typical();
  input.loss_change.value = std::nan("");
  EXPECT_EQ(at_equal_loss(input).status, Status::kMissing);
  input = typical();
  input.steps = 0;
  EXPECT_EQ(at_equal_loss(input).status, Status::kMissing);
  input = typical();
  input.slope.df = 0;
  EXPECT_EQ(at_equal_loss(input).status, Status::kMissing);
  EXPECT_EQ(at_equal_loss({}).status, Status::kMissing);
  EXPECT_THROW(at_equal_loss(typical(), 0.0), core::Error);
}

/// Measured values about a truth, with errors as a small experiment gives them.
Estimate measure(NormalDraws& draws, double truth, double sd, int n) {
  return estimate_of(*moments_of(draws.sample(n, truth, sd)));
}

TEST(EqualLoss, IntervalsHoldWhatTheyPromise) {
  NormalDraws draws(121);
  constexpr int kRepetitions = 10000;
  int steps_held = 0;
  int seconds_held = 0;
  int converted = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    const EqualLoss result = at_equal_loss({.loss_change = measure(draws, 0.004, 0.002, 6),
                                            .slope = measure(draws, -1e-4, 3e-5, 8),
                                            .step_time_ratio = measure(draws, 0.99, 0.01, 5),
                                            .steps = 1000,
                                            .step_s = 0.1});
    if (!result.is_converted()) continue;
    ++converted;
    steps_held += result.steps_interval.contains(40.0) ? 1 : 0;
    seconds_held += result.seconds_interval.contains(((1000 + 40.0) * 0.99 - 1000) * 0.1) ? 1 : 0;
  }
  EXPECT_GT(converted, 0.99 * kRepetitions);
  // The pieces' degrees of freedom are joined by an approximation, which leaves a little.
  EXPECT_GE(steps_held, converted * (0.94 - slack(0.95, converted)));
  EXPECT_GE(seconds_held, converted * (0.94 - slack(0.95, converted)));
  EXPECT_LE(seconds_held, converted * (0.98 + slack(0.95, converted)));
}

}  // namespace
}  // namespace nanobench::reports
