#include "reports/stats/summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"

namespace nanobench::reports {
namespace {

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
