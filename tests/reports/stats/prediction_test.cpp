#include "reports/stats/prediction.h"

#include "core/base/error.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

using Values = std::vector<double>;

TEST(PredictionInterval, AgreesWithReference) {
  for (const nlohmann::json& entry : vectors("prediction")) {
    const Values values = list_of(entry, "values");
    const auto mean = prediction_interval(values, entry.at("runs"), entry.at("level"));
    const auto each = prediction_interval(values, entry.at("runs"), entry.at("level"), Predicted::kEachRun);
    expect_interval(*mean, entry.at("mean_low"), entry.at("mean_high"), "mean");
    expect_interval(*each, entry.at("each_low"), entry.at("each_high"), "each");
  }
}

TEST(PredictionInterval, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(prediction_interval(Values{3.28}));
  EXPECT_FALSE(prediction_interval(Values{3.28, 3.28}));
  EXPECT_FALSE(prediction_interval(Values{3.28, std::nan("")}));
  EXPECT_THROW(prediction_interval(Values{1, 2}, 0), core::Error);
}

TEST(PredictionInterval, HoldsNewRunsAsPromised) {
  NormalDraws draws(51);
  constexpr int kRepetitions = 10000;
  const double one =
      share_of(kRepetitions, [&] { return prediction_interval(draws.sample(5))->contains(draws.next()); });
  expect_share(one, 0.95, kRepetitions, "one new run");
  const double all = share_of(kRepetitions, [&] {
    const auto interval = prediction_interval(draws.sample(5), 3, 0.95, Predicted::kEachRun);
    return interval->contains(draws.next()) && interval->contains(draws.next()) && interval->contains(draws.next());
  });
  EXPECT_GE(all, 0.95 - slack(0.95, kRepetitions));
}

TEST(OutlierFlags, FlagAndKeep) {
  // Median 5, absolute deviations 2 1 0 1 2 95: MAD 1.5.
  const auto flags = outlier_flags(Values{3, 4, 5, 6, 7, 100});
  ASSERT_TRUE(flags);
  EXPECT_EQ(flags->count, 1);
  EXPECT_EQ(flags->score.size(), 6U);
  EXPECT_TRUE(flags->is_outlier[5]);
  EXPECT_NEAR(flags->score[5], 0.6744897501960817 * (100 - 5.5) / 1.5, 1e-9);
  EXPECT_FALSE(flags->uses_mean_deviation);
}

TEST(OutlierFlags, HalfEqualTakesTheMeanDeviation) {
  const auto flags = outlier_flags(Values{2, 2, 2, 2, 2, 2, 2, 2, 2, 9});
  ASSERT_TRUE(flags);
  EXPECT_TRUE(flags->uses_mean_deviation);
  EXPECT_NEAR(flags->score[9], 7.0 / (1.2533141373155003 * 0.7), 1e-12);
  EXPECT_TRUE(flags->is_outlier[9]);
  EXPECT_EQ(flags->count, 1);
}

TEST(OutlierFlags, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(outlier_flags(Values{1, 2}));
  EXPECT_FALSE(outlier_flags(Values{2, 2, 2}));
  EXPECT_FALSE(outlier_flags(Values{1, 2, std::nan("")}));
  EXPECT_THROW(outlier_flags(Values{1, 2, 3}, 0.0), core::Error);
}

}  // namespace
}  // namespace nanobench::reports
