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

/// Two seconds of a run of 100: 0.002 nats worse where a second buys 0.001.
EqualLossInput typical() {
  return {.seconds = {.value = 2.0, .se = 0.5, .df = 8},
          .loss_change = 0.002,
          .gain = {.value = 0.001, .se = 0.0001, .df = 8},
          .reference_s = 100.0};
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

TEST(SlopeOf, NeedsTwoPlacesOnly) {
  EXPECT_NEAR(*slope_of(Points{{0, 3.0}, {10, 1.8}}), -0.12, 1e-14);
  EXPECT_FALSE(slope_of(Points{{0, 3.0}}));
  EXPECT_FALSE(slope_of(Points{{0, 3.0}, {0, 2.0}}));
}

/// The candidate's time relative to the baseline's, on the estimate's scale.
double on_scale(const EqualLossInput& input, double seconds) {
  return input.reference_s * std::log1p(seconds / input.reference_s);
}

/// At an end of Fieller's interval, the statistic of that truth is exactly critical.
TEST(EqualLoss, TheIntervalEndsWhereTheTestWouldRejectThem) {
  for (const double se_of_gain : {0.0, 1e-4, 2.5e-4}) {
    for (const double seconds : {2.0, -3.0, 0.5}) {
      EqualLossInput input = typical();
      input.gain.se = se_of_gain;
      input.seconds.value = seconds;
      const EqualLoss result = at_equal_loss(input);
      ASSERT_TRUE(result.is_converted());
      const double t = -t_quantile(0.025, 8);
      for (const double end : {result.interval.low, result.interval.high}) {
        const double x = on_scale(input, end), time = seconds - 0.002 / 0.001;
        const double error = std::hypot(input.seconds.se, se_of_gain / input.gain.value * (time - x));
        EXPECT_NEAR(std::abs(seconds - x) / error, t, 1e-9) << se_of_gain << ", " << seconds;
      }
      EXPECT_LT(result.interval.low, result.seconds);
      EXPECT_GT(result.interval.high, result.seconds);
    }
  }
}

TEST(EqualLoss, APureChangeOfTimeIsExact) {
  EqualLossInput input = typical();
  input.loss_change = 0.0;
  input.seconds = {.value = 100.0 * std::log(0.25), .se = 1.0, .df = 8};  // a quarter of the time
  const EqualLoss result = at_equal_loss(input);
  EXPECT_NEAR(result.seconds, -75.0, 1e-12);
  EXPECT_GT(result.interval.low, -100.0);
  EXPECT_EQ(result.estimate.se, 1.0) << "the gain converts nothing";
}

TEST(EqualLoss, TheGainsErrorCountsInTheEstimateAndNotInTheTestOfNothing) {
  const EqualLoss result = at_equal_loss(typical());
  EXPECT_EQ(result.as_if_known.se, 0.5);
  EXPECT_NEAR(result.estimate.se, std::hypot(0.5, 0.2), 1e-12) << "a tenth of two seconds";
}

TEST(EqualLoss, AnUncertainGainIsRefused) {
  EqualLossInput input = typical();
  input.gain.se = 5e-4;
  EXPECT_EQ(at_equal_loss(input).status, Status::kSlopeUncertain);
  EXPECT_TRUE(at_equal_loss(input, 0.5).is_converted());
  input = typical();
  input.gain.value = -1e-4;
  EXPECT_EQ(at_equal_loss(input).status, Status::kSlopeUncertain) << "training does not help any more";
}

TEST(EqualLoss, MissingIsSaid) {
  EqualLossInput input = typical();
  input.seconds.value = std::nan("");
  EXPECT_EQ(at_equal_loss(input).status, Status::kMissing);
  input = typical();
  input.reference_s = 0;
  EXPECT_EQ(at_equal_loss(input).status, Status::kMissing);
  input = typical();
  input.gain.df = 0;
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
  constexpr double kGain = 1e-3, kLoss = 0.004, kLogTime = -0.01, kReference = 100.0;
  const double truth = kReference * std::expm1((kLoss / kGain + kReference * kLogTime) / kReference);
  int held = 0, converted = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    const Estimate gain = measure(draws, kGain, 2e-4, 8);
    std::vector<double> losses, seconds;
    for (int run = 0; run < 6; ++run) {
      losses.push_back(draws.next(kLoss, 0.001));
      seconds.push_back(losses.back() / gain.value + kReference * draws.next(kLogTime, 0.01));
    }
    const EqualLoss result = at_equal_loss({.seconds = estimate_of(*moments_of(seconds)),
                                            .loss_change = *mean_of(losses),
                                            .gain = gain,
                                            .reference_s = kReference});
    if (!result.is_converted()) continue;
    ++converted;
    held += result.interval.contains(truth) ? 1 : 0;
  }
  EXPECT_GT(converted, 0.99 * kRepetitions);
  EXPECT_GE(held, converted * (0.94 - slack(0.95, converted)));
  EXPECT_LE(held, converted * (0.98 + slack(0.95, converted)));
}

}  // namespace
}  // namespace nanobench::reports
