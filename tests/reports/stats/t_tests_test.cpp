#include "reports/stats/t_tests.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/json.h"
#include "tests/golden/golden_data.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

using Values = std::vector<double>;

/// Published lists of losses with mean, spread, t and p.
core::Json published_losses() {
  return core::read_json_file(golden_data("val_losses.json"));
}

/// What the file rounds to `digits` decimals.
void expect_rounded(double value, const nlohmann::json& rounded, double digits, const std::string& where) {
  EXPECT_NEAR(value, rounded.get<double>(), 0.5001 * std::pow(10.0, -digits)) << where;
}

void expect_published(const nlohmann::json& entry, const std::string& where) {
  const nlohmann::json& computed = entry.at("computed");
  const auto losses = entry.at("losses").get<Values>();
  const std::optional<OneSampleT> result = one_sample_t(losses, 3.28);
  if (computed.at("t").is_null()) {
    EXPECT_FALSE(result) << where;
    return;
  }
  ASSERT_TRUE(result) << where;
  EXPECT_EQ(result->n, computed.at("n").get<int>()) << where;
  expect_rounded(result->mean, computed.at("mean"), 7, where);
  expect_rounded(result->sd, computed.at("sd"), 7, where);
  expect_rounded(result->t, computed.at("t"), 4, where);
  const double p = computed.at("p_less_3p28").get<double>();
  EXPECT_NEAR(result->p, p, 1e-9 * p) << where;
}

TEST(OneSampleT, ReproducesThePublishedLists) {
  const nlohmann::json published = published_losses();
  int from_readmes = 0;
  for (const auto& [folder, lists] : published.at("folders").items()) {
    for (const nlohmann::json& entry : lists) {
      if (!entry.contains("losses") || !entry.at("losses").is_array()) continue;
      from_readmes += entry.at("source") == "README" ? 1 : 0;
      expect_published(entry, folder + " " + entry.at("source").get<std::string>());
    }
  }
  EXPECT_EQ(from_readmes, 74);
}

TEST(OneSampleT, TheEightyLossesOfRecord18) {
  const nlohmann::json published = published_losses();
  for (const nlohmann::json& entry : published.at("folders").at("2025-01-04_SoftCap")) {
    if (entry.at("source") != "README") continue;
    const std::optional<OneSampleT> result = one_sample_t(entry.at("losses").get<Values>(), 3.28);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->n, 80);
    EXPECT_NEAR(result->mean, 3.2791425, 1e-10);
    EXPECT_NEAR(result->sd, 0.00191025, 5e-9);
    EXPECT_NEAR(result->t, -4.01503006, 5e-9);
    EXPECT_NEAR(result->p, 6.7205893e-05, 5e-13);
    return;
  }
  FAIL() << "record 18 has no list";
}

TEST(OneSampleT, AgreesWithReference) {
  for (const nlohmann::json& entry : vectors("one_sample")) {
    const std::string name = entry.at("name");
    const Values values = list_of(entry, "values");
    const double target = entry.at("target");
    const double level = entry.at("level");
    const std::optional<OneSampleT> less = one_sample_t(values, target, Tail::kLess, level);
    const std::optional<OneSampleT> both = one_sample_t(values, target, Tail::kTwoSided, level);
    ASSERT_TRUE(less && both) << name;
    expect_close(less->mean, entry.at("mean"), name);
    expect_close(less->sd, entry.at("sd"), name);
    expect_close(less->t, entry.at("t"), name);
    expect_close(less->df, entry.at("df"), name);
    expect_close(less->p, entry.at("p_less"), name);
    expect_close(both->p, entry.at("p"), name);
    expect_close(one_sample_t(values, target, Tail::kGreater, level)->p, entry.at("p_greater"), name);
    expect_interval(both->interval, entry.at("low"), entry.at("high"), name);
    const double mean = less->mean;
    expect_interval({.low = mean, .high = less->interval.high}, mean, entry.at("bound"), name);
  }
}

TEST(OneSampleT, TwoValuesHaveACauchyTail) {
  // df = 1: P(T < t) = 1/2 + atan(t) / pi; here t = -3.
  const std::optional<OneSampleT> result = one_sample_t(Values{1.0, 2.0}, 3.0);
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->t, -3.0, 1e-14);
  EXPECT_NEAR(result->p, 0.5 - std::atan(3.0) / std::acos(-1.0), 1e-14);
}

