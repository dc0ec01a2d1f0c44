#include "reports/stats/proportion.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"

namespace nanobench::reports {
namespace {

struct ProportionCase {
  int hits, trials;
  double level, low, high;
};

TEST(ClopperPearson, IsWhatSciPyComputes) {
  // scipy.stats.beta.ppf(a / 2, k, n - k + 1) and ppf(1 - a / 2, k + 1, n - k)
  for (const ProportionCase& item :
       {ProportionCase{0, 10, 0.95, 0.0, 0.308497107818761}, ProportionCase{10, 10, 0.95, 0.691502892181239, 1.0},
        ProportionCase{7, 10, 0.95, 0.347547149940003, 0.933260488822266}, ProportionCase{1, 1, 0.95, 0.025, 1.0},
        ProportionCase{3, 20, 0.9, 0.0421694078857786, 0.343663804314282}}) {
    const auto interval = clopper_pearson(item.hits, item.trials, item.level);
    ASSERT_TRUE(interval);
    EXPECT_NEAR(interval->low, item.low, 1e-12) << item.hits << " of " << item.trials;
    EXPECT_NEAR(interval->high, item.high, 1e-12) << item.hits << " of " << item.trials;
    EXPECT_EQ(interval->level, item.level);
  }
}

TEST(ClopperPearson, HoldsAtLeastAtItsLevelForEveryShare) {
  constexpr int kTrials = 12;
  for (double share = 0.02; share < 1.0; share += 0.02) {
    double held = 0.0, chance = std::pow(1.0 - share, kTrials);
    for (int hits = 0; hits <= kTrials; ++hits) {
      if (clopper_pearson(hits, kTrials)->contains(share)) held += chance;
      chance *= (kTrials - hits) / (hits + 1.0) * share / (1.0 - share);
    }
    EXPECT_GE(held, 0.95 - 1e-12) << share;
  }
}

TEST(ClopperPearson, RefusesWhatIsNoShare) {
  EXPECT_FALSE(clopper_pearson(0, 0));
  EXPECT_THROW(clopper_pearson(3, 2), core::Error);
  EXPECT_THROW(clopper_pearson(-1, 2), core::Error);
  EXPECT_THROW(clopper_pearson(1, 2, 1.0), core::Error);
}

struct ScoreCase {
  double hits;
  int trials;
  double level, low, high;
};

TEST(Wilson, SolvesTheQuadraticOfItsScore) {
  // The two p at which |hits / n - p| is z standard errors sqrt(p (1 - p) / n): the roots of the quadratic, by Python.
  for (const ScoreCase& item :
       {ScoreCase{0, 10, 0.95, 0.0, 0.277532799862889}, ScoreCase{10, 10, 0.95, 0.722467200137111, 1.0},
        ScoreCase{2887, 10042, 0.95, 0.278723019152161, 0.296424566294501},
        ScoreCase{13.5, 40, 0.95, 0.211046017270216, 0.492431003118902},
        ScoreCase{7, 10, 0.9, 0.441699795869835, 0.873123416096802}}) {
    const auto interval = wilson(item.hits, item.trials, item.level);
    ASSERT_TRUE(interval);
    EXPECT_NEAR(interval->low, item.low, 1e-12) << item.hits << " of " << item.trials;
    EXPECT_NEAR(interval->high, item.high, 1e-12) << item.hits << " of " << item.trials;
  }
  EXPECT_FALSE(wilson(0, 0));
  EXPECT_THROW(wilson(2.5, 2), core::Error);
  EXPECT_THROW(wilson(-0.5, 2), core::Error);
  EXPECT_THROW(wilson(std::nan(""), 2), core::Error);
}

TEST(McNemar, IsTheExactTestOfAFairCoin) {
  // Sums of binomial coefficients over 2^n as fractions, by Python.
  EXPECT_DOUBLE_EQ(*mcnemar(0, 5), 0.0625);
  EXPECT_DOUBLE_EQ(*mcnemar(1, 0), 1.0);
  EXPECT_DOUBLE_EQ(*mcnemar(3, 9), 0.14599609375);
  EXPECT_DOUBLE_EQ(*mcnemar(9, 3), 0.14599609375);
  EXPECT_DOUBLE_EQ(*mcnemar(12, 12), 1.0);
  EXPECT_NEAR(*mcnemar(121, 59), 4.4344492637551764e-06, 1e-17);
  EXPECT_NEAR(*mcnemar(300, 250), 0.036578745549102704, 1e-13);
  EXPECT_DOUBLE_EQ(*mcnemar(1, 7), 0.0703125);
  EXPECT_FALSE(mcnemar(0, 0)) << "no item differs";
  EXPECT_THROW(mcnemar(-1, 2), core::Error);
}

}  // namespace
}  // namespace nanobench::reports
