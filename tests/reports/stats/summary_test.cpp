#include "reports/stats/summary.h"

#include <gtest/gtest.h>
#include <cmath>

#include "core/base/error.h"

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

using Values = std::vector<double>;

TEST(Moments, OffsetsAndScalesKeepTheSpread) {
  EXPECT_NEAR(moments_of(Values{1e9 + 1, 1e9 + 2, 1e9 + 3})->sd, 1.0, 1e-12);
  EXPECT_NEAR(moments_of(Values{1e-200, 2e-200, 3e-200})->sd, 1e-200, 1e-212);
  EXPECT_NEAR(moments_of(Values{1e200, 2e200, 3e200})->sd / 1e200, 1.0, 1e-12);
  EXPECT_DOUBLE_EQ(moments_of(Values{2, 4, 4, 4, 5, 5, 7, 9})->se(), std::sqrt(32.0 / 7.0 / 8.0));
}

TEST(Moments, RoundingIsNoSpread) {
  EXPECT_FALSE(moments_of(Values{0.1 + 0.2, 0.3, 0.3})->has_spread());
  EXPECT_FALSE(moments_of(Values{5.0, 5.0})->has_spread());
  EXPECT_TRUE(moments_of(Values{3.28, 3.2800000001})->has_spread());
  EXPECT_TRUE(moments_of(Values{1e-17, 2e-17})->has_spread()) << "small is not rounding";
  EXPECT_FALSE(moments_of(Values{1e-17, 2e-17}, 3.28)->has_spread()) << "of differences of numbers near 3 it is";
}

TEST(Moments, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(moments_of(Values{}));
  EXPECT_FALSE(moments_of(Values{1.0}));
  EXPECT_FALSE(moments_of(Values{1.0, std::nan("")}));
  EXPECT_FALSE(moments_of(Values{1.7e308, 1.7e308})) << "the sum overflows";
  EXPECT_FALSE(mean_of(Values{}));
  EXPECT_FALSE(mean_of(Values{INFINITY}));
}

TEST(CompensatedSum, KeepsWhatPlainSumsLose) {
  EXPECT_DOUBLE_EQ(compensated_sum(Values{1e16, 1.0, -1e16, 1.0}), 2.0);
  EXPECT_DOUBLE_EQ(compensated_sum(Values{}), 0.0);
}

TEST(PairedMoments, NeedPairs) {
  EXPECT_DOUBLE_EQ(paired_moments(Values{3.0, 5.0}, Values{1.0, 1.0})->moments.mean, 3.0);
  EXPECT_THROW(paired_moments(Values{1.0}, Values{1.0, 2.0}), core::Error);
}

}  // namespace
}  // namespace nanobench::reports
