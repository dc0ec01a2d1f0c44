#include "reports/stats/sequential.h"

#include "core/base/error.h"
#include "reports/stats/t_tests.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

using Values = std::vector<double>;

Values equal_looks(int count) {
  Values information;
  for (int i = 1; i <= count; ++i) information.push_back(static_cast<double>(i) / count);
  information.back() = 1.0;
  return information;
}

TEST(CrossingProbabilities, OBrienAndFlemingsPublishedBoundariesSpendFivePercent) {
  // Two-sided alpha 0.05, three decimals as printed in the tables of Jennison and Turnbull and others.
  const std::vector<Values> tables = {
      {2.797, 1.977}, {3.471, 2.454, 2.004}, {4.049, 2.863, 2.337, 2.024}, {4.562, 3.226, 2.634, 2.281, 2.040}};
  for (const Values& z : tables) {
    const Values crossed = crossing_probabilities(z, equal_looks(static_cast<int>(z.size())));
    EXPECT_NEAR(crossed.back(), 0.05, 1e-4) << z.size() << " looks";
  }
}

TEST(CrossingProbabilities, PococksPublishedBoundariesToo) {
  for (const auto& [looks, z] : std::vector<std::pair<int, double>>{{2, 2.178}, {3, 2.289}, {5, 2.413}, {10, 2.555}}) {
    const Values boundaries(static_cast<std::size_t>(looks), z);
    EXPECT_NEAR(crossing_probabilities(boundaries, equal_looks(looks)).back(), 0.05, 1e-4) << looks << " looks";
  }
}

TEST(CrossingProbabilities, OneLookIsTheNormalTest) {
  const Values crossed = crossing_probabilities(Values{1.5}, Values{1.0}, 2.0);
  EXPECT_NEAR(crossed[0], normal_upper(-0.5) + normal_cdf(-3.5), 1e-14);
  EXPECT_NEAR(crossing_probabilities(Values{1.5}, Values{1.0}, 2.0, false)[0], normal_upper(-0.5), 1e-14);
}

TEST(SequentialLooks, PublishedLanDeMetsBoundaries) {
  // Two-sided 0.05, O'Brien-Fleming-type spending, equal looks; the first boundary is the spending function's own.
  const std::vector<Values> tables = {
      {2.963, 1.969}, {3.710, 2.511, 1.993}, {4.333, 2.963, 2.359, 2.014}, {4.877, 3.357, 2.680, 2.290, 2.031}};
  for (const Values& expected : tables) {
    const std::vector<Look> looks = sequential_looks(equal_looks(static_cast<int>(expected.size())));
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(looks[i].z, expected[i], 6e-4);
  }
}

TEST(SequentialLooks, PublishedBoundariesOfEvenSpending) {
  // Two-sided 0.05, alpha t, five equal looks (DeMets and Lan 1994).
  const std::vector<Look> looks = sequential_looks(equal_looks(5), {.alpha = 0.05, .spending_power = 1.0});
  const Values expected = {2.576, 2.49, 2.41, 2.34, 2.28};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(looks[i].z, expected[i], 6e-3) << i;
}

TEST(SequentialLooks, AgreeWithReference) {
  for (const nlohmann::json& entry : vectors("sequential")) {
    const SequentialSettings settings{.alpha = entry.at("alpha"), .is_two_sided = entry.at("is_two_sided")};
    const std::vector<Look> looks = sequential_looks(list_of(entry, "information"), settings);
    const Values z = list_of(entry, "z");
    for (std::size_t i = 0; i < z.size(); ++i) expect_close(looks[i].z, z[i], entry.dump(), 1e-8);
  }
}

