#include "reports/trend/trend.h"

#include <algorithm>
#include <iostream>

#include "core/base/error.h"
#include "tests/reports/trend/trend_support.h"

namespace nanobench::reports {
namespace {

TEST(Trend, FindsAPlantedChangeBetweenItsRevisions) {
  NormalDraws draws(11);
  const SeriesTrend item =
      one_series(planted_runs({.changed_from = 12, .factor = 1.05}, draws), TrendMetric::kStepTime);
  EXPECT_EQ(item.answer, TrendAnswer::kChanged);
  EXPECT_TRUE(item.is_by_revision);
  ASSERT_EQ(item.changes.size(), 1U);
  const TrendChange& change = item.changes.front();
  EXPECT_EQ(change.before, 11U);
  EXPECT_EQ(change.after, 12U);
  EXPECT_EQ(change.n_before, 12);
  EXPECT_EQ(change.n_after, 8);
  ASSERT_TRUE(change.shift && change.shift->interval);
  EXPECT_TRUE(change.shift->interval->contains(0.05));
  EXPECT_TRUE(change.shift->is_clear());
  EXPECT_GT(change.harm, 0.0);
  EXPECT_LE(change.adjusted_p, 0.05);
}

TEST(Trend, WithFewRevisionsTheRunsAreTheValues) {
  NormalDraws draws(12);
  const SeriesTrend item = one_series(
      planted_runs({.revisions = 5, .seeds = 4, .changed_from = 3, .factor = 0.9}, draws), TrendMetric::kStepTime);
  EXPECT_FALSE(item.is_by_revision);
  EXPECT_EQ(item.values, 20);
  ASSERT_EQ(item.changes.size(), 1U);
  EXPECT_EQ(item.changes.front().after, 3U);
  EXPECT_LT(item.changes.front().harm, 0.0) << "it became faster";
}

TEST(Trend, SeveralChangesComeInOrderAndTheWorstSeriesFirst) {
  NormalDraws draws(13);
  std::vector<TrendRun> runs = planted_runs({.revisions = 30, .changed_from = 10, .factor = 1.04}, draws);
  for (TrendRun& run : runs) {
    if (run.started_at >= time_at(7 * 20)) run.step_ms = *run.step_ms * 0.9;
  }
  std::vector<TrendRun> worse = planted_runs({.revisions = 30, .changed_from = 15, .factor = 1.2}, draws);
  for (TrendRun& run : worse) run.cell = "record13";
  runs.insert(runs.end(), worse.begin(), worse.end());
  const Trend trend = trend_of(runs, only({TrendMetric::kLoss, TrendMetric::kStepTime}));
  ASSERT_EQ(trend.series.size(), 4U);
  EXPECT_EQ(trend.series[0].series.cell, "record13");
  ASSERT_EQ(trend.series[1].changes.size(), 2U);
  EXPECT_EQ(trend.series[1].changes[0].after, 10U);
  EXPECT_EQ(trend.series[1].changes[1].after, 20U);
  EXPECT_GT(trend.series[1].changes[0].harm, 0.0);
  EXPECT_LT(trend.series[1].changes[1].harm, 0.0);
}

TEST(Trend, ALossThatKeepsItsBitsIsSteadyAndOneThatMovesIsNot) {
  NormalDraws draws(14);
  EXPECT_EQ(one_series(planted_runs({}, draws), TrendMetric::kLoss).answer, TrendAnswer::kSteady);
  const SeriesTrend moved =
      one_series(planted_runs({.seeds = 6, .changed_from = 9, .loss_rise = 0.01}, draws), TrendMetric::kLoss);
  ASSERT_EQ(moved.changes.size(), 1U);
  EXPECT_EQ(moved.changes.front().after, 9U);
  EXPECT_TRUE(moved.changes.front().shift->is_clear());
  EXPECT_GT(moved.changes.front().shift->value, 0.005);
}

/// Other rounding gives other losses of the same distribution: the values changed, their mean did not.
TEST(Trend, ALossThatIsOnlyDrawnAnewHasNoDirection) {
  NormalDraws draws(15);
  constexpr int kRepetitions = 200;
  const double clear = share_of(kRepetitions, [&] {
    const SeriesTrend item = one_series(planted_runs({.seeds = 4, .changed_from = 10}, draws), TrendMetric::kLoss);
    EXPECT_EQ(item.changes.size(), 1U);
    return !item.changes.empty() && item.changes.front().shift->is_clear();
  });
  expect_share(clear, 0.05, kRepetitions, "clear shifts of a loss that is only drawn anew");
}

TEST(Trend, AChangeWithinARevisionIsSaidToBeOne) {
  NormalDraws draws(16);
  std::vector<TrendRun> runs = planted_runs({.revisions = 2, .seeds = 12}, draws);
  for (TrendRun& run : runs) {
    if (run.source.name == revision_name(1) && run.seed > 5) run.step_ms = *run.step_ms * 1.3;
  }
  const SeriesTrend item = one_series(runs, TrendMetric::kStepTime);
  ASSERT_EQ(item.changes.size(), 1U);
  EXPECT_TRUE(item.changes.front().is_within_revision());
  EXPECT_EQ(item.changes.front().before, 1U);
}

TEST(Trend, TooFewIsSaid) {
  EXPECT_EQ(needed_values(1, 0.05), 8) << "two of the 70 arrangements of 4 and 4";
  EXPECT_EQ(needed_values(3, 0.05), 9);
  EXPECT_EQ(needed_values(14, 0.05), 12);
  NormalDraws draws(17);
  const std::vector<TrendRun> runs = planted_runs({.revisions = 1, .seeds = 7}, draws);
  const Trend trend = trend_of(runs, only({TrendMetric::kStepTime}));
  EXPECT_EQ(trend.series[0].answer, TrendAnswer::kTooFew);
  EXPECT_EQ(trend.series[0].needed, 8);
  EXPECT_EQ(trend.series[0].rows[0].expectation.position, TrendPosition::kUnknown);
  EXPECT_FALSE(trend.has_answer());
  EXPECT_FALSE(trend_of({}, only({TrendMetric::kStepTime})).has_answer());
  EXPECT_THROW(analyse_trend({}, {.alpha = 0.0}), core::Error);
}

TEST(Trend, TheNewestIsJudgedByThoseBefore) {
  NormalDraws draws(18);
  std::vector<TrendRun> runs = planted_runs({.revisions = 3, .seeds = 2}, draws);
  Trend trend = trend_of(runs, only({TrendMetric::kStepTime}));
  EXPECT_EQ(trend.series[0].answer, TrendAnswer::kTooFew) << "6 runs";
  EXPECT_EQ(trend.series[0].rows[1].expectation.position, TrendPosition::kUnknown) << "2 before";
  EXPECT_EQ(trend.series[0].rows[2].expectation.position, TrendPosition::kInside);
  EXPECT_EQ(trend.series[0].rows[2].expectation.before, 4);
  EXPECT_TRUE(trend.has_answer());
  for (TrendRun& run : runs) {
    if (run.source.name == revision_name(2)) run.step_ms = 200.0;
  }
  trend = trend_of(runs, only({TrendMetric::kStepTime}));
  EXPECT_EQ(trend.series[0].rows[2].expectation.position, TrendPosition::kAbove);
  EXPECT_TRUE(trend.series[0].is_newest_apart);
  EXPECT_LE(*trend.series[0].newest_p, 0.05);
}

TEST(Trend, AfterAChangeOnlyTheNewLevelCounts) {
  NormalDraws draws(19);
  const SeriesTrend item = one_series(planted_runs({.changed_from = 12, .factor = 1.5}, draws), TrendMetric::kStepTime);
  EXPECT_EQ(item.rows[12].expectation.before, 12);
  EXPECT_EQ(item.rows[12].expectation.position, TrendPosition::kAbove);
  EXPECT_EQ(item.rows[13].expectation.before, 1);
  EXPECT_EQ(item.rows[13].expectation.position, TrendPosition::kUnknown);
  EXPECT_EQ(item.rows[19].expectation.before, 7);
  EXPECT_NE(item.rows[19].expectation.position, TrendPosition::kUnknown);
}

TEST(Trend, AmongEqualValuesOnlyADifferenceThatMattersIsNews) {
  NormalDraws draws(20);
  std::vector<TrendRun> runs = planted_runs({.revisions = 6}, draws);
  for (TrendRun& run : runs) {
    if (run.source.name == revision_name(5)) run.peak_bytes = 1.001e8;
  }
  SeriesTrend item = one_series(runs, TrendMetric::kPeakMemory);
  EXPECT_EQ(item.rows.back().expectation.position, TrendPosition::kAbove);
  EXPECT_FALSE(item.rows.back().expectation.interval);
  EXPECT_FALSE(item.is_newest_apart);
  for (TrendRun& run : runs) {
    if (run.source.name == revision_name(5)) run.peak_bytes = 1.1e8;
  }
  EXPECT_TRUE(one_series(runs, TrendMetric::kPeakMemory).is_newest_apart);
}

TEST(Trend, ASeedThatIsMissingIsNoChangeOfTheLoss) {
  NormalDraws draws(23);
  std::vector<TrendRun> runs = planted_runs({.revisions = 16, .seeds = 4}, draws);
  for (TrendRun& run : runs) {
    if (run.seed == 2 && run.started_at >= time_at(7 * 9)) run.outcome = core::RunOutcome::kCrashed, run.loss.reset();
  }
  const SeriesTrend item = one_series(runs, TrendMetric::kLoss);
  EXPECT_EQ(item.answer, TrendAnswer::kSteady);
  EXPECT_TRUE(item.has_mixed_seeds);
  EXPECT_EQ(item.rows.back().expectation.position, TrendPosition::kInside);
  EXPECT_EQ(item.rows.back().summary.n, 3);
}

TEST(Trend, ARevisionWithoutAValueHasARowAndNoAnswer) {
  NormalDraws draws(21);
  std::vector<TrendRun> runs = planted_runs({}, draws);
  for (TrendRun& run : runs) {
    if (run.source.name != revision_name(19)) continue;
    run.outcome = core::RunOutcome::kCrashed;
    run.loss = run.step_ms = run.peak_bytes = std::nullopt;
  }
  const SeriesTrend item = one_series(runs, TrendMetric::kStepTime);
  ASSERT_EQ(item.rows.size(), 20U);
  EXPECT_EQ(item.series.revisions.back().failed, 3);
  EXPECT_FALSE(item.rows.back().summary.mean);
  EXPECT_EQ(item.rows.back().expectation.position, TrendPosition::kUnknown);
  EXPECT_EQ(item.values, 19);
}

TEST(Trend, TenThousandRunsOfFewRevisionsKeepTheirPlace) {
  NormalDraws draws(22);
  const std::vector<TrendRun> runs =
      planted_runs({.revisions = 4, .seeds = 2500, .changed_from = 2, .factor = 1.01}, draws);
  const SeriesTrend item = one_series(runs, TrendMetric::kStepTime);
  EXPECT_EQ(item.values, 10000);
  ASSERT_EQ(item.changes.size(), 1U);
  EXPECT_FALSE(item.changes.front().is_within_revision());
  EXPECT_EQ(item.changes.front().after, 2U);
  EXPECT_NEAR(item.changes.front().shift->value, 0.01, 0.001);
}

TEST(Trend, AThousandRevisionsKeepTheirPlace) {
  NormalDraws draws(24);
  std::vector<TrendRun> runs =
      planted_runs({.revisions = 1000, .seeds = 1, .changed_from = 333, .factor = 1.05}, draws);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].started_at = "2026-01-01T00:00:" + std::to_string(100000 + i);
    if (i >= 607) runs[i].step_ms = *runs[i].step_ms / 1.1;
  }
  const SeriesTrend item = one_series(runs, TrendMetric::kStepTime);
  ASSERT_EQ(item.changes.size(), 2U);
  EXPECT_EQ(item.changes[0].after, 333U);
  EXPECT_EQ(item.changes[1].after, 607U);
}

