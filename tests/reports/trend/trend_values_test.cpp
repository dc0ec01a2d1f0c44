#include "reports/trend/trend_values.h"

#include <gtest/gtest.h>

#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

/// Revision i has counts[i] values: 10 i, 10 i + 1, ...
TrendSeries series_of(const std::vector<int>& counts) {
  TrendSeries series{.metric = TrendMetric::kStepTime};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    SeriesRevision& revision = series.revisions.emplace_back();
    for (int k = 0; k < counts[i]; ++k)
      revision.values.push_back({.seed = static_cast<std::uint64_t>(k), .value = 10.0 * static_cast<double>(i) + k});
  }
  return series;
}

TEST(TrendValues, RunsOrMeansOfRevisions) {
  const TrendSeries series = series_of({3, 0, 2});
  EXPECT_EQ(revisions_with_values(series), 2);
  EXPECT_EQ(plain(trend_values(series, false)), (std::vector<double>{0, 1, 2, 20, 21}));
  const std::vector<TrendValue> means = trend_values(series, true);
  EXPECT_EQ(plain(means), (std::vector<double>{1, 20.5}));
  EXPECT_EQ(means[1].revision, 2U);
  EXPECT_EQ(members_of(means).size(), 5U);
}

TEST(TrendValues, ManyAreAveraged) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(averaged(values, 9), values);
  EXPECT_EQ(averaged(values, 4), (std::vector<double>{2, 5, 8}));
  EXPECT_TRUE(averaged({}, 4).empty());
}

TEST(TrendValues, TheExactPlaceOfAStepIsFoundNearby) {
  std::vector<double> values(100, 1.0);
  for (std::size_t i = 37; i < values.size(); ++i) values[i] = 2.0;
  values[36] += 0.2;
  EXPECT_EQ(refined_split(values, 40, 5, 4), 37U);
  EXPECT_EQ(refined_split(values, 35, 5, 4), 37U);
  EXPECT_EQ(refined_split(values, 50, 5, 4), 45U) << "no farther than it may";
  EXPECT_EQ(refined_split(values, 40, 0, 4), 40U);
  EXPECT_EQ(refined_split(std::span(values).first(6), 3, 5, 4), 3U) << "too short to choose";
}

TEST(TrendValues, ASplitBesideABoundaryIsTakenForIt) {
  const std::vector<TrendValue> values = trend_values(series_of({6, 6, 10}), false);
  const auto at = [&](std::size_t split) { return boundary_at(values, split, 4); };
  EXPECT_EQ(at(6).index, 6U);
  EXPECT_EQ(at(7).index, 6U);
  EXPECT_EQ(at(5).index, 6U);
  EXPECT_EQ(at(1).index, 6U) << "never at the very beginning";
  EXPECT_EQ(at(20).index, 12U) << "nor at the very end";
  EXPECT_EQ(at(11).index, 12U);
  EXPECT_EQ(at(11).before, 1U);
  EXPECT_EQ(at(11).after, 2U);
}

TEST(TrendValues, ASplitFarFromItsRevisionsEndsIsWithinIt) {
  const std::vector<TrendValue> values = trend_values(series_of({6, 6, 10}), false);
  const Boundary within = boundary_at(values, 17, 4);
  EXPECT_EQ(within.index, 17U);
  EXPECT_EQ(within.before, 2U);
  EXPECT_EQ(within.after, 2U);
  EXPECT_EQ(boundary_at(trend_values(series_of({9}), false), 2, 4).before, 0U) << "the only revision there is";
}

TEST(TrendValues, InALargeRevisionASplitMayBeFartherFromItsEnds) {
  const std::vector<TrendValue> values = trend_values(series_of({200, 200}), false);
  EXPECT_EQ(boundary_at(values, 210, 4).index, 200U);
  EXPECT_EQ(boundary_at(values, 230, 4).index, 230U);
}

TEST(TrendValues, ASeedsLevelIsNotThatOfItsRevision) {
  TrendSeries series{.metric = TrendMetric::kLoss};
  const auto add = [&](double level, const std::vector<std::uint64_t>& seeds) {
    SeriesRevision& revision = series.revisions.emplace_back();
    for (const std::uint64_t seed : seeds)
      revision.values.push_back({.seed = seed, .value = level + 0.01 * static_cast<double>(seed)});
  };
  add(3.0, {1, 2, 3});
  add(3.0, {1, 3});
  add(3.5, {3, 4, 5, 6});
  add(3.5, {6});
  const std::vector<double> means = plain(trend_values(series, true));
  EXPECT_EQ(means[0], means[1]);
  EXPECT_EQ(means[2], means[3]);
  EXPECT_NEAR(means[2] - means[0], 0.5, 1e-7);
  EXPECT_EQ(members_of(trend_values(series, true))[0].value, 3.01) << "the members are as measured";
  series.metric = TrendMetric::kStepTime;
  EXPECT_NE(plain(trend_values(series, true))[2], plain(trend_values(series, true))[3]);
}

TEST(TrendValues, SeedsThatNeverReturnAreLeftAlone) {
  TrendSeries series{.metric = TrendMetric::kLoss};
  for (std::uint64_t i = 0; i < 4; ++i) {
    series.revisions.emplace_back().values = {{.seed = 2 * i, .value = 3.0 + static_cast<double>(i)},
                                              {.seed = 2 * i + 1, .value = 3.2 + static_cast<double>(i)}};
  }
  const std::vector<double> means = plain(trend_values(series, true));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(means[i], 3.1 + static_cast<double>(i), 1e-7);
}

TEST(TrendValues, SeedsThatDifferAreSeen) {
  EXPECT_FALSE(seeds_differ(series_of({3, 0, 3})));
  EXPECT_TRUE(seeds_differ(series_of({3, 2})));
}

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