TEST(SequentialLooks, SpendWhatTheyPromise) {
  for (const int count : {1, 2, 7, 20}) {
    for (const bool is_two_sided : {true, false}) {
      const std::vector<Look> looks =
          sequential_looks(equal_looks(count), {.alpha = 0.02, .is_two_sided = is_two_sided});
      Values z;
      for (const Look& look : looks) z.push_back(look.z);
      const Values crossed = crossing_probabilities(z, equal_looks(count), 0.0, is_two_sided);
      for (std::size_t i = 0; i < looks.size(); ++i) EXPECT_NEAR(crossed[i], looks[i].spent, 1e-10);
      EXPECT_DOUBLE_EQ(looks.back().spent, 0.02);
    }
  }
}

TEST(SequentialLooks, APowerSpendsWhatItPromisesToo) {
  for (const double power : {0.5, 1.0, 3.0}) {
    const std::vector<Look> looks = sequential_looks(equal_looks(7), {.alpha = 0.02, .spending_power = power});
    Values z;
    for (const Look& look : looks) z.push_back(look.z);
    const Values crossed = crossing_probabilities(z, equal_looks(7));
    for (std::size_t i = 0; i < looks.size(); ++i) {
      EXPECT_NEAR(looks[i].spent, 0.02 * std::pow((static_cast<double>(i) + 1) / 7, power), 1e-15);
      EXPECT_NEAR(crossed[i], looks[i].spent, 1e-10);
    }
  }
}

TEST(SequentialLooks, OneLookIsAPlainTest) {
  const std::vector<Look> looks = sequential_looks(Values{1.0});
  EXPECT_NEAR(looks[0].nominal_p, 0.05, 1e-11);
  EXPECT_NEAR(looks[0].equivalence_p, 0.05, 1e-11);
}

TEST(SequentialLooks, ByRunsEndAtTheMost) {
  const std::vector<Look> looks = sequential_looks(3, 10, 3);
  ASSERT_EQ(looks.size(), 4U);
  EXPECT_DOUBLE_EQ(looks[0].information, 0.3);
  EXPECT_DOUBLE_EQ(looks[2].information, 0.9);
  EXPECT_DOUBLE_EQ(looks[3].information, 1.0);
  EXPECT_DOUBLE_EQ(looks[3].spent, 0.05 * small_sample_guard({}));
  EXPECT_DOUBLE_EQ(sequential_looks(5, 5, 1)[0].spent, 0.05) << "one look is a plain test";
}

TEST(SequentialLooks, MisuseIsRefused) {
  EXPECT_THROW(sequential_looks(Values{}), core::Error);
  EXPECT_THROW(sequential_looks(Values{0.5, 0.5, 1.0}), core::Error);
  EXPECT_THROW(sequential_looks(Values{0.5, 0.9}), core::Error);
  EXPECT_THROW(sequential_looks(Values{std::nan(""), 1.0}), core::Error);
  EXPECT_THROW(sequential_looks(Values{1.0}, {.alpha = 0.5}), core::Error);
  EXPECT_THROW(sequential_looks(Values{1.0}, {.spending_power = -1.0}), core::Error);
  EXPECT_THROW(sequential_looks(Values{1.0}, {.spending_power = std::nan("")}), core::Error);
  EXPECT_THROW(sequential_looks(1, 5, 1), core::Error);
  EXPECT_THROW(sequential_looks(6, 5, 1), core::Error);
  EXPECT_THROW(sequential_looks(2, 5, 0), core::Error);
  EXPECT_THROW(sequential_looks(2, 1000, 1), core::Error) << "more looks than can be told apart";
  EXPECT_THROW(crossing_probabilities(Values{2.0}, Values{0.5, 1.0}), core::Error);
}

