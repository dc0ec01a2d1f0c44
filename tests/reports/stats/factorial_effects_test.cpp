#include "reports/stats/factorial_effects.h"

#include "core/base/error.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

using Values = std::vector<double>;
using Cells = std::vector<Values>;

TEST(ContrastEffect, AgreesWithReference) {
  for (const nlohmann::json& entry : vectors("contrasts")) {
    const Cells cells = entry.at("cells").get<Cells>();
    const Contrast contrast = list_of(entry, "contrast");
    const auto within = contrast_effect(cells, contrast, CellError::kWithinCells);
    const auto pooled = contrast_effect(cells, contrast, CellError::kPooled);
    ASSERT_TRUE(within && within->estimate && pooled && pooled->estimate);
    EXPECT_NEAR(within->value, entry.at("value").get<double>(), 1e-9 * within->estimate->se);
    expect_close(within->estimate->se, entry.at("se"), entry.dump());
    expect_close(within->estimate->df, entry.at("df"), entry.dump());
    expect_close(pooled->estimate->se, entry.at("pooled_se"), entry.dump());
    expect_close(pooled->estimate->df, entry.at("pooled_df"), entry.dump());
  }
}

TEST(ContrastEffect, OneRunACellHasNoErrorOfItsOwn) {
  const Cells cells = {{1.0, 2.0, 3.0}, {5.0}};
  const auto within = contrast_effect(cells, {-1, 1}, CellError::kWithinCells);
  EXPECT_DOUBLE_EQ(within->value, 3.0);
  EXPECT_FALSE(within->estimate);
  const auto pooled = contrast_effect(cells, {-1, 1}, CellError::kPooled);
  EXPECT_NEAR(pooled->estimate->se, std::sqrt(4.0 / 3.0), 1e-12);
  EXPECT_FALSE(contrast_effect(Cells{{1.0}, {2.0}}, {-1, 1}, CellError::kPooled)->estimate);
}

TEST(ContrastEffect, MisuseIsRefusedAndMissingIsNothing) {
  const Cells cells = {{1.0, 2.0}, {5.0, 6.0}};
  EXPECT_THROW(contrast_effect(cells, {1, 1}, CellError::kPooled), core::Error);
  EXPECT_THROW(contrast_effect(cells, {1, -1, 0}, CellError::kPooled), core::Error);
  EXPECT_THROW(contrast_effect(cells, {0, 0}, CellError::kPooled), core::Error);
  EXPECT_THROW(contrast_effect(cells, {std::nan(""), 1}, CellError::kPooled), core::Error);
  EXPECT_FALSE(contrast_effect(Cells{{1.0, std::nan("")}, {2.0, 1.0}}, {1, -1}, CellError::kWithinCells));
  EXPECT_FALSE(contrast_effect(Cells{{}, {2.0, 1.0}}, {1, -1}, CellError::kWithinCells));
}

TEST(Lenth, AgreesWithReference) {
  for (const nlohmann::json& entry : vectors("lenth")) {
    const auto result = lenth(list_of(entry, "effects"));
    ASSERT_TRUE(result);
    expect_close(result->pse, entry.at("pse"), entry.dump());
    expect_close(result->margin, entry.at("margin"), entry.dump());
    expect_close(result->simultaneous_margin, entry.at("simultaneous_margin"), entry.dump());
  }
}

TEST(Lenth, FiltrationRateExample) {
  // Montgomery's pilot-plant experiment, a 2^4 design with one run a cell; PSE, ME and SME as published for it.
  const Values effects = {21.625, 3.125,  0.125, 9.875,  -18.125, 2.375,  1.875, 14.625,
                          16.625, -0.375, 4.125, -1.125, -1.625,  -2.625, 1.375};
  const auto result = lenth(effects);
  EXPECT_NEAR(result->pse, 2.625, 1e-12);
  EXPECT_NEAR(result->margin, 6.748, 5e-4);
  EXPECT_NEAR(result->simultaneous_margin, 13.699, 5e-4);
  EXPECT_EQ(std::count(result->is_active.begin(), result->is_active.end(), true), 4);
}

TEST(Lenth, WhatCannotAnswerIsNothing) {
  EXPECT_FALSE(lenth(Values{1.0, 2.0}));
  EXPECT_FALSE(lenth(Values{0.0, 0.0, 0.0, 5.0})) << "no error to be seen";
  EXPECT_FALSE(lenth(Values{0.0, std::nan(""), 0.0, 5.0}));
}

TEST(ContrastEffect, IntervalHoldsWithUnequalSpreads) {
  NormalDraws draws(71);
  constexpr int kRepetitions = 10000;
  const double held = share_of(kRepetitions, [&] {
    const Cells cells = {draws.sample(5, 0.0, 1.0), draws.sample(5, 1.0, 2.0), draws.sample(5, 2.0, 1.0),
                         draws.sample(5, 3.0, 2.0)};
    const auto effect = contrast_effect(cells, {-1, 1, -1, 1}, CellError::kWithinCells);
    return interval_of(*effect->estimate).contains(1.0);
  });
  expect_share(held, 0.95, kRepetitions, "coverage");
}

}  // namespace
}  // namespace nanobench::reports