TEST(OneSampleT, BoundAndTestAgree) {
  const Values losses = {3.2791, 3.2785, 3.2799, 3.2788, 3.2801};
  const std::optional<OneSampleT> first = one_sample_t(losses, 3.28);
  ASSERT_TRUE(first);
  EXPECT_TRUE(std::isinf(first->interval.low));
  // A target at the bound of level 1 - p is refused at exactly p.
  const std::optional<OneSampleT> second = one_sample_t(losses, first->interval.high);
  EXPECT_NEAR(second->p, 0.05, 1e-12);
  const std::optional<OneSampleT> both = one_sample_t(losses, 3.28, Tail::kTwoSided);
  EXPECT_NEAR(both->p, 2.0 * first->p, 1e-15);
  EXPECT_NEAR(both->mean - both->interval.low, both->interval.high - both->mean, 1e-15);
  EXPECT_NEAR(one_sample_t(losses, 3.28, Tail::kGreater)->p, 1.0 - first->p, 1e-14);
}

TEST(OneSampleT, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(one_sample_t(Values{}, 3.28));
  EXPECT_FALSE(one_sample_t(Values{3.27}, 3.28)) << "one run has no spread";
  EXPECT_FALSE(one_sample_t(Values{3.27, 3.27, 3.27}, 3.28)) << "equal values have no spread";
  EXPECT_FALSE(one_sample_t(Values{0.1 + 0.2, 0.3, 0.3}, 0.25)) << "rounding is no spread";
  EXPECT_FALSE(one_sample_t(Values{3.27, std::nan(""), 3.26}, 3.28));
  EXPECT_FALSE(one_sample_t(Values{3.27, INFINITY}, 3.28));
  EXPECT_THROW(one_sample_t(Values{3.27, 3.26}, std::nan("")), core::Error);
  EXPECT_THROW(one_sample_t(Values{3.27, 3.26}, 3.28, Tail::kLess, 1.0), core::Error);
}

TEST(KnownSigmaRule, IsTheTracks) {
  EXPECT_TRUE(known_sigma_rule(3.2775, 3, 3.28)->passes);   // 0.0025 * sqrt(3) = 0.00433
  EXPECT_FALSE(known_sigma_rule(3.2778, 3, 3.28)->passes);  // 0.0022 * sqrt(3) = 0.00381
  EXPECT_FALSE(known_sigma_rule(3.281, 100, 3.28)->passes);
  EXPECT_NEAR(known_sigma_rule(Values{3.277, 3.279}, 3.28)->statistic, 0.002 * std::sqrt(2.0), 1e-15);
}

TEST(KnownSigmaRule, EqualityInDecimalsPasses) {
  EXPECT_TRUE(known_sigma_rule(3.276, 1, 3.28)->passes);
  EXPECT_TRUE(known_sigma_rule(3.278, 4, 3.28)->passes);
  EXPECT_TRUE(known_sigma_rule(3.2795, 64, 3.28)->passes);
  EXPECT_FALSE(known_sigma_rule(3.276000001, 1, 3.28)->passes);
  EXPECT_TRUE(known_sigma_rule(0.3, 1, 0.4, {.threshold = 0.1})->passes) << "0.4 - 0.3 is below 0.1 in binary";
}

TEST(KnownSigmaRule, SigmaGivesAProbability) {
  const std::optional<RuleResult> result = known_sigma_rule(3.278, 4, 3.28, {.sigma = 0.002});
  EXPECT_NEAR(*result->z, 2.0, 1e-12);
  EXPECT_NEAR(*result->p, 0.022750131948179195, 1e-13);
  EXPECT_FALSE(known_sigma_rule(3.278, 4, 3.28)->p);
}

TEST(KnownSigmaRule, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(known_sigma_rule(Values{}, 3.28));
  EXPECT_FALSE(known_sigma_rule(Values{std::nan("")}, 3.28));
  EXPECT_FALSE(known_sigma_rule(3.27, 0, 3.28));
  EXPECT_THROW(known_sigma_rule(3.27, 1, 3.28, {.sigma = 0.0}), core::Error);
  EXPECT_THROW(known_sigma_rule(3.27, 1, 3.28, {.threshold = std::nan("")}), core::Error);
}

TEST(PairwiseRule, StepsAreWorthLoss) {
  PairwiseClaim claim{.baseline_loss = 3.279,
                      .candidate_loss = 3.280,
                      .baseline_steps = 1490,
                      .candidate_steps = 1450,
                      .baseline_n = 4,
                      .candidate_n = 4,
                      .loss_per_step = 1e-4};
  const std::optional<RuleResult> result = pairwise_rule(claim);
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->statistic, (-0.001 + 0.004) / std::sqrt(0.5), 1e-14);
  EXPECT_TRUE(result->passes);
  claim.loss_per_step = 0.0;
  EXPECT_FALSE(pairwise_rule(claim)->passes) << "the loss alone is worse";
  claim.candidate_n = 0;
  EXPECT_FALSE(pairwise_rule(claim));
  claim.candidate_n = 1;
  claim.candidate_loss = std::nan("");
  EXPECT_FALSE(pairwise_rule(claim));
}

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
