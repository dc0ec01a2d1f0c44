#include "reports/stats/power.h"

#include "core/base/error.h"
#include "reports/stats/t_tests.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

PlannedError one_arm(int n) {
  return planned_error(1.0, n);
}
PlannedError two_arms(int n) {
  return planned_error(1.0, n, 1.0, n);
}

TEST(Power, AgreesWithReference) {
  for (const nlohmann::json& entry : vectors("power")) {
    const PowerSettings settings{.alpha = entry.at("alpha"), .is_two_sided = entry.at("is_two_sided")};
    const int n = entry.at("n");
    expect_close(power_of(entry.at("effect"), one_arm(n), settings), entry.at("one"), entry.dump());
    expect_close(power_of(entry.at("effect"), two_arms(n), settings), entry.at("two"), entry.dump());
  }
}

TEST(Power, OfNoEffectIsAlpha) {
  EXPECT_NEAR(power_of(0.0, two_arms(4), {.alpha = 0.01}), 0.01, 1e-12);
  EXPECT_NEAR(power_of(0.0, two_arms(4), {.alpha = 0.01, .is_two_sided = false}), 0.01, 1e-12);
  EXPECT_NEAR(power_of(1e9, two_arms(2)), 1.0, 1e-12);
  EXPECT_DOUBLE_EQ(power_of(-0.7, two_arms(6)), power_of(0.7, two_arms(6)));
}

TEST(MinimumDetectableEffect, AgreesWithReference) {
  for (const nlohmann::json& entry : vectors("detectable")) {
    const double effect =
        minimum_detectable_effect(two_arms(entry.at("n")), entry.at("power"), {.alpha = entry.at("alpha")});
    expect_close(effect, entry.at("effect"), entry.dump());
  }
}

TEST(MinimumDetectableEffect, ScalesWithTheSpread) {
  const double unit = minimum_detectable_effect(planned_error(1.0, 5, 1.0, 5));
  expect_close(minimum_detectable_effect(planned_error(0.0019, 5, 0.0019, 5)), 0.0019 * unit, "a loss's spread");
  EXPECT_GT(minimum_detectable_effect(planned_error(1.0, 2)), 5.0) << "two pairs find only what is plain";
}

TEST(RequiredRuns, AgreesWithStatsmodels) {
  for (const nlohmann::json& entry : vectors("required")) {
    const PowerSettings settings{.alpha = entry.at("alpha")};
    EXPECT_EQ(required_runs(entry.at("effect"), two_arms, entry.at("power"), settings), entry.at("two").get<int>());
    EXPECT_EQ(required_runs(entry.at("effect"), one_arm, entry.at("power"), settings), entry.at("one").get<int>());
  }
  EXPECT_FALSE(required_runs(1e-4, two_arms, 0.8, {}, 1000)) << "1000 are not enough";
  EXPECT_EQ(required_runs(100.0, two_arms), 2);
}

TEST(EquivalencePower, AgreesWithReference) {
  for (const nlohmann::json& entry : vectors("equivalence_power")) {
    const double power = equivalence_power(entry.at("effect"), two_arms(entry.at("n")),
                                           Margins::symmetric(entry.at("margin")), entry.at("alpha"));
    expect_close(power, entry.at("power"), entry.dump(), 1e-8);
  }
}

TEST(EquivalencePower, RunsForIt) {
  const Margins margins = Margins::symmetric(1.0);
  const std::optional<int> runs = required_runs_for_equivalence(0.0, two_arms, margins);
  ASSERT_TRUE(runs);
  EXPECT_GE(equivalence_power(0.0, two_arms(*runs), margins), 0.8);
  EXPECT_LT(equivalence_power(0.0, two_arms(*runs - 1), margins), 0.8);
  EXPECT_FALSE(required_runs_for_equivalence(1.0, two_arms, margins)) << "not inside the margins";
}

TEST(Power, MisuseIsRefused) {
  EXPECT_THROW(planned_error(0.0, 5), core::Error);
  EXPECT_THROW(planned_error(1.0, 1), core::Error);
  EXPECT_THROW(power_of(std::nan(""), one_arm(5)), core::Error);
  EXPECT_THROW(power_of(1.0, PlannedError{}), core::Error);
  EXPECT_THROW(power_of(1.0, one_arm(5), {.alpha = 0.0}), core::Error);
  EXPECT_THROW(minimum_detectable_effect(one_arm(5), 0.04), core::Error);
  EXPECT_THROW(required_runs(0.0, one_arm), core::Error);
  EXPECT_THROW(equivalence_power(0.0, one_arm(5), Margins{}), core::Error);
}

TEST(Power, WelchFindsWhatWasPromised) {
  NormalDraws draws(91);
  constexpr int kRepetitions = 10000;
  const double effect = minimum_detectable_effect(two_arms(5));
  const double found = share_of(kRepetitions, [&] {
    const auto shifted = draws.sample(5, effect);  // before the other, whatever the compiler's order of arguments
    return p_of(*welch(shifted, draws.sample(5))) < 0.05;
  });
  // Welch estimates the degrees of freedom, which costs two points of a hundred with five runs: 0.7767 of two million.
  EXPECT_NEAR(found, 0.7767, slack(0.8, kRepetitions));
}