// --- what it promises, measured ---

/// Share of reports over steady series that show a change.
double false_alarms(const Plant& plant, int cells, int repetitions, std::uint64_t seed) {
  NormalDraws draws(seed);
  return share_of(repetitions, [&] {
    std::vector<TrendRun> runs;
    for (int cell = 0; cell < cells; ++cell) {
      for (TrendRun& run : planted_runs(plant, draws)) {
        run.cell = "cell" + std::to_string(cell);
        runs.push_back(std::move(run));
      }
    }
    const Trend trend = trend_of(runs, only({TrendMetric::kStepTime}));
    return trend.series.front().answer == TrendAnswer::kChanged;
  });
}

TEST(TrendSimulation, SteadySeriesGiveNoMoreFalseChangesThanPromised) {
  constexpr int kRepetitions = 600;
  const double one = false_alarms({.revisions = 5, .seeds = 4}, 1, kRepetitions, 31);
  const double many = false_alarms({.revisions = 16}, 6, kRepetitions / 3, 32);
  std::cout << "false alarms, one series of runs: " << one << ", six series of means: " << many << "\n";
  EXPECT_LE(one, 0.05 + slack(0.05, kRepetitions)) << "one series of single runs";
  EXPECT_LE(many, 0.05 + slack(0.05, kRepetitions / 3)) << "six series of means";
}

