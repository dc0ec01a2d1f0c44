#include "tools/terminal/styled_line.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/text.h"

namespace nanobench::tools {
namespace {

using Samples = std::vector<results::Sample>;

TEST(Sparkline, FallsFromFullToLow) {
  EXPECT_EQ(sparkline({{0, 8}, {1, 7}, {2, 6}, {3, 5}, {4, 4}, {5, 3}, {6, 2}, {7, 1}}, 7, 8, true), "█▇▆▅▄▃▂▁");
  EXPECT_EQ(sparkline({{0, 8}, {1, 7}, {2, 6}, {3, 5}, {4, 4}, {5, 3}, {6, 2}, {7, 1}}, 7, 8, false), "#*+=~-._");
}

TEST(Sparkline, GrowsWithTheRun) {
  Samples samples;
  for (std::int64_t step = 0; step < 50; ++step) samples.push_back({step, 10.0 - 0.1 * static_cast<double>(step)});
  EXPECT_EQ(display_width(sparkline(samples, 99, 20, true)), 10U) << "half of the run, half of the width";
  EXPECT_EQ(display_width(sparkline(samples, 10, 20, true)), 20U) << "a run longer than planned still fits";
}

TEST(Sparkline, FewSamplesMakeAStaircase) {
  EXPECT_EQ(sparkline({{0, 2}, {4, 1}}, 7, 8, true), "████▁") << "held until the next one";
}

TEST(Sparkline, WhatIsNotFiniteStandsOut) {
  EXPECT_EQ(sparkline({{0, 2}, {1, 1}, {2, std::nan("")}, {3, std::nan("")}}, 3, 4, false), "#_!!");
  EXPECT_EQ(sparkline({{0, std::nan("")}}, 3, 4, true), "!");
}

TEST(Sparkline, NothingAndOneValue) {
  EXPECT_EQ(sparkline({}, 10, 10, true), "");
  EXPECT_EQ(sparkline({{0, 3}}, 10, 0, true), "");
  EXPECT_EQ(sparkline({{0, 3}}, 0, 3, true), "▁");
  EXPECT_EQ(sparkline({{2, 3}}, 2, 3, true), "  ▁") << "columns before the first sample are empty";
}

TEST(Sparkline, ASteepStartDoesNotFlattenTheRest) {
  Samples samples = {{0, 1000.0}};
  for (std::int64_t step = 1; step < 40; ++step) samples.push_back({step, step % 2 == 0 ? 1.0 : 2.0});
  const std::string text = sparkline(samples, 39, 40, false);
  EXPECT_EQ(text.substr(0, 4), "##_#");
}

}  // namespace
}  // namespace nanobench::tools
