#include "reports/claims/claim_evidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace nanobench::reports {
namespace {

using ablations::RuleForm;

TEST(MeasuredNumber, RatiosArePairedBySeed) {
  const MeasuredNumber number = number_of(RuleForm::kAfterOverBefore, {{1, 10.0}, {2, 20.0}, {3, 40.0}, {9, 1.0}},
                                          {{1, 5.0}, {2, 11.0}, {3, 19.0}});
  ASSERT_TRUE(number.value && number.interval);
  EXPECT_EQ(number.n, 3);
  EXPECT_NEAR(*number.value, std::cbrt(0.5 * 0.55 * 0.475), 1e-12);
  EXPECT_LT(number.interval->low, *number.value);
  EXPECT_GT(number.interval->high, *number.value);
  EXPECT_FALSE(number.is_exact);
}

TEST(MeasuredNumber, OneSeedHasNoInterval) {
  const MeasuredNumber number = number_of(RuleForm::kAfterMinusBefore, {{1, 3.0}}, {{1, 2.5}});
  EXPECT_EQ(number.value, -0.5);
  EXPECT_FALSE(number.interval);
  EXPECT_FALSE(number.is_exact);
}

TEST(MeasuredNumber, TheSameInEverySeedIsExact) {
  const MeasuredNumber number = number_of(RuleForm::kAfterMinusBefore, {{1, 3.0}, {2, 4.0}}, {{1, 3.0}, {2, 4.0}});
  EXPECT_EQ(number.value, 0.0);
  EXPECT_TRUE(number.is_exact);
}

TEST(MeasuredNumber, FormsTakeTheArmsThatTheyNeed) {
  EXPECT_EQ(number_of(RuleForm::kAfter, {}, {{1, 7.0}}).value, 7.0);
  EXPECT_EQ(number_of(RuleForm::kBefore, {{1, 8.0}}, {}).value, 8.0);
  EXPECT_EQ(number_of(RuleForm::kBeforeOverAfter, {{1, 8.0}}, {{1, 2.0}}).value, 4.0);
  EXPECT_FALSE(number_of(RuleForm::kAfterOverBefore, {{1, 8.0}}, {{2, 2.0}}).value);
  EXPECT_FALSE(number_of(RuleForm::kAfterOverBefore, {{1, 0.0}}, {{1, 2.0}}).value);
}

/// Logarithms of step times: whole, before, after, and two other cells, in `blocks` seeds with noise `sd`.
PlanValues made_plan(double whole, double before, double after, int blocks, double sd, std::mt19937& random) {
  std::normal_distribution<double> noise(0.0, sd);
  PlanValues values{.table = {}, .before = 1, .after = 2, .whole = 0};
  for (const double mean : {whole, before, after, 0.3, 0.4}) {
    auto& row = values.table.emplace_back();
    for (int block = 0; block < blocks; ++block) row.emplace_back(mean + 0.1 * block + (sd > 0 ? noise(random) : 0.0));
  }
  return values;
}

/// 95 % of the intervals of a share must hold it, though part and whole share a cell.
TEST(ShareInPlan, IntervalsHoldTheTruth) {
  std::mt19937 random(11);
  int held = 0, bounded = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    const MeasuredNumber number = share_in_plan(made_plan(0.20, 0.13, 0.0, 5, 0.02, random), 12.0);
    ASSERT_TRUE(number.value);
    if (!number.interval) continue;
    ++bounded;
    held += number.interval->contains(0.65) ? 1 : 0;
  }
  EXPECT_GT(bounded, kTrials * 99 / 100);
  EXPECT_NEAR(static_cast<double>(held) / bounded, 0.95, 0.02);
}

TEST(ShareInPlan, OfAWholeThatIsNotProvenHasNoInterval) {
  std::mt19937 random(3);
  int bounded = 0;
  for (int trial = 0; trial < 200; ++trial)
    bounded += share_in_plan(made_plan(0.001, 0.0005, 0.0, 4, 0.02, random), 12.0).interval ? 1 : 0;
  EXPECT_LT(bounded, 20);
}