TEST(Decide, TheFirstCrossingDecides) {
  const std::vector<Look> plan = sequential_looks(Values{0.5, 1.0});
  using Evidence = std::vector<LookEvidence>;
  EXPECT_EQ(decide(plan, Evidence{}).decision, SequentialDecision::kContinue);
  EXPECT_EQ(decide(plan, Evidence{{.p = 0.02}}).decision, SequentialDecision::kContinue)
      << "a plain p below 0.05 is not enough at the first look";
  EXPECT_EQ(decide(plan, Evidence{{.p = 0.001}}).decision, SequentialDecision::kStopForEffect);
  EXPECT_EQ(decide(plan, Evidence{{.p = 0.5, .p_equivalence = 0.001}}).decision,
            SequentialDecision::kStopForEquivalence);
  EXPECT_EQ(decide(plan, Evidence{{}, {}}).decision, SequentialDecision::kStopAtEnd) << "undefined never stops early";
  const SequentialResult late = decide(plan, Evidence{{.p = 0.001}, {.p = 0.9}});
  EXPECT_EQ(late.decision, SequentialDecision::kStopForEffect);
  EXPECT_EQ(late.look, 1);
  EXPECT_THROW(decide(plan, Evidence(3)), core::Error);
  EXPECT_THROW(decide(plan, Evidence{{.p = std::nan("")}}), core::Error);
}

struct Alarms {
  double pairs = 0.0;
  double welch = 0.0;
};

/// Share of experiments without an effect that stop for one, looking after every run from 2 to `most`.
Alarms false_alarms(int most, const SequentialSettings& settings, std::uint64_t seed, int repetitions) {
  const std::vector<Look> plan = sequential_looks(2, most, 1, settings);
  NormalDraws draws(seed);
  int pairs = 0;
  int unpaired = 0;
  for (int i = 0; i < repetitions; ++i) {
    const Values first = draws.sample(most);
    const Values second = draws.sample(most);
    std::vector<LookEvidence> paired_looks;
    std::vector<LookEvidence> welch_looks;
    for (std::size_t n = 2; n <= first.size(); ++n) {
      paired_looks.push_back({.p = p_of(*paired_t(std::span(first).first(n), std::span(second).first(n)))});
      welch_looks.push_back({.p = p_of(*welch(std::span(first).first(n), std::span(second).first(n)))});
    }
    pairs += decide(plan, paired_looks).decision == SequentialDecision::kStopForEffect ? 1 : 0;
    unpaired += decide(plan, welch_looks).decision == SequentialDecision::kStopForEffect ? 1 : 0;
  }
  return {.pairs = static_cast<double>(pairs) / repetitions, .welch = static_cast<double>(unpaired) / repetitions};
}

TEST(Sequential, FalseAlarmsOfTStatisticsHoldFromTwoRunsOn) {
  constexpr int kRepetitions = 20000;
  for (const int most : {5, 10}) {
    const Alarms alarms = false_alarms(most, {.alpha = 0.05}, 101, kRepetitions);
    EXPECT_LE(alarms.pairs, 0.05 + slack(0.05, kRepetitions)) << "pairs, up to " << most;
    EXPECT_LE(alarms.welch, 0.05 + slack(0.05, kRepetitions)) << "Welch, up to " << most;
    EXPECT_GE(alarms.welch, 0.035 - slack(0.035, kRepetitions)) << "not needlessly timid, up to " << most;
  }
}

TEST(Sequential, FalseAlarmsHoldWhereAlphaIsSpentEvenly) {
  constexpr int kRepetitions = 20000;
  for (const int most : {5, 12}) {
    const Alarms alarms = false_alarms(most, {.alpha = 0.05, .spending_power = 1.0}, 102, kRepetitions);
    EXPECT_LE(alarms.pairs, 0.05 + slack(0.05, kRepetitions)) << "pairs, up to " << most;
    EXPECT_LE(alarms.welch, 0.05 + slack(0.05, kRepetitions)) << "Welch, up to " << most;
  }
}

