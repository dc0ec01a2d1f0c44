#include "reports/stats/loss_curve.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nanobench::reports {
namespace {

using Status = TimeToTarget::Status;

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
  EXPECT_EQ(time.status, Status::kNotReached);
  EXPECT_FALSE(time.is_reached());
}

TEST(TimeToTarget, MetBeforeTheClockStartsHasNoTime) {
  EXPECT_EQ(time_to_target(kCurve, 5.0).status, Status::kBeforeClock);
  EXPECT_EQ(time_to_target(kCurve, 9.0).status, Status::kBeforeClock);
}

TEST(TimeToTarget, ARunReachesItsOwnFinalLoss) {
  EXPECT_DOUBLE_EQ(time_to_target(kCurve, kCurve.back().loss).seconds, 40.0);
}

TEST(TimeToTarget, WithoutACurveThereIsNoAnswer) {
  EXPECT_EQ(time_to_target({}, 3.0).status, Status::kNoCurve);
  EXPECT_EQ(time_to_target({{std::nullopt, 5.0}}, 3.0).status, Status::kNoCurve);
}

TEST(TimeToTarget, ValuesThatAreNotFiniteAreLeftOut) {
  EXPECT_DOUBLE_EQ(time_to_target({{0.0, 4.0}, {5.0, std::nan("")}, {10.0, 2.0}}, 3.0).seconds, 5.0);
  EXPECT_FALSE(time_to_target({{0.0, 4.0}, {5.0, std::nan("")}}, 3.0).is_reached());
}

}  // namespace
}  // namespace nanobench::reports