/// Losses that chance draws anew for each run (a device that sums in another order each time).
TEST(TrendSimulation, LossesThatAreDrawnAnewEachTimeGiveNoMoreFalseChangesThanPromised) {
  constexpr int kRepetitions = 400;
  for (const int revisions : {4, 15}) {
    NormalDraws draws(36);
    const double alarms = share_of(kRepetitions, [&] {
      std::vector<TrendRun> runs = planted_runs({.revisions = revisions}, draws);
      for (TrendRun& run : runs) run.loss = draws.next(3.28, 0.002);
      return one_series(runs, TrendMetric::kLoss).answer == TrendAnswer::kChanged;
    });
    std::cout << "false alarms, losses drawn anew, " << revisions << " revisions: " << alarms << "\n";
    EXPECT_LE(alarms, 0.05 + slack(0.05, kRepetitions)) << revisions;
  }
}

/// A newest revision that only rounds otherwise.
TEST(TrendSimulation, ANewestLossThatIsOnlyDrawnAnewStandsApartAsRarelyAsPromised) {
  constexpr int kRepetitions = 600;
  NormalDraws draws(37);
  const double alarms = share_of(kRepetitions, [&] {
    return one_series(planted_runs({.revisions = 6, .seeds = 4, .changed_from = 5}, draws), TrendMetric::kLoss)
        .is_newest_apart;
  });
  std::cout << "newest loss apart, drawn anew: " << alarms << "\n";
  expect_share(alarms, 0.05, kRepetitions, "newest loss apart");
}