/// A large effect, as budgets are spent on: pairs of which each differs by one and a half standard deviations.
double mean_runs_to_decide(double spending_power) {
  const std::vector<Look> plan = sequential_looks(3, 30, 3, {.alpha = 0.05, .spending_power = spending_power});
  NormalDraws draws(103);
  constexpr int kRepetitions = 2000;
  double runs = 0.0;
  for (int i = 0; i < kRepetitions; ++i) {
    const Values second = draws.sample(30);
    Values first = second;
    for (double& value : first) value += draws.next(1.5, 1.0);
    std::vector<LookEvidence> looks;
    do {
      const std::size_t n = 3 + 3 * looks.size();
      looks.push_back({.p = p_of(*paired_t(std::span(first).first(n), std::span(second).first(n)))});
    } while (decide(plan, looks).decision == SequentialDecision::kContinue);
    runs += 3.0 * static_cast<double>(looks.size());
  }
  return runs / kRepetitions;
}

TEST(Sequential, EvenSpendingFindsALargeEffectInFewerRuns) {
  EXPECT_LT(mean_runs_to_decide(1.0), 0.75 * mean_runs_to_decide(0.0));
}

TEST(Sequential, PlainPeekingWouldNotHold) {
  // What the boundaries are for: 0.05 at each of nine looks alarms far more often.
  NormalDraws draws(104);
  constexpr int kRepetitions = 4000;
  const double alarms = share_of(kRepetitions, [&] {
    const Values first = draws.sample(10);
    const Values second = draws.sample(10);
    for (std::size_t n = 2; n <= 10; ++n) {
      if (p_of(*welch(std::span(first).first(n), std::span(second).first(n))) < 0.05) return true;
    }
    return false;
  });
  EXPECT_GT(alarms, 0.10);
}

TEST(Sequential, RepeatedIntervalsHoldAtAllLooksTogether) {
  const std::vector<Look> plan = sequential_looks(3, 9, 2);
  NormalDraws draws(105);
  constexpr int kRepetitions = 10000;
  const double held = share_of(kRepetitions, [&] {
    const Values differences = draws.sample(9, 0.7);
    const Values zero(9, 0.0);
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const std::size_t n = 3 + 2 * i;
      const auto effect = paired_t(std::span(differences).first(n), std::span(zero).first(n));
      if (!interval_of(*effect, 1.0 - plan[i].nominal_p).contains(0.7)) return false;
    }
    return true;
  });
  EXPECT_GE(held, 0.95 - slack(0.95, kRepetitions));
}

TEST(CrossingProbabilities, DriftIsPower) {
  const std::vector<Look> plan = sequential_looks(equal_looks(4));
  Values z;
  for (const Look& look : plan) z.push_back(look.z);
  NormalDraws draws(106);
  constexpr int kRepetitions = 20000;
  const double found = share_of(kRepetitions, [&] {
    double score = 0.0;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      score += draws.next(2.8 / 4.0, 0.5);
      if (std::abs(score) >= z[i] * std::sqrt(plan[i].information)) return true;
    }
    return false;
  });
  expect_share(found, crossing_probabilities(z, equal_looks(4), 2.8).back(), kRepetitions, "power");
}

/// Against drawing the rest of the plan.
TEST(ConditionalPower, IsTheShareOfPlansThatEndThere) {
  NormalDraws draws(77);
  constexpr int kRepetitions = 20000;
  for (const auto& [z, drift] : {std::pair(0.4, 0.5), std::pair(1.5, 2.8), std::pair(-0.2, 0.0)}) {
    const double information = 0.6;
    for (const double inner : {0.0, 0.5}) {
      const double share = share_of(kRepetitions, [&, z = z, drift = drift] {
        const double last = std::sqrt(information) * z + draws.next((1.0 - information) * drift, std::sqrt(0.4));
        return std::abs(last) > 1.96 || std::abs(last) < inner;
      });
      expect_share(share, conditional_power(z, information, drift, 1.96, inner), kRepetitions, "share");
    }
  }
  EXPECT_THROW(conditional_power(0.0, 1.0, 0.0, 1.96), core::Error);
}

}  // namespace
}  // namespace nanobench::reports