TEST(ShareInPlan, NothingSavedHasNoShare) {
  std::mt19937 random(5);
  EXPECT_FALSE(share_in_plan(made_plan(-0.2, -0.1, 0.0, 4, 0.001, random), 12.0).value);
}

TEST(ShareInPlan, OneSeedHasAValueOnly) {
  std::mt19937 random(5);
  const MeasuredNumber number = share_in_plan(made_plan(0.2, 0.05, 0.0, 1, 0.0, random), 12.0);
  EXPECT_NEAR(number.value.value_or(0), 0.25, 1e-12);
  EXPECT_FALSE(number.interval);
}

/// 95 % of the intervals must hold the true ratio.
TEST(MeasuredNumber, IntervalsHoldTheTruth) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0.0, 0.05);
  int held = 0, held_sd = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    BySeed before, after, one, two;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      before[seed] = 100.0 * std::exp(noise(random));
      after[seed] = 80.0 * std::exp(noise(random));
      one[seed] = noise(random);
      two[seed] = 2.0 * noise(random);
    }
    held += number_of(RuleForm::kAfterOverBefore, before, after).interval->contains(0.8) ? 1 : 0;
    held_sd += sd_ratio(one, two).interval->contains(2.0) ? 1 : 0;
  }
  EXPECT_NEAR(held / static_cast<double>(kTrials), 0.95, 0.015);
  EXPECT_NEAR(held_sd / static_cast<double>(kTrials), 0.95, 0.015);
}

/// Two seeds of two cells hardly know their spread; the plan's other cells do.
TEST(MeasuredNumber, ThePlanInformsTheSpread) {
  const PlanValues values{
      .table = {{3.0, 3.1}, {2.9, 3.02}, {3.3, 3.41}, {3.05, 3.13}, {3.2, 3.32}}, .before = 0, .after = 1};
  const MeasuredNumber number = number_in_plan(ablations::RuleForm::kAfterMinusBefore, values, kLossPriorDf);
  const MeasuredNumber pairs =
      number_of(ablations::RuleForm::kAfterMinusBefore, BySeed{{1, 3.0}, {2, 3.1}}, BySeed{{1, 2.9}, {2, 3.02}});
  EXPECT_NEAR(*number.value, -0.09, 1e-12);
  EXPECT_NEAR(*number.value, *pairs.value, 1e-12);
  EXPECT_EQ(number.n, 2);
  EXPECT_LT(number.interval->high - number.interval->low, 0.5 * (pairs.interval->high - pairs.interval->low));
  const MeasuredNumber ratio = number_in_plan(ablations::RuleForm::kBeforeOverAfter, values, kTimePriorDf);
  EXPECT_NEAR(*ratio.value, std::exp(0.09), 1e-12);
}

TEST(MeasuredNumber, DeviationsOfOneRunHaveNoRatio) {
  EXPECT_FALSE(sd_ratio({{1, 3.0}}, {{1, 3.0}, {2, 4.0}}).value);
  EXPECT_FALSE(sd_ratio({{1, 3.0}, {2, 3.0}}, {{1, 3.0}, {2, 4.0}}).value);
}

TEST(MeasuredNumber, AnOperationInOneRunHasTheSpreadOfItsRepetitions) {
  const MeasuredNumber one = number_of(RuleForm::kAfterOverBefore, {{{10, 10, 10, 10}, {5, 6, 5, 6}}});
  ASSERT_TRUE(one.value && one.interval);
  EXPECT_EQ(one.n, 4);
  EXPECT_NEAR(*one.value, std::sqrt(0.5 * 0.6), 1e-12);
}

/// Repetitions of one process share its luck: from three processes on, only processes count.
TEST(MeasuredNumber, FromThreeRunsOnEachCountsOnce) {
  const MeasuredNumber three = number_of(
      RuleForm::kAfterOverBefore, {{{10, 10, 10}, {5, 5, 9}}, {{10, 10, 10}, {6, 6, 6}}, {{10, 10, 10}, {7, 7, 1}}});
  ASSERT_TRUE(three.value && three.interval);
  EXPECT_EQ(three.n, 3);
  EXPECT_NEAR(*three.value, std::cbrt(0.5 * 0.6 * 0.7), 1e-12);
}

}  // namespace
}  // namespace nanobench::reports
