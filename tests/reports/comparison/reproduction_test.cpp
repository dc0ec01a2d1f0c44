#include "reports/comparison/reproduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reports/kinds/kinds.h"

namespace nanobench::reports {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using Samples = std::vector<results::Sample>;

TEST(RepeatedSeries, EqualBitsAreTheSame) {
  const Samples stored = {{0, 1.5}, {1, -0.25}, {2, kNaN}};
  const RepeatedSeries series = compare_series("train/loss", stored, {{2, -kNaN}, {0, 1.5}, {1, -0.25}});
  EXPECT_TRUE(series.is_same());
  EXPECT_EQ(series.stored, 3);
  EXPECT_EQ(series.same, 3);
  EXPECT_FALSE(series.first_step.has_value());
  EXPECT_EQ(series.largest, 0.0);
}

TEST(RepeatedSeries, OneBitIsADifference) {
  const double other = std::nextafter(3.0, 4.0);
  const RepeatedSeries series =
      compare_series("val/loss", {{0, 2.0}, {5, 3.0}, {9, 4.0}}, {{0, 2.0}, {5, other}, {9, 4.5}});
  EXPECT_FALSE(series.is_same());
  EXPECT_EQ(series.same, 1);
  EXPECT_EQ(series.first_step, 5);
  EXPECT_EQ(series.largest, 0.5);
  EXPECT_FALSE(compare_series("val/loss", {{0, 0.0}}, {{0, -0.0}}).is_same());
}

TEST(RepeatedSeries, StepsOfOneSideAreDifferences) {
  const RepeatedSeries shorter = compare_series("train/loss", {{0, 1.0}, {1, 2.0}}, {{0, 1.0}});
  EXPECT_FALSE(shorter.is_same());
  EXPECT_EQ(shorter.first_step, 1);
  EXPECT_EQ(shorter.largest, 0.0);
  const RepeatedSeries longer = compare_series("train/loss", {{1, 2.0}}, {{0, 1.0}, {1, 2.0}, {2, 3.0}});
  EXPECT_FALSE(longer.is_same());
  EXPECT_EQ(longer.extra, 2);
  EXPECT_EQ(longer.first_step, 0);
  EXPECT_FALSE(compare_series("train/loss", {{0, 1.0}}, {}).largest.has_value());
}

TEST(RepeatedSeries, ANumberIsNotTheSameAsNone) {
  const RepeatedSeries series = compare_series("train/loss", {{3, 1.0}}, {{3, kNaN}});
  EXPECT_FALSE(series.is_same());
  EXPECT_TRUE(std::isinf(*series.largest));
}

TEST(Reproduction, IsSaidInOneSentence) {
  Reproduction reproduction;
  EXPECT_FALSE(reproduction.is_same()) << "nothing was compared";
  reproduction.series = {compare_series("train/loss", {{0, 1.0}, {1, 2.0}}, {{0, 1.0}, {1, 2.0}}),
                         compare_series("val/loss", {{1, 2.0}}, {{1, 2.0}})};
  EXPECT_TRUE(reproduction.is_same());
  EXPECT_EQ(reproduction_report(reproduction).headline,
            "Reproduced: 2 training losses and 1 validation loss, all the same to the last bit.");
  reproduction.series[1] = compare_series("val/loss", {{1, 2.0}}, {{1, 2.25}});
  EXPECT_EQ(
      reproduction_report(reproduction).headline,
      "Not reproduced: other validation losses from step 1 on, by up to 0.250. Engine, configuration, data, seed, "
      "threads and kind of machine are those of the stored run.");
  reproduction.conditions = {{.key = "engine_version", .title = "engine", .stored = "a", .now = "b"}};
  const Document document = reproduction_report(reproduction);
  EXPECT_EQ(document.headline, "Not reproduced: other validation losses from step 1 on, by up to 0.250.");
  EXPECT_EQ(document.sections.at(0).tables.at(1).rows.at(0).at(2).text, "b");
}

}  // namespace
}  // namespace nanobench::reports
