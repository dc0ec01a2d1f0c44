#include "reports/trend/series.h"

#include <cmath>

#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

using Values = std::vector<double>;

TEST(Shift, RatioIsByWelchOfTheLogarithms) {
  const auto shift = ratio_shift(Values{100, 101, 99, 100}, Values{102, 103, 101, 102});
  ASSERT_TRUE(shift && shift->interval);
  EXPECT_NEAR(shift->value, 0.02, 1e-4);
  EXPECT_LT(shift->interval->low, 0.02);
  EXPECT_GT(shift->interval->low, 0.0);
  EXPECT_TRUE(shift->is_clear());
}

TEST(Shift, WithoutSpreadADifferenceIsExact) {
  const auto shift = ratio_shift(Values{100, 100}, Values{104, 104});
  ASSERT_TRUE(shift);
  EXPECT_FALSE(shift->interval);
  EXPECT_TRUE(shift->is_clear());
  EXPECT_NEAR(shift->value, 0.04, 1e-12);
  EXPECT_FALSE(ratio_shift(Values{100, 100}, Values{100, 100})->is_clear());
  EXPECT_FALSE(ratio_shift(Values{100}, Values{104})->is_clear()) << "one value has no spread that could be known";
}

TEST(Shift, WhatIsNoRatioIsNothing) {
  EXPECT_FALSE(ratio_shift(Values{}, Values{1.0}));
  EXPECT_FALSE(ratio_shift(Values{0.0, 1.0}, Values{1.0, 2.0}));
  EXPECT_FALSE(ratio_shift(Values{1.0, std::nan("")}, Values{1.0, 2.0}));
}

std::vector<SeriesValue> losses(std::uint64_t first_seed, const Values& values) {
  std::vector<SeriesValue> result;
  for (const double value : values) result.push_back({.seed = first_seed++, .value = value});
  return result;
}

TEST(Shift, LossesArePairedBySeedAndRepetitionsAddNothing) {
  const auto before = losses(1, {3.20, 3.25, 3.30});
  const auto after = losses(1, {3.21, 3.262, 3.308});
  const auto shift = loss_shift(before, after);
  ASSERT_TRUE(shift && shift->interval);
  EXPECT_NEAR(shift->value, 0.01, 1e-12);
  EXPECT_TRUE(shift->is_clear()) << "the seeds differ by more, their differences do not";

  std::vector<SeriesValue> repeated;
  for (int i = 0; i < 5; ++i) repeated.insert(repeated.end(), before.begin(), before.end());
  EXPECT_NEAR(loss_shift(repeated, after)->interval->low, shift->interval->low, 1e-12);
}

TEST(Shift, LossesOfOtherSeedsAreTwoSamples) {
  const auto shift = loss_shift(losses(1, {3.20, 3.25, 3.30}), losses(11, {3.21, 3.262, 3.308}));
  ASSERT_TRUE(shift && shift->interval);
  EXPECT_FALSE(shift->is_clear());
}

TEST(Shift, OneSeedHasNoInterval) {
  const auto shift = loss_shift(losses(1, {3.20}), losses(1, {3.25}));
  ASSERT_TRUE(shift);
  EXPECT_FALSE(shift->interval);
  EXPECT_FALSE(shift->is_clear());
  EXPECT_FALSE(loss_shift({}, losses(1, {3.0})));
}

TEST(ShiftSimulation, TheIntervalHoldsTheTruth) {
  NormalDraws draws(71);
  constexpr int kRepetitions = 2000;
  const double held = share_of(kRepetitions, [&] {
    Values before = draws.sample(6, 100.0, 1.0), after = draws.sample(9, 102.0, 2.0);
    return ratio_shift(before, after)->interval->contains(0.02);
  });
  expect_share(held, 0.95, kRepetitions, "coverage");
}

}  // namespace
}  // namespace nanobench::reports
