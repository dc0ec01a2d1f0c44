#include "reports/stats/t_tests.h"

#include "core/base/error.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

using Values = std::vector<double>;

void expect_estimate(const std::optional<Estimate>& estimate, const nlohmann::json& entry, const std::string& what) {
  ASSERT_TRUE(estimate) << what;
  expect_close(estimate->value, entry.at("value"), what);
  expect_close(estimate->se, entry.at("se"), what);
  expect_close(estimate->df, entry.at("df"), what);
  expect_close(p_of(*estimate), entry.at("p"), what);
  expect_close(p_of(*estimate, Tail::kLess), entry.at("p_less"), what);
  expect_close(p_of(*estimate, Tail::kGreater), entry.at("p_greater"), what);
  expect_interval(interval_of(*estimate, entry.at("level")), entry.at("low"), entry.at("high"), what);
}

TEST(Welch, AgreesWithReference) {
  for (const nlohmann::json& entry : vectors("welch")) {
    expect_estimate(welch(list_of(entry, "first"), list_of(entry, "second")), entry, entry.at("name"));
  }
}

TEST(PairedT, AgreesWithReference) {
  for (const nlohmann::json& entry : vectors("paired")) {
    expect_estimate(paired_t(list_of(entry, "first"), list_of(entry, "second")), entry, entry.at("first").dump());
  }
}

TEST(Welch, OneArmWithoutSpreadIsBorne) {
  const std::optional<Estimate> estimate = welch(Values{3.28, 3.28}, Values{3.27, 3.29, 3.28});
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->se, 0.01 / std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(estimate->df, 2.0, 1e-12);
  EXPECT_FALSE(welch(Values{3.28, 3.28}, Values{3.27, 3.27}));
}

TEST(Welch, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(welch(Values{3.28}, Values{3.27, 3.29}));
  EXPECT_FALSE(welch(Values{}, Values{3.27, 3.29}));
  EXPECT_FALSE(welch(Values{3.28, std::nan("")}, Values{3.27, 3.29}));
  EXPECT_FALSE(welch(Values{3.28, INFINITY}, Values{3.27, 3.29}));
}

TEST(PairedT, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(paired_t(Values{3.1}, Values{3.0}));
  EXPECT_FALSE(paired_t(Values{3.1, 4.1, 5.1}, Values{3.0, 4.0, 5.0})) << "a constant difference up to rounding";
  EXPECT_FALSE(paired_t(Values{3.1, std::nan("")}, Values{3.0, 3.2}));
  EXPECT_THROW(paired_t(Values{3.1, 3.2}, Values{3.0}), core::Error);
}

TEST(Estimate, OneSidedBoundsAndMisuse) {
  const Estimate estimate{.value = 1.0, .se = 0.5, .df = 4.0};
  const ConfidenceInterval above = interval_of(estimate, 0.95, Tail::kLess);
  EXPECT_TRUE(std::isinf(above.low));
  EXPECT_NEAR(p_of(estimate, Tail::kLess, above.high), 0.05, 1e-12) << "the bound is what the test just refuses";
  EXPECT_NEAR(p_of(estimate, Tail::kGreater, interval_of(estimate, 0.9, Tail::kGreater).low), 0.1, 1e-12);
  EXPECT_THROW(p_of(Estimate{}), core::Error);
  EXPECT_THROW(interval_of(Estimate{.value = std::nan(""), .se = 1.0, .df = 3.0}), core::Error);
  EXPECT_THROW(interval_of(estimate, 0.0), core::Error);
}

TEST(Estimate, SumsOfIndependentTerms) {
  const std::vector<Term> terms = {{.factor = 2.0, .estimate = {.value = 1.0, .se = 0.3, .df = 5.0}},
                                   {.factor = -1.0, .estimate = {.value = 0.5, .se = 0.8, .df = 7.0}}};
  const std::optional<Estimate> sum = combine(terms);
  ASSERT_TRUE(sum);
  EXPECT_DOUBLE_EQ(sum->value, 1.5);
  EXPECT_DOUBLE_EQ(sum->se, 1.0);
  EXPECT_NEAR(sum->df, 1.0 / (0.36 * 0.36 / 5.0 + 0.64 * 0.64 / 7.0), 1e-12);
  EXPECT_FALSE(combine(std::vector<Term>{})) << "nothing is not 0";
}

TEST(Welch, IntervalHoldsWhatItPromises) {
  // Unequal spreads and counts, where pooling would fail.
  NormalDraws draws(11);
  constexpr int kRepetitions = 20000;
  const double held = share_of(kRepetitions, [&] {
    const Values first = draws.sample(8, 0.3, 3.0);
    return interval_of(*welch(first, draws.sample(15, 0.0, 1.0)), 0.9).contains(0.3);
  });
  expect_share(held, 0.9, kRepetitions, "coverage");
}

TEST(PairedT, CriesWolfAsOftenAsItSays) {
  NormalDraws draws(12);
  constexpr int kRepetitions = 20000;
  const double alarms = share_of(kRepetitions, [&] {
    const Values common = draws.sample(4, 3.28, 0.1);
    Values first = common;
    Values second = common;
    for (std::size_t i = 0; i < common.size(); ++i) {
      first[i] += draws.next(0.0, 0.001);
      second[i] += draws.next(0.0, 0.001);
    }
    return p_of(*paired_t(first, second)) < 0.05;
  });
  expect_share(alarms, 0.05, kRepetitions, "false alarms");
}

}  // namespace
}  // namespace nanobench::reports
