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

TEST(SignedRank, AgreesWithScipyAndWithAllSigns) {
  for (const nlohmann::json& entry : vectors("signed_ranks")) {
    const Values values = list_of(entry, "values");
    const std::string what = entry.at("values").dump();
    const std::optional<SignedRank> both = signed_rank(values);
    ASSERT_TRUE(both) << what;
    EXPECT_EQ(both->is_exact, entry.at("is_exact").get<bool>()) << what;
    EXPECT_EQ(both->n, entry.at("n").get<int>()) << what;
    EXPECT_DOUBLE_EQ(both->w, entry.at("w").get<double>()) << what;
    expect_close(both->p, entry.at("p_two_sided"), what);
    expect_close(signed_rank(values, Tail::kLess)->p, entry.at("p_less"), what);
    expect_close(signed_rank(values, Tail::kGreater)->p, entry.at("p_greater"), what);
  }
}

TEST(PairedShift, AgreesWithTheTableOfMeans) {
  for (const nlohmann::json& entry : vectors("signed_ranks")) {
    const std::string what = entry.at("values").dump();
    const auto result = paired_shift(list_of(entry, "values"), entry.at("level"));
    ASSERT_TRUE(result) << what;
    expect_close(result->shift, entry.at("shift"), what);
    ASSERT_EQ(result->interval.has_value(), entry.contains("low")) << what;
    if (!result->interval) continue;
    expect_close(result->interval->low, entry.at("low"), what);
    expect_close(result->interval->high, entry.at("high"), what);
    expect_close(result->held_level, entry.at("held"), what);
    EXPECT_GE(result->held_level, result->is_exact ? 0.95 : 0.949) << what;
  }
}

TEST(SignedRank, TheSmallestPIsOfOneSignEverywhere) {
  EXPECT_DOUBLE_EQ(signed_rank(Values{1, 2, 3, 4, 5})->p, 0.0625);
  for (int n = 1; n <= 12; ++n) {
    Values values;
    for (int i = 1; i <= n; ++i) values.push_back(i);
    EXPECT_DOUBLE_EQ(signed_rank(values)->p, min_signed_rank_p(n)) << n;
  }
  EXPECT_FALSE(paired_shift(Values{1, 2, 3, 4, 5})->interval) << "too few for 95 %";
}

TEST(MannWhitney, TheSmallestPIsThatOfArmsApart) {
  for (const auto& [n, m] : std::vector<std::pair<int, int>>{{1, 1}, {3, 3}, {2, 7}, {20, 20}}) {
    Values first, second;
    for (int i = 0; i < n; ++i) first.push_back(i);
    for (int i = 0; i < m; ++i) second.push_back(100 + i);
    EXPECT_NEAR(mann_whitney(first, second)->p, min_mann_whitney_p(n, m), 1e-15) << n << " against " << m;
  }
  EXPECT_GT(min_mann_whitney_p(500, 500), 0.0);
}

TEST(SignedRank, DifferencesOfNothingAreLeftOut) {
  const auto with_zeros = signed_rank(Values{0.0, 1.0, 0.0, -2.0, 3.0});
  EXPECT_EQ(with_zeros->n, 3);
  EXPECT_DOUBLE_EQ(with_zeros->p, signed_rank(Values{1.0, -2.0, 3.0})->p);
}

TEST(SignedRank, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(signed_rank(Values{}));
  EXPECT_FALSE(signed_rank(Values{0.0, 0.0}));
  EXPECT_FALSE(signed_rank(Values{1.0, std::nan("")}));
  EXPECT_FALSE(paired_shift(Values{}));
  EXPECT_FALSE(paired_shift(Values{std::nan("")}));
  EXPECT_DOUBLE_EQ(paired_shift(Values{0.0, 0.0})->shift, 0.0);
  EXPECT_THROW(paired_shift(Values{1.0}, 1.0), core::Error);
  EXPECT_THROW(min_signed_rank_p(0), core::Error);
  EXPECT_THROW(min_mann_whitney_p(0, 3), core::Error);
}

TEST(PairedShift, ManyDifferencesNeedNoTable) {
  Values values;
  for (int i = -20000; i <= 20000; ++i) values.push_back(0.5 + i * 1e-4);
  const auto result = paired_shift(values);
  EXPECT_NEAR(result->shift, 0.5, 1e-12);
  EXPECT_TRUE(result->interval->contains(0.5));
}

TEST(SignedRankSimulation, HoldsItsLevelAndItsInterval) {
  NormalDraws draws(301);
  constexpr int kRepetitions = 4000;
  int alarms = 0, held = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    const Values values = draws.sample(10, 0.4);
    held += paired_shift(values)->interval->contains(0.4) ? 1 : 0;
    Values centred;
    for (const double value : values) centred.push_back(value - 0.4);
    alarms += signed_rank(centred)->p < 0.05 ? 1 : 0;
  }
  // With ten differences the level that can be had is 0.0488.
  expect_share(static_cast<double>(alarms) / kRepetitions, 0.048828125, kRepetitions, "alarms");
  expect_share(static_cast<double>(held) / kRepetitions, 1.0 - 0.048828125, kRepetitions, "interval");
}

}  // namespace
}  // namespace nanobench::reports
