#include "reports/trend/trend_values.h"

#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

std::vector<TrendValue> values_of(const std::vector<std::vector<double>>& revisions) {
  std::vector<TrendValue> values;
  for (std::size_t i = 0; i < revisions.size(); ++i) {
    for (const double value : revisions[i]) values.push_back({.value = value, .revision = i, .members = {{}}});
  }
  return values;
}

TEST(DayEffect, IsTheFTestOfOneWayAnalysisOfVariance) {
  const auto values = values_of({{1, 2, 3}, {2, 3, 4}, {5, 6, 7}});
  // Between: 26 with 2 degrees of freedom, within: 6 with 6. P(F >= 13) = (1 + 2 * 13 / 6)^-3.
  EXPECT_NEAR(*day_effect_p(values, {}), std::pow(1.0 + 26.0 / 6.0, -3.0), 1e-12);
}

TEST(DayEffect, LevelsAreLookedAtOneByOne) {
  const auto values = values_of({{1, 2}, {1, 2}, {11, 12}, {11, 12}});
  const std::vector<std::size_t> boundaries = {4};
  EXPECT_LT(*day_effect_p(values, {}), 0.01);
  EXPECT_DOUBLE_EQ(*day_effect_p(values, boundaries), 1.0);
}

TEST(DayEffect, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(day_effect_p({}, {}));
  EXPECT_FALSE(day_effect_p(values_of({{1}, {2}, {3}}), {})) << "one value each";
  EXPECT_FALSE(day_effect_p(values_of({{1, 2, 3}}), {})) << "one revision";
  EXPECT_FALSE(day_effect_p(values_of({{1, 1}, {2, 2}}), {})) << "no spread";
}

TEST(DayEffectSimulation, CriesWolfAsOftenAsItSays) {
  NormalDraws draws(51);
  constexpr int kRepetitions = 2000;
  const double alarms = share_of(kRepetitions, [&] {
    return *day_effect_p(values_of({draws.sample(3), draws.sample(5), draws.sample(2), draws.sample(3)}), {}) <= 0.05;
  });
  expect_share(alarms, 0.05, kRepetitions, "false alarms");
}

}  // namespace
}  // namespace nanobench::reports
