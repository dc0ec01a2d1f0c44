#include "core/base/random.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace nanobench::core {
namespace {

TEST(SplitMix64, AShuffleAfterAnItemDoesNotBeginWithIt) {
  constexpr int kDraws = 40'000;
  SplitMix64 random(1);
  std::map<std::string, int> counts;
  for (int i = 0; i < kDraws; ++i) {
    std::string items = "abc";
    random.shuffle_after('b', items);
    ++counts[items];
  }
  EXPECT_EQ(counts.size(), 4U);
  for (const auto& [order, count] : counts) {
    EXPECT_NE(order.front(), 'b');
    EXPECT_NEAR(count, kDraws / 4.0, 400.0) << order << ": four standard deviations are 346";
  }
}

TEST(SplitMix64, AShuffleAfterAnItemThatIsAloneOrGone) {
  SplitMix64 random(1);
  std::string alone = "a", none;
  random.shuffle_after('a', alone);
  random.shuffle_after('a', none);
  EXPECT_EQ(alone, "a");
  std::map<std::string, int> counts;
  for (int i = 0; i < 1000; ++i) {
    std::string items = "ab";
    random.shuffle_after('c', items);
    ++counts[items];
  }
  EXPECT_EQ(counts.size(), 2U) << "nothing is excluded";
}

}  // namespace
}  // namespace nanobench::core
