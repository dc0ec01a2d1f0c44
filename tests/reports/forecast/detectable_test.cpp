#include "reports/forecast/forecast.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "reports/stats/estimate.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

constexpr double kNoiseSd = 0.0019;

results::PlanContrast simple() {
  return {.effect = "x",
          .kind = results::ContrastKind::kSimple,
          .meaning = "",
          .coefficients = {{"base", 1.0}, {"without x", -1.0}}};
}

results::PlanContrast main_effect() {
  return {.effect = "a",
          .kind = results::ContrastKind::kMain,
          .meaning = "",
          .coefficients = {{"1", -0.5}, {"2", 0.5}, {"3", -0.5}, {"4", 0.5}}};
}

NoiseFigure noise(double sd = kNoiseSd) {
  return {.spread = Spread{.sd = sd, .df = 20}, .is_bound = false, .source = NoiseSource::kSuite};
}

/// How often the t test over seeds finds `effect` when cells are cell + seed + rest.
double share_found(const results::PlanContrast& contrast, double effect, int seeds, double alpha, std::uint64_t seed) {
  NormalDraws draws(seed);
  constexpr int kRepetitions = 4000;
  return share_of(kRepetitions, [&] {
    std::vector<double> values;
    for (int i = 0; i < seeds; ++i) {
      const double common = draws.next(0.0, 0.01);
      double sum = effect;
      for (const auto& [cell, coefficient] : contrast.coefficients)
        sum += coefficient * (common + draws.next(0.0, kNoiseSd));
      values.push_back(sum);
    }
    return p_of(estimate_of(*moments_of(values))) < alpha;
  });
}

TEST(Detectable, TheEffectIsFoundWithThePromisedPower) {
  std::uint64_t seed = 300;
  for (const results::PlanContrast& contrast : {simple(), main_effect()}) {
    for (const int seeds : {3, 8}) {
      const Detectable result = detectable(contrast, noise(), {.seeds = seeds, .tests = 4}, {.power = 0.8}, {});
      expect_share(share_found(contrast, *result.effect, seeds, 0.05, ++seed), 0.8, 4000, contrast.effect);
      expect_share(share_found(contrast, *result.effect_among_all, seeds, 0.05 / 4, ++seed), 0.8, 4000, "among four");
    }
  }
}

TEST(Detectable, FourCellsTellMoreThanTwo) {
  const Detectable two = detectable(simple(), noise(), {.seeds = 5}, {}, {});
  const Detectable four = detectable(main_effect(), noise(), {.seeds = 5}, {}, {});
  EXPECT_DOUBLE_EQ(*two.sd, std::sqrt(2.0) * kNoiseSd);
  EXPECT_DOUBLE_EQ(*four.sd, kNoiseSd);
  EXPECT_NEAR(*two.effect / *four.effect, std::sqrt(2.0), 1e-9);
}

TEST(Detectable, SeedsForAnEffectAreTheInverse) {
  for (const double asked : {0.0005, 0.002, 0.01}) {
    const DetectionRules rules{.power = 0.9, .loss = asked};
    const Detectable needed = detectable(simple(), noise(), {.seeds = 1, .tests = 3}, rules, asked);
    ASSERT_TRUE(needed.seeds && needed.seeds_among_all);
    EXPECT_GE(*needed.seeds_among_all, *needed.seeds);
    const auto found_by = [&](int seeds) {
      return *detectable(simple(), noise(), {.seeds = seeds, .tests = 3}, {.power = 0.9}, {}).effect;
    };
    EXPECT_LE(found_by(*needed.seeds), asked);
    if (*needed.seeds > kVerdictSeeds) {
      EXPECT_GT(found_by(*needed.seeds - 1), asked);
    }
  }
}

TEST(Detectable, NoPromiseIsMadeForSeedsThatGiveNoVerdict) {
  const Detectable huge = detectable(simple(), noise(), {.seeds = 5, .tests = 2}, {}, 1.0);
  EXPECT_EQ(huge.seeds, kVerdictSeeds);
  EXPECT_EQ(huge.seeds_among_all, kVerdictSeeds);
}

TEST(Detectable, NumbersAreRoundedToWhatTheirSpreadKnows) {
  EXPECT_EQ(known_seeds(47, 20.0), 50) << "47 +- 15";
  EXPECT_EQ(known_seeds(381, 20.0), 400) << "381 +- 120";
  EXPECT_EQ(known_seeds(381, 200.0), 390) << "381 +- 38";
  EXPECT_EQ(known_seeds(8, 20.0), 8);
  EXPECT_EQ(known_seeds(381, kInfinity), 381);
  EXPECT_EQ(known_digits(0.00214, 20.0), 2) << "0.00214 +- 0.00034";
  EXPECT_EQ(known_digits(0.0098, 2.0), 1) << "0.0098 +- 0.0049";
  EXPECT_EQ(known_digits(0.00214, 1e6), 3);
}

TEST(Detectable, WhatIsUnknownHasAReasonAndNoNumber) {
  using Kind = Undetectable::Kind;
  Detectable result = detectable(simple(), NoiseFigure{}, {.seeds = 5}, {}, {});
  EXPECT_FALSE(result.effect || result.sd);
  EXPECT_EQ(result.undetectable, Undetectable{Kind::kNoNoise});
  result = detectable(simple(), noise(), {.seeds = 1}, {}, {});
  EXPECT_FALSE(result.effect);
  EXPECT_EQ(result.undetectable, (Undetectable{Kind::kFewSeeds, 1}));
  EXPECT_FALSE(detectable(simple(), noise(), {.seeds = 2}, {}, {}).effect) << "two seeds give no verdict";
  result = detectable(simple(), noise(0.0), {.seeds = 5}, {}, {});
  EXPECT_FALSE(result.effect);
  EXPECT_EQ(result.undetectable, Undetectable{Kind::kEqualRuns});
  result = detectable(simple(), noise(1.0), {.seeds = 5}, {}, 1e-6);
  EXPECT_FALSE(result.seeds);
  EXPECT_EQ(result.undetectable, (Undetectable{Kind::kManySeeds, 1000000}));
  EXPECT_FALSE(detectable(simple(), noise(), {.seeds = 5}, {}, {}).undetectable) << "there is a number";
}

TEST(Detectable, AFactorialThatRunsOnceHasLenthsError) {
  const Detectable once = detectable(main_effect(), noise(), {.seeds = 1, .tests = 15, .has_lenth = true}, {}, {});
  ASSERT_TRUE(once.effect);
  EXPECT_GT(*once.effect, 2.8 * kNoiseSd);
  EXPECT_LT(*once.effect, 4.0 * kNoiseSd);
}

TEST(Detectable, RulesWithoutMeaningAreRefusedByTheirNames) {
  const auto message = [](const DetectionRules& rules) {
    try {
      check_rules(rules);
    } catch (const core::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({}), "");
  EXPECT_NE(message({.alpha = 0.0}).find("--alpha"), std::string::npos);
  EXPECT_NE(message({.power = 1.0}).find("--power"), std::string::npos);
  EXPECT_NE(message({.power = 0.01}).find("--power"), std::string::npos);
  EXPECT_NE(message({.loss = 0.0}).find("--detect "), std::string::npos);
  EXPECT_NE(message({.time = std::nan("")}).find("--detect-time"), std::string::npos);
}

}  // namespace
}  // namespace nanobench::reports
