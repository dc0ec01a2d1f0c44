#include "reports/stats/change_points.h"

#include <algorithm>
#include <iostream>

#include "core/base/error.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

using Values = std::vector<double>;

/// By the definition: all pairs, each time.
double energy_by_definition(const Values& values, std::size_t split) {
  const auto sum = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    double total = 0.0;
    for (std::size_t i = a; i < b; ++i) {
      for (std::size_t j = c; j < d; ++j) total += std::abs(values[i] - values[j]);
    }
    return total;
  };
  const double n = static_cast<double>(split);
  const double m = static_cast<double>(values.size()) - n;
  const double distance = 2.0 / (n * m) * sum(0, split, split, values.size()) -
                          sum(0, split, 0, split) / (n * (n - 1.0)) -
                          sum(split, values.size(), split, values.size()) / (m * (m - 1.0));
  return n * m / (n + m) * distance;
}

TEST(ChangePoints, OneStepByTheDefinition) {
  NormalDraws draws(111);
  Values values = draws.sample(20, 3.28, 0.002);
  for (std::size_t i = 12; i < values.size(); ++i) values[i] += 0.01;
  const auto changes = change_points(values);
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->size(), 1U);
  const ChangePoint& change = changes->front();
  EXPECT_EQ(change.index, 12U);
  EXPECT_DOUBLE_EQ(change.p, 1.0 / 200.0);
  EXPECT_NEAR(change.statistic, energy_by_definition(values, 12), 1e-12);
  for (std::size_t split = 5; split <= 15; ++split) {
    EXPECT_LE(energy_by_definition(values, split), change.statistic + 1e-12) << split;
  }
  EXPECT_NEAR(change.mean_after - change.mean_before, 0.01, 0.004);
}

TEST(ChangePoints, SeveralComeInOrder) {
  NormalDraws draws(112);
  Values values;
  for (const double level : {0.0, 6.0, 3.0, 9.0}) {
    for (int i = 0; i < 15; ++i) values.push_back(draws.next(level));
  }
  const auto changes = change_points(values);
  ASSERT_EQ(changes->size(), 3U);
  EXPECT_EQ((*changes)[0].index, 15U);
  EXPECT_NEAR(static_cast<double>((*changes)[1].index), 30.0, 1.0);
  EXPECT_NEAR(static_cast<double>((*changes)[2].index), 45.0, 1.0);
  EXPECT_NEAR((*changes)[0].mean_after, 6.0, 1.2);
  EXPECT_NEAR((*changes)[2].mean_after, 9.0, 1.2);
}

TEST(ChangePoints, SeesAChangeOfSpread) {
  NormalDraws draws(113);
  Values values = draws.sample(60, 0.0, 0.1);
  const Values wide = draws.sample(60, 0.0, 3.0);
  values.insert(values.end(), wide.begin(), wide.end());
  const auto changes = change_points(values);
  ASSERT_FALSE(changes->empty());
  EXPECT_NEAR(static_cast<double>(changes->front().index), 60.0, 5.0);
}

TEST(ChangePoints, TheSameSeedGivesTheSameAnswer) {
  NormalDraws draws(114);
  Values values = draws.sample(40);
  for (std::size_t i = 20; i < 40; ++i) values[i] += 1.0;
  const auto once = change_points(values, {.seed = 5});
  const auto again = change_points(values, {.seed = 5});
  ASSERT_EQ(once->size(), again->size());
  for (std::size_t i = 0; i < once->size(); ++i) EXPECT_EQ((*once)[i].p, (*again)[i].p);
}

TEST(ChangePoints, EqualValuesDoNotChange) {
  EXPECT_TRUE(change_points(Values(30, 3.28))->empty());
}

