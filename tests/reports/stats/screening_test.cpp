#include "reports/stats/screening.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "ablations/screening.h"
#include "core/base/random.h"
#include "reports/stats/distributions.h"
#include "simulation.h"

namespace nanobench::reports {
namespace {

using Sets = std::vector<std::vector<bool>>;

/// The design's own cells, without any combination that is impossible.
Sets design(std::size_t factors, std::size_t cells) {
  const auto turn = [](ablations::DesignCell cell, std::size_t factor) {
    cell[factor] = 1;
    return std::optional(std::move(cell));
  };
  Sets columns(factors);
  for (const ablations::DesignCell& cell : ablations::screening_cells(factors, cells, turn)) {
    for (std::size_t j = 0; j < factors; ++j) columns[j].push_back(cell[j] > 0);
  }
  return columns;
}

std::set<std::size_t> suspects_of(const std::vector<ScreenedFactor>& screened) {
  std::set<std::size_t> suspects;
  for (std::size_t j = 0; j < screened.size(); ++j) {
    if (screened[j].is_suspect) suspects.insert(j);
  }
  return suspects;
}

TEST(ScreenFactors, FindsWhatMattersInFewerRunsThanFactors) {
  const Sets columns = design(40, 30);
  NormalDraws draws(1);
  std::vector<double> responses;
  for (std::size_t i = 0; i < 30; ++i)
    responses.push_back(3.0 + (columns[7][i] ? 0.2 : 0.0) - (columns[31][i] ? 0.1 : 0.0) + draws.next(0.0, 0.01));
  const std::vector<ScreenedFactor> screened = *screen_factors(columns, responses);
  const std::set<std::size_t> suspects = suspects_of(screened);
  EXPECT_TRUE(suspects.contains(7) && suspects.contains(31));
  EXPECT_LE(suspects.size(), 4U);
  EXPECT_NEAR(screened[7].effect->value, 0.2, 0.03);
  EXPECT_NEAR(screened[31].effect->value, -0.1, 0.03);
  EXPECT_GT(screened[7].effect->se, 0.0);
}

TEST(ScreenFactors, OfFactorsThatNeverDifferAloneOneIsSuspected) {
  Sets columns = design(8, 13);
  columns[3] = columns[2];
  NormalDraws draws(2);
  std::vector<double> responses;
  for (std::size_t i = 0; i < 13; ++i) responses.push_back((columns[2][i] ? 1.0 : 0.0) + draws.next(0.0, 0.01));
  const std::vector<ScreenedFactor> screened = *screen_factors(columns, responses);
  EXPECT_TRUE(screened[2].is_suspect);
  EXPECT_FALSE(screened[3].is_suspect);
  EXPECT_FALSE(screened[3].effect) << "nothing separates it from the other";
}

TEST(ScreenFactors, WithoutSpreadOrRunsNothingIsSaid) {
  EXPECT_EQ(screen_factors(design(4, 7), std::vector<double>(7, 1.0)), std::nullopt);
  EXPECT_EQ(screen_factors({{true, false, true}}, std::vector<double>{1.0, 2.0, 1.0}), std::nullopt);
}

/// What a trial found.
struct Found {
  double right = 0;
  double wrong = 0;
  double missed = 0;
  double any_wrong = 0;  ///< 1 if any
};

/// 40 factors, 8 of which change the response by one to three standard deviations of a run, six pairs of them with an
/// interaction of about one.
struct Truth {
  static constexpr std::size_t kFactors = 40;
  static constexpr std::size_t kActive = 8;
  std::vector<double> effects = std::vector<double>(kFactors, 0.0);
  std::vector<std::tuple<std::size_t, std::size_t, double>> interactions{};

  Truth(NormalDraws& draws, core::SplitMix64& random, bool has_effects) {
    std::vector<std::size_t> active;
    while (has_effects && active.size() < kActive) {
      const std::size_t j = random.next() % kFactors;
      if (effects[j] != 0.0) continue;
      effects[j] = (1.0 + 2.0 * normal_cdf(draws.next())) * (random.next() % 2 == 0 ? 1.0 : -1.0);
      active.push_back(j);
    }
    for (int pair = 0; has_effects && pair < 6; ++pair) {
      const std::size_t a = random.next() % kActive, b = (a + 1 + random.next() % (kActive - 1)) % kActive;
      interactions.emplace_back(active[a], active[b], draws.next());
    }
  }

