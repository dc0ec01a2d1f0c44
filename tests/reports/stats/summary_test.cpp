#include "reports/stats/summary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nanobench::reports {
namespace {

const double kNan = std::nan("");

TEST(Summary, MeanAndSampleDeviation) {
  const Summary summary = summarise(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(summary.n, 8);
  EXPECT_DOUBLE_EQ(*summary.mean, 5.0);
  EXPECT_DOUBLE_EQ(*summary.sd, std::sqrt(32.0 / 7.0));
}

TEST(Summary, OneValueHasNoSpreadAndNoneHasNoMean) {
  EXPECT_FALSE(summarise(std::vector<double>{3.0}).sd);
  EXPECT_FALSE(summarise(std::vector<double>{}).mean);
  EXPECT_EQ(summarise(std::vector<double>{}).n, 0);
}

TEST(Summary, NotANumberIsNoValue) {
  const Summary summary = summarise(std::vector<double>{kNan, 3.0, INFINITY});
  EXPECT_EQ(summary.n, 1);
  EXPECT_DOUBLE_EQ(*summary.mean, 3.0);
}

TEST(Summary, LargeOffsetKeepsTheSpread) {
  const Summary summary = summarise(std::vector<double>{1e9 + 1, 1e9 + 2, 1e9 + 3});
  EXPECT_NEAR(*summary.sd, 1.0, 1e-6);
}

TEST(Median, OddEvenAndEmpty) {
  EXPECT_DOUBLE_EQ(*median({5, 1, 3}), 3);
  EXPECT_DOUBLE_EQ(*median({5, 1, 3, 100}), 4);
  EXPECT_DOUBLE_EQ(*median({kNan, 7}), 7);
  EXPECT_FALSE(median({}));
  EXPECT_FALSE(median({kNan}));
}

TEST(Effect, PairsBySeed) {
  // The seeds differ much, the effect does not: pairing keeps the spread of the differences only.
  const std::optional<Effect> effect = difference({{1, 3.0}, {2, 4.0}, {3, 5.0}}, {{1, 3.1}, {2, 4.1}, {3, 5.1}});
  ASSERT_TRUE(effect);
  EXPECT_TRUE(effect->is_paired);
  EXPECT_EQ(effect->n, 3);
  EXPECT_NEAR(effect->value, -0.1, 1e-12);
  EXPECT_NEAR(*effect->sd, 0.0, 1e-12);
}

TEST(Effect, UsesOnlyCommonSeeds) {
  const std::optional<Effect> effect = difference({{1, 3.0}, {9, 100.0}}, {{1, 2.0}, {7, -50.0}});
  ASSERT_TRUE(effect);
  EXPECT_DOUBLE_EQ(effect->value, 1.0);
  EXPECT_EQ(effect->n, 1);
  EXPECT_FALSE(effect->sd) << "one pair has no spread";
}

TEST(Effect, WithoutCommonSeedsComparesMeansWithoutASpread) {
  const std::optional<Effect> effect = difference({{1, 3.0}, {2, 5.0}}, {{3, 2.0}, {4, 4.0}});
  ASSERT_TRUE(effect);
  EXPECT_FALSE(effect->is_paired);
  EXPECT_DOUBLE_EQ(effect->value, 1.0);
  EXPECT_FALSE(effect->sd);
}

TEST(Effect, NothingAgainstNothingIsNothing) {
  EXPECT_FALSE(difference({}, {{1, 1.0}}));
  EXPECT_FALSE(difference({{1, 1.0}}, {}));
  EXPECT_FALSE(difference({{1, kNan}}, {{1, 1.0}}));
}

TEST(SpeedUp, IsReferenceOverValue) {
  EXPECT_DOUBLE_EQ(speed_up({{1, 50.0}}, {{1, 100.0}})->value, 2.0);
  EXPECT_FALSE(speed_up({{1, 0.0}}, {{1, 100.0}})) << "no step takes no time";
}

}  // namespace
}  // namespace nanobench::reports