TEST(ChangePoints, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(change_points(Values{1, 2, 3, 4, 5, 6, 7, 8, 9})) << "less than two segments";
  EXPECT_FALSE(change_points(Values{1, 2, 3, 4, 5, 6, 7, 8, 9, std::nan("")}));
  EXPECT_THROW(change_points(Values(20, 1.0), {.alpha = 0.0}), core::Error);
  EXPECT_THROW(change_points(Values(20, 1.0), {.permutations = 3}), core::Error);
  EXPECT_THROW(change_points(Values(20, 1.0), {.min_segment = 1}), core::Error);
  EXPECT_THROW(change_points(Values(20, 1.0), {.autocorrelation = -0.1}), core::Error);
  EXPECT_THROW(change_points(Values(20, 1.0), {.autocorrelation = 1.0}), core::Error);
}

TEST(ChangePoints, CriesWolfAsOftenAsItSays) {
  NormalDraws draws(115);
  constexpr int kRepetitions = 1500;
  const double alarms = share_of(kRepetitions, [&] {
    // Skewed: no shape is assumed.
    Values values = draws.sample(24);
    for (double& value : values) value = std::exp(value);
    return !change_points(values, {.permutations = 99, .seed = 3})->empty();
  });
  expect_share(alarms, 0.05, kRepetitions, "false alarms");
}

constexpr ChangePointSettings kCorrelated = {.permutations = 99, .min_segment = 4, .autocorrelation = 0.5, .seed = 3};

/// A stationary first-order autoregression with a standard deviation of 1.
Values correlated(NormalDraws& draws, int n, double rho) {
  Values values = {draws.next()};
  for (int i = 1; i < n; ++i) values.push_back(rho * values.back() + std::sqrt(1.0 - rho * rho) * draws.next());
  return values;
}

TEST(ChangePoints, AutocorrelationIsNoChange) {
  constexpr int kRepetitions = 2000;
  for (const int n : {8, 12, 20, 40}) {
    for (const double rho : {0.0, 0.5}) {
      NormalDraws draws(116);
      const auto alarms = [&](const ChangePointSettings& settings) {
        return share_of(kRepetitions, [&] { return !change_points(correlated(draws, n, rho), settings)->empty(); });
      };
      const double share = alarms(kCorrelated);
      std::cout << n << " values, autocorrelation " << rho << ": false alarms " << share << "\n";
      EXPECT_LE(share, 0.05 + slack(0.05, kRepetitions)) << n << " " << rho;
    }
  }
}

/// 3.5 standard deviations in 20 values, and levels that rise and fall.
TEST(ChangePoints, ClearShiftsAreFoundDespiteAutocorrelation) {
  constexpr int kRepetitions = 500;
  struct Case {
    int n;
    Values levels;
    double rho, min;
  };
  for (const Case& one : {Case{20, {0, 3.5}, 0.0, 0.95},
                          {20, {0, 5}, 0.5, 0.95},
                          {30, {0, 7, -10}, 0.0, 0.99},
                          {30, {0, 7, 14}, 0.5, 0.99},
                          {45, {0, 6, 0}, 0.0, 0.9}}) {
    NormalDraws draws(117);
    const double found = share_of(kRepetitions, [&] {
      Values values = correlated(draws, one.n, one.rho);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += one.levels[i * one.levels.size() / values.size()];
      return !change_points(values, kCorrelated)->empty();
    });
    std::cout << one.n << " values, " << one.levels.size() << " levels, autocorrelation " << one.rho << ": found "
              << found << "\n";
    EXPECT_GE(found, one.min) << one.n << " values, " << one.levels.size() << " levels";
  }
}

TEST(ChangePoints, LevelsWithoutASpreadArePermuted) {
  Values values(8, 1.0);
  for (std::size_t i = 4; i < 8; ++i) values[i] = 2.0;
  ChangePointSettings settings = kCorrelated;
  settings.permutations = 1999;
  const auto changes = change_points(values, settings);
  ASSERT_EQ(changes->size(), 1U);
  EXPECT_EQ(changes->front().index, 4U);
  EXPECT_NEAR(changes->front().p, 2.0 / 70.0, 0.015) << "two of the 70 arrangements split as well";
}

}  // namespace
}  // namespace nanobench::reports