/// Step times whose revision means are correlated from week to week.
TEST(TrendSimulation, AMachineThatChangesSlowlyIsNoChange) {
  constexpr int kRepetitions = 2000;
  NormalDraws draws(40);
  const double alarms = share_of(kRepetitions, [&] {
    std::vector<TrendRun> runs = planted_runs({.revisions = 20, .time_cv = 0.0}, draws);
    double state = draws.next();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (i % 3 == 0 && i > 0) state = 0.5 * state + std::sqrt(0.75) * draws.next();
      runs[i].step_ms = 100.0 * (1.0 + 0.01 * state + 0.001 * draws.next());
    }
    return one_series(runs, TrendMetric::kStepTime).answer == TrendAnswer::kChanged;
  });
  std::cout << "false alarms at an autocorrelation of 0.5: " << alarms << "\n";
  EXPECT_LE(alarms, 0.06);
}

/// The share of trends whose newest revision stands apart, or begins a new level. Losses are drawn anew in every
/// revision, on top of what each seed contributes.
double newest_apart(int revisions, int seeds, double shift_in_sd, int repetitions) {
  NormalDraws draws(41);
  return share_of(repetitions, [&] {
    const std::vector<double> levels = draws.sample(seeds, 3.28, 0.01);
    std::vector<TrendRun> runs = planted_runs({.revisions = revisions, .seeds = seeds}, draws);
    for (TrendRun& run : runs) {
      const double shift = run.source.name == revision_name(revisions - 1) ? 0.002 * shift_in_sd : 0.0;
      run.loss = levels[run.seed - 1] + shift + draws.next(0.0, 0.002);
    }
    const SeriesTrend item = one_series(runs, TrendMetric::kLoss);
    const bool is_new_level = shift_in_sd > 0.0 && item.answer == TrendAnswer::kChanged;
    return item.is_newest_apart || is_new_level;
  });
}