  double response(const Sets& columns, std::size_t run) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < kFactors; ++j) sum += columns[j][run] ? effects[j] : 0.0;
    for (const auto& [a, b, size] : interactions) sum += columns[a][run] && columns[b][run] ? size : 0.0;
    return sum;
  }

  /// Each factor alone against the base, `seeds` runs each, with a pooled spread and Holm's correction.
  Found one_at_a_time(NormalDraws& draws, const std::set<std::size_t>& tested, int seeds) const {
    std::vector<std::pair<double, std::size_t>> ts;
    const auto arms = static_cast<double>(tested.size()) + 1.0;
    const Moments base = *moments_of(draws.sample(seeds));
    double variance = base.sd * base.sd / arms;
    std::map<std::size_t, double> changes;
    for (const std::size_t j : tested) {
      const Moments alone = *moments_of(draws.sample(seeds, effects[j]));
      changes[j] = alone.mean - base.mean;
      variance += alone.sd * alone.sd / arms;
    }
    for (const auto& [j, change] : changes) ts.emplace_back(std::abs(change) / std::sqrt(2.0 * variance / seeds), j);
    std::sort(ts.rbegin(), ts.rend());
    Found found;
    for (std::size_t i = 0; i < ts.size(); ++i) {
      const double alpha = 0.05 / static_cast<double>(ts.size() - i);
      if (ts[i].first < t_quantile(1.0 - alpha / 2.0, arms * (seeds - 1))) break;
      (effects[ts[i].second] != 0.0 ? found.right : found.wrong) += 1.0;
    }
    found.any_wrong = found.wrong > 0.0 ? 1.0 : 0.0;
    return found;
  }
};

struct Comparison {
  Found hunt, alone;  ///< means over the trials
  double suspects = 0.0;
};

/// `runs` in all: as many as one at a time takes with three seeds.
Comparison simulate(int trials, bool has_effects) {
  constexpr int kRuns = 3 * (static_cast<int>(Truth::kFactors) + 1);
  NormalDraws draws(11);
  core::SplitMix64 random(12);
  const Sets columns = design(Truth::kFactors, ablations::screening_size(Truth::kFactors));
  const int screened = static_cast<int>(columns.front().size());
  std::set<std::size_t> all;
  for (std::size_t j = 0; j < Truth::kFactors; ++j) all.insert(j);
  Comparison sum;
  const auto add = [&](Found& total, const Found& one) {
    total.right += one.right / trials;
    total.wrong += one.wrong / trials;
    total.any_wrong += one.any_wrong / trials;
  };
  for (int trial = 0; trial < trials; ++trial) {
    const Truth truth(draws, random, has_effects);
    std::vector<double> responses;
    for (int run = 0; run < screened; ++run)
      responses.push_back(truth.response(columns, static_cast<std::size_t>(run)) + draws.next());
    const std::set<std::size_t> suspects = suspects_of(*screen_factors(columns, responses));
    sum.suspects += static_cast<double>(suspects.size()) / trials;
    const int seeds = (kRuns - screened) / (static_cast<int>(suspects.size()) + 1);
    if (!suspects.empty()) add(sum.hunt, truth.one_at_a_time(draws, suspects, std::min(seeds, 30)));
    add(sum.alone, truth.one_at_a_time(draws, all, 3));
  }
  return sum;
}

TEST(ScreenFactors, WithFreshRunsFindTwiceWhatOneAtATimeFindsAtEqualCost) {
  constexpr int kTrials = 200;
  const Comparison result = simulate(kTrials, true);
  std::printf("of 8: screening %.2f suspects, found %.2f, false %.3f; one at a time found %.2f, false %.3f\n",
              result.suspects, result.hunt.right, result.hunt.wrong, result.alone.right, result.alone.wrong);
  EXPECT_GT(result.hunt.right, 4.5);
  EXPECT_GT(result.hunt.right, 2.0 * result.alone.right);
  EXPECT_LE(result.hunt.any_wrong, 0.05 + slack(0.05, kTrials));
  EXPECT_LE(result.alone.any_wrong, 0.05 + slack(0.05, kTrials));
}

TEST(ScreenFactors, WithFreshRunsReportNothingWhereNothingIs) {
  constexpr int kTrials = 400;
  const Comparison result = simulate(kTrials, false);
  std::printf("of none: screening %.2f suspects, false in %.3f of the hunts\n", result.suspects, result.hunt.any_wrong);
  EXPECT_LE(result.hunt.any_wrong, 0.05 + slack(0.05, kTrials));
}

}  // namespace
}  // namespace nanobench::reports