TEST(Power, PairsAndUnequalArmsToo) {
  NormalDraws draws(92);
  constexpr int kRepetitions = 10000;
  const double pairs =
      share_of(kRepetitions, [&] { return p_of(*paired_t(draws.sample(6, 1.5), std::vector<double>(6, 0.0))) < 0.05; });
  expect_share(pairs, power_of(1.5, one_arm(6)), kRepetitions, "pairs");
  const double unequal = share_of(
      kRepetitions, [&] { return p_of(*welch(draws.sample(12, 1.2, 0.5), draws.sample(6, 0.0, 1.0))) < 0.05; });
  EXPECT_NEAR(unequal, power_of(1.2, planned_error(0.5, 12, 1.0, 6)), 0.01 + slack(0.7, kRepetitions));
}

TEST(VerdictPower, IsWhatHappens) {
  NormalDraws draws(94);
  constexpr int kRepetitions = 10000;
  struct Case {
    double effect, margin;
    int n;
  };
  // Within and beyond the margins; in the second both tests may pass at once.
  for (const Case& item : {Case{0.2, 1.2, 8}, Case{0.6, 1.5, 30}, Case{1.0, 1.2, 6}, Case{2.0, 0.5, 5}}) {
    const VerdictTests tests{.margins = {.low = item.margin, .high = 1.5 * item.margin},
                             .alpha_difference = 0.02,
                             .alpha_equivalence = 0.05};
    const double reached = share_of(kRepetitions, [&] {
      const Estimate estimate =
          *paired_t(draws.sample(item.n, item.effect), std::vector<double>(static_cast<std::size_t>(item.n), 0.0));
      return p_of(estimate) < 0.02 || equivalence(estimate, tests.margins).is_equivalent;
    });
    expect_share(reached, verdict_power(item.effect, one_arm(item.n), tests), kRepetitions, std::to_string(item.n));
  }
}

TEST(VerdictPower, RunsForIt) {
  const VerdictTests tests{.margins = Margins::symmetric(1.0)};
  for (const double effect : {0.0, 0.7, 1.0, 1.7}) {
    const int runs = required_runs_for_verdict(effect, one_arm, tests).value();
    EXPECT_GE(verdict_power(effect, one_arm(runs), tests), 0.8) << effect;
    EXPECT_LT(verdict_power(effect, one_arm(runs - 1), tests), 0.8) << effect;
    EXPECT_LE(runs, required_runs_for_equivalence(effect, one_arm, tests.margins).value_or(runs)) << effect;
  }
  EXPECT_FALSE(required_runs_for_verdict(0.0, one_arm, {.margins = Margins::symmetric(0.01)}, 0.8, 500));
}

TEST(EquivalencePower, IsWhatHappens) {
  NormalDraws draws(93);
  constexpr int kRepetitions = 10000;
  const Margins margins = Margins::symmetric(1.2);
  const double proved = share_of(kRepetitions, [&] {
    return equivalence(*paired_t(draws.sample(8, 0.2), std::vector<double>(8, 0.0)), margins).is_equivalent;
  });
  expect_share(proved, equivalence_power(0.2, one_arm(8), margins), kRepetitions, "proofs");
}

TEST(Power, APredictedEffectIsThatOfAKnownSpreadInTheLimit) {
  const PlannedError error = planned_error(0.01, 6);
  for (const bool is_two_sided : {true, false}) {
    const PowerSettings settings{.is_two_sided = is_two_sided};
    const double known = minimum_detectable_effect(error, 0.8, settings);
    EXPECT_NEAR(predictive_detectable_effect(error, 1e6, 0.8, settings) / known, 1.0, 1e-5);
    EXPECT_GT(predictive_detectable_effect(error, 5, 0.8, settings), 1.1 * known);
    EXPECT_GT(predictive_detectable_effect(error, 2, 0.8, settings),
              predictive_detectable_effect(error, 5, 0.8, settings));
  }
  EXPECT_THROW(predictive_detectable_effect(error, 0.0), core::Error);
}

/// A spread that a few runs estimate promises a power; over many such estimates, the power is kept.
TEST(PowerSimulation, APredictedEffectIsFoundAsOftenAsPromised) {
  constexpr int kRepetitions = 4000, kRuns = 5;
  for (const int first_runs : {3, 7}) {
    const double factor = predictive_detectable_effect(planned_error(1.0, kRuns), first_runs - 1.0, 0.8);
    NormalDraws draws(91);
    const double share = share_of(kRepetitions, [&] {
      const double effect = factor * moments_of(draws.sample(first_runs))->sd;
      return p_of(estimate_of(*moments_of(draws.sample(kRuns, effect)))) < 0.05;
    });
    expect_share(share, 0.8, kRepetitions, "power with an estimated spread");
  }
}

}  // namespace
}  // namespace nanobench::reports
