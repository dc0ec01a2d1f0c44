#include "reports/stats/rank_tests.h"

#include "core/base/error.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

using Values = std::vector<double>;

TEST(RankSum, TheLargestArmsCountEveryArrangement) {
  const std::vector<double> cdf = rank_sum_cdf(20, 20);
  expect_close(cdf[0], 1.0 / 137846528820.0, "one of C(40, 20)");
  EXPECT_DOUBLE_EQ(cdf.back(), 1.0);
  EXPECT_NEAR(cdf[199] + cdf[200], 1.0, 1e-14) << "symmetric about 200";
}

TEST(MannWhitney, AgreesWithScipy) {
  for (const nlohmann::json& entry : vectors("ranks")) {
    const Values first = list_of(entry, "first");
    const Values second = list_of(entry, "second");
    const std::string what = entry.at("first").dump() + " " + entry.at("second").dump();
    const std::optional<MannWhitney> both = mann_whitney(first, second);
    ASSERT_TRUE(both) << what;
    EXPECT_EQ(both->is_exact, entry.at("is_exact").get<bool>()) << what;
    EXPECT_DOUBLE_EQ(both->u, entry.at("u").get<double>()) << what;
    expect_close(both->p, entry.at("p_two_sided"), what);
    expect_close(mann_whitney(first, second, Tail::kLess)->p, entry.at("p_less"), what);
    expect_close(mann_whitney(first, second, Tail::kGreater)->p, entry.at("p_greater"), what);
  }
}

TEST(HodgesLehmann, AgreesWithTheTableOfDifferences) {
  for (const nlohmann::json& entry : vectors("ranks")) {
    const std::string what = entry.at("first").dump() + " " + entry.at("second").dump();
    const auto result = hodges_lehmann(list_of(entry, "first"), list_of(entry, "second"), entry.at("level"));
    ASSERT_TRUE(result) << what;
    EXPECT_DOUBLE_EQ(result->shift, entry.at("shift").get<double>()) << what;
    ASSERT_EQ(result->interval.has_value(), entry.contains("low")) << what;
    if (!result->interval) continue;
    EXPECT_DOUBLE_EQ(result->interval->low, entry.at("low").get<double>()) << what;
    EXPECT_DOUBLE_EQ(result->interval->high, entry.at("high").get<double>()) << what;
    expect_close(result->held_level, entry.at("held"), what);
    EXPECT_GE(result->held_level, result->is_exact ? 0.95 : 0.949) << what;
  }
}

TEST(MannWhitney, ThreeAgainstThreeCannotGoBelowOneTenth) {
  EXPECT_DOUBLE_EQ(mann_whitney(Values{1, 2, 3}, Values{4, 5, 6})->p, 0.1);
  EXPECT_DOUBLE_EQ(mann_whitney(Values{1, 2, 3}, Values{4, 5, 6}, Tail::kLess)->p, 0.05);
  EXPECT_FALSE(hodges_lehmann(Values{1, 2, 3}, Values{4, 5, 6})->interval) << "too few for 95 %";
  EXPECT_TRUE(hodges_lehmann(Values{1, 2, 3}, Values{4, 5, 6}, 0.9)->interval);
}

TEST(RankTests, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(mann_whitney(Values{}, Values{1.0}));
  EXPECT_FALSE(mann_whitney(Values{1.0, std::nan("")}, Values{1.0}));
  EXPECT_FALSE(mann_whitney(Values{1.0, 1.0}, Values{1.0, 1.0, 1.0})) << "all equal";
  EXPECT_FALSE(hodges_lehmann(Values{}, Values{1.0}));
  EXPECT_FALSE(hodges_lehmann(Values{INFINITY}, Values{1.0}));
  EXPECT_THROW(hodges_lehmann(Values{1.0}, Values{1.0}, 1.5), core::Error);
}

TEST(HodgesLehmann, EqualValuesHaveAShift) {
  const auto result = hodges_lehmann(Values{-1, -1, -1, -1, -1, -1}, Values{2, 2, 2, 2, 2, 2});
  EXPECT_DOUBLE_EQ(result->shift, -3.0);
  EXPECT_DOUBLE_EQ(result->interval->low, -3.0);
}

TEST(RankTests, HoldWhatTheyPromiseWithoutANormalShape) {
  // Skewed values: e to a normal. Exact, so at most alpha; the discrete p comes close to it.
  NormalDraws draws(21);
  constexpr int kRepetitions = 4000;
  int alarms = 0;
  int held = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    Values first = draws.sample(9);
    Values second = draws.sample(11);
    for (double& value : first) value = std::exp(value);
    for (double& value : second) value = std::exp(value);
    alarms += mann_whitney(first, second)->p < 0.05 ? 1 : 0;
    held += hodges_lehmann(first, second)->interval->contains(0.0) ? 1 : 0;
  }
  EXPECT_LE(alarms, kRepetitions * (0.05 + slack(0.05, kRepetitions)));
  EXPECT_GE(alarms, kRepetitions * (0.04 - slack(0.04, kRepetitions)));
  EXPECT_GE(held, kRepetitions * (0.95 - slack(0.95, kRepetitions)));
}

}  // namespace
}  // namespace nanobench::reports