TEST(TrendSimulation, ANewestLossFiveStandardDeviationsAwayStandsApart) {
  constexpr int kRepetitions = 2000;
  for (const auto& [revisions, seeds] : {std::pair(4, 3), {7, 2}, {7, 3}}) {
    const double found = newest_apart(revisions, seeds, 5.0, kRepetitions);
    const double alarms = newest_apart(revisions, seeds, 0.0, kRepetitions);
    std::cout << revisions << " revisions, " << seeds << " seeds: 5 sd found " << found << ", false alarms " << alarms
              << "\n";
    EXPECT_GE(found, 0.97) << revisions << " x " << seeds;
    EXPECT_LE(alarms, 0.05 + slack(0.05, kRepetitions)) << revisions << " x " << seeds;
  }
}

/// The machine has its days, and few revisions are compared by single runs.
TEST(TrendSimulation, ANewestDayOfTheMachineIsInsideTheDaysBefore) {
  constexpr int kRepetitions = 1000;
  NormalDraws draws(42);
  const double alarms = share_of(kRepetitions, [&] {
    return one_series(planted_runs({.revisions = 7, .session_cv = 0.03}, draws), TrendMetric::kStepTime)
        .is_newest_apart;
  });
  std::cout << "newest apart with days of 3 %: " << alarms << "\n";
  EXPECT_LE(alarms, 0.05 + slack(0.05, kRepetitions));
}

/// The machine has its days: means of revisions do not take them for changes.
TEST(TrendSimulation, DaysOfTheMachineAreNoChanges) {
  constexpr int kRepetitions = 400;
  const double alarms = false_alarms({.revisions = 20, .session_cv = 0.03}, 1, kRepetitions, 33);
  std::cout << "false alarms with days of 3 %: " << alarms << "\n";
  EXPECT_LE(alarms, 0.05 + slack(0.05, kRepetitions));
}

/// Single runs are compared where revisions are few; most changes that are only days are then called doubtful.
TEST(TrendSimulation, WithFewRevisionsDaysOfTheMachineAreMostlySeenAsSuch) {
  constexpr int kRepetitions = 300;
  NormalDraws draws(38);
  int doubtful = 0;
  const double alarms = share_of(kRepetitions, [&] {
    const SeriesTrend item =
        one_series(planted_runs({.revisions = 8, .session_cv = 0.03}, draws), TrendMetric::kStepTime);
    doubtful += item.has_days ? 1 : 0;
    return item.answer == TrendAnswer::kChanged && !item.has_days;
  });
  std::cout << "few revisions with days of 3 %: changes called doubtful "
            << static_cast<double>(doubtful) / kRepetitions << ", not called so " << alarms << "\n";
  EXPECT_LE(alarms, 0.05 + slack(0.05, kRepetitions));
  EXPECT_GT(doubtful, 0);
}

TEST(TrendSimulation, FindsAChangeOfTwoStandardDeviations) {
  constexpr int kRepetitions = 200;
  NormalDraws draws(34);
  int at_the_place = 0;
  const double found = share_of(kRepetitions, [&] {
    const SeriesTrend item =
        one_series(planted_runs({.revisions = 20, .changed_from = 12, .factor = 1.02}, draws), TrendMetric::kStepTime);
    if (!item.changes.empty() && item.changes.front().after == 12) ++at_the_place;
    return item.answer == TrendAnswer::kChanged;
  });
  std::cout << "power for 2 % at a cv of 1 %, 20 revisions of 3 runs: " << found << ", at its place "
            << static_cast<double>(at_the_place) / kRepetitions << "\n";
  EXPECT_GE(found, 0.95);
  EXPECT_GE(at_the_place, kRepetitions * 8 / 10);
}

TEST(TrendSimulation, TheNewestOfManySteadySeriesStandsApartAsRarelyAsPromised) {
  constexpr int kRepetitions = 400;
  NormalDraws draws(35);
  const double alarms = share_of(kRepetitions, [&] {
    std::vector<TrendRun> runs;
    for (int cell = 0; cell < 4; ++cell) {
      for (TrendRun& run : planted_runs({.revisions = 4, .seeds = 2}, draws)) {
        run.cell = "cell" + std::to_string(cell);
        runs.push_back(std::move(run));
      }
    }
    const Trend trend = trend_of(runs, only({TrendMetric::kStepTime}));
    return std::any_of(trend.series.begin(), trend.series.end(),
                       [](const SeriesTrend& item) { return item.is_newest_apart; });
  });
  std::cout << "newest apart, four steady series: " << alarms << "\n";
  expect_share(alarms, 0.05, kRepetitions, "newest apart");
}

}  // namespace
}  // namespace nanobench::reports
