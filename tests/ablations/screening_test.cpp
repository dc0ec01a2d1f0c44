#include "ablations/screening.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace nanobench::ablations {
namespace {

std::optional<DesignCell> with_factor(DesignCell cell, std::size_t factor) {
  cell[factor] = 1;
  return cell;
}

std::size_t uses_of(const std::vector<DesignCell>& cells, std::size_t factor) {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [&](const DesignCell& cell) { return cell[factor] > 0; }));
}

TEST(ScreeningCells, EveryFactorIsInAQuarterOfTheCells) {
  for (const std::size_t factors : {6U, 20U, 64U}) {
    const std::size_t size = screening_size(factors);
    const std::vector<DesignCell> cells = screening_cells(factors, size, with_factor);
    ASSERT_EQ(cells.size(), size);
    EXPECT_EQ(cells.front(), DesignCell(factors, 0)) << "the base comes first";
    EXPECT_EQ(std::set<DesignCell>(cells.begin(), cells.end()).size(), size) << "all differ";
    std::size_t least = size, most = 0;
    for (std::size_t j = 0; j < factors; ++j) {
      least = std::min(least, uses_of(cells, j));
      most = std::max(most, uses_of(cells, j));
    }
    EXPECT_LE(most - least, 2U) << factors;
    EXPECT_NEAR(static_cast<double>(least + most) / 2.0, kScreeningShare * static_cast<double>(size), 2.0) << factors;
    EXPECT_EQ(screening_cells(factors, size, with_factor), cells) << "the same every time";
  }
}

TEST(ScreeningCells, TakeAlongAndLeaveOutWhatTheyMust) {
  // 0 cannot be turned, 1 takes 2 along, 3 and 4 exclude each other.
  const auto turn = [](DesignCell cell, std::size_t factor) -> std::optional<DesignCell> {
    if (factor == 0 || (factor == 3 && cell[4] > 0) || (factor == 4 && cell[3] > 0)) return std::nullopt;
    cell[factor] = 1;
    if (factor == 1) cell[2] = 1;
    return cell;
  };
  const std::vector<DesignCell> cells = screening_cells(12, 19, turn);
  EXPECT_EQ(cells.size(), 19U);
  EXPECT_EQ(uses_of(cells, 0), 0U);
  EXPECT_GT(uses_of(cells, 2), uses_of(cells, 1));
  for (const DesignCell& cell : cells) {
    EXPECT_TRUE(cell[1] == 0 || cell[2] > 0);
    EXPECT_FALSE(cell[3] > 0 && cell[4] > 0);
  }
}

TEST(ScreeningCells, AreFewerIfThereAreNotSoMany) {
  const std::vector<DesignCell> cells = screening_cells(2, 100, with_factor);
  EXPECT_LE(cells.size(), 4U);
  EXPECT_GE(cells.size(), 3U);
}

}  // namespace
}  // namespace nanobench::ablations
