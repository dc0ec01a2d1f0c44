#include "reports/stats/verdict.h"

#include <gtest/gtest.h>
#include <cmath>

#include "core/base/error.h"
#include "reports/stats/t_tests.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

TEST(Equivalence, AgreesWithReferenceOnSummaries) {
  for (const nlohmann::json& entry : vectors("equivalence").at("summaries")) {
    const Estimate effect{.value = entry.at("value"), .se = entry.at("se"), .df = entry.at("df")};
    const double alpha = entry.at("alpha");
    const Equivalence result = equivalence(effect, {.low = entry.at("low"), .high = entry.at("high")}, alpha);
    expect_close(result.p_above_low, entry.at("p_above_low"), entry.dump());
    expect_close(result.p_below_high, entry.at("p_below_high"), entry.dump());
    expect_close(result.p, entry.at("p"), entry.dump());
    expect_interval(result.interval, entry.at("interval_low"), entry.at("interval_high"), entry.dump());
    const bool is_inside =
        -entry.at("low").get<double>() < result.interval.low && result.interval.high < entry.at("high").get<double>();
    EXPECT_EQ(result.is_equivalent, is_inside) << entry.dump();
  }
}

TEST(Equivalence, AgreesWithStatsmodelsOnWelch) {
  const nlohmann::json& entry = vectors("equivalence").at("welch");
  const auto effect = welch(list_of(entry, "first"), list_of(entry, "second"));
  const Equivalence result = equivalence(*effect, {.low = entry.at("low"), .high = entry.at("high")});
  expect_close(result.p, entry.at("p"), "p");
  expect_close(result.p_above_low, entry.at("p_above_low"), "above low");
  expect_close(result.p_below_high, entry.at("p_below_high"), "below high");
}

TEST(NonInferiority, IsOneSideOfEquivalence) {
  const Estimate effect{.value = 0.0004, .se = 0.0003, .df = 7.0};
  const Equivalence both = equivalence(effect, Margins::symmetric(0.001));
  const NonInferiority lower = non_inferiority(effect, 0.001, Direction::kLowerIsBetter);
  EXPECT_DOUBLE_EQ(lower.p, both.p_below_high);
  EXPECT_EQ(lower.is_proved, lower.interval.high < 0.001);
  EXPECT_DOUBLE_EQ(non_inferiority(effect, 0.001, Direction::kHigherIsBetter).p, both.p_above_low);
  EXPECT_TRUE(non_inferiority({.value = -0.5, .se = 0.1, .df = 7.0}, 0.001, Direction::kLowerIsBetter).is_proved)
      << "better is not worse";
  EXPECT_FALSE(non_inferiority({.value = -0.5, .se = 0.1, .df = 7.0}, 0.001, Direction::kHigherIsBetter).is_proved);
}

TEST(Equivalence, MisuseIsRefused) {
  const Estimate effect{.value = 0.0, .se = 1.0, .df = 5.0};
  EXPECT_THROW(equivalence(effect, Margins{}), core::Error) << "margins have no default";
  EXPECT_THROW(equivalence(effect, Margins::symmetric(std::nan(""))), core::Error);
  EXPECT_THROW(equivalence(effect, Margins::symmetric(1.0), 0.5), core::Error);
  EXPECT_THROW(equivalence(Estimate{}, Margins::symmetric(1.0)), core::Error);
  EXPECT_THROW(non_inferiority(effect, -1.0, Direction::kLowerIsBetter), core::Error);
}

TEST(Equivalence, ATruthOnTheMarginPassesInAlpha) {
  NormalDraws draws(31);
  constexpr int kRepetitions = 20000;
  const double passed = share_of(kRepetitions, [&] {
    const auto effect = welch(draws.sample(10, 1.0, 0.6), draws.sample(10, 0.0, 0.6));
    return equivalence(*effect, Margins::symmetric(1.0)).is_equivalent;
  });
  expect_share(passed, 0.05, kRepetitions, "false proofs at the margin");
}

const VerdictRule kLossRule = {.direction = Direction::kLowerIsBetter, .margins = Margins::symmetric(0.001)};

Evidence of(double value, double se, int n = 5) {
  return {.effect = Estimate{.value = value, .se = se, .df = 8.0}, .n = n};
}

TEST(Verdict, FiveWords) {
  EXPECT_EQ(verdict_of(of(-0.005, 0.001), kLossRule), Verdict::kImproved);
  EXPECT_EQ(verdict_of(of(0.005, 0.001), kLossRule), Verdict::kRegressed);
  EXPECT_EQ(verdict_of(of(0.0001, 0.0001), kLossRule), Verdict::kUnchanged);
  EXPECT_EQ(verdict_of(of(0.001, 0.001), kLossRule), Verdict::kInconclusive);
  EXPECT_EQ(verdict_of({}, kLossRule), Verdict::kMissing);
  EXPECT_EQ(enum_name(Verdict::kImproved), "improved");
  EXPECT_EQ(enum_name(Verdict::kRegressed), "regressed");
  EXPECT_EQ(enum_name(Verdict::kUnchanged), "unchanged");
  EXPECT_EQ(enum_name(Verdict::kInconclusive), "inconclusive");
  EXPECT_EQ(enum_name(Verdict::kMissing), "missing");
}

TEST(Verdict, TheDirectionTurnsIt) {
  VerdictRule higher = kLossRule;
  higher.direction = Direction::kHigherIsBetter;
  EXPECT_EQ(verdict_of(of(0.005, 0.001), higher), Verdict::kImproved);
  EXPECT_EQ(verdict_of(of(-0.005, 0.001), higher), Verdict::kRegressed);
}

TEST(Verdict, InsideTheMarginGoesBeforeASign) {
  EXPECT_LT(p_of(*of(0.0003, 0.00005).effect), 0.05) << "proved not to be 0";
  EXPECT_EQ(verdict_of(of(0.0003, 0.00005), kLossRule), Verdict::kUnchanged);
}

TEST(Verdict, NoEvidenceNeverPasses) {
  EXPECT_EQ(verdict_of(of(0.0, 1e-9, 2), kLossRule), Verdict::kInconclusive) << "two runs, three are asked";
  EXPECT_EQ(verdict_of(of(-1.0, 1e-9, 2), kLossRule), Verdict::kInconclusive);
  EXPECT_EQ(verdict_of({.n = 9}, kLossRule), Verdict::kInconclusive) << "runs, but no error to be told";
  EXPECT_EQ(verdict_of(of(std::nan(""), 0.001), kLossRule), Verdict::kMissing);
  EXPECT_EQ(verdict_of(of(0.0, 0.0), kLossRule), Verdict::kMissing);
  EXPECT_EQ(verdict_of(of(0.0, std::nan("")), kLossRule), Verdict::kMissing);
  EXPECT_EQ(verdict_of(of(0.0, 1e-9, 0), kLossRule), Verdict::kMissing);
  Evidence evidence = of(-0.005, 0.001);
  evidence.p = std::nan("");
  EXPECT_EQ(verdict_of(evidence, kLossRule), Verdict::kMissing);
  evidence.p.reset();
  evidence.p_equivalence = -1.0;
  EXPECT_EQ(verdict_of(evidence, kLossRule), Verdict::kMissing);
}

TEST(Verdict, AnAdjustedPReplacesTheEffectsOwn) {
  Evidence evidence = of(-0.005, 0.001);
  evidence.p = 0.2;
  EXPECT_EQ(verdict_of(evidence, kLossRule), Verdict::kInconclusive);
  evidence = of(0.0, 0.0001);
  evidence.p_equivalence = 0.2;
  EXPECT_EQ(verdict_of(evidence, kLossRule), Verdict::kInconclusive);
}

TEST(Verdict, RulesOutOfRangeAreRefused) {
  EXPECT_THROW(verdict_of(of(0.0, 1.0), {}), core::Error) << "margins have no default";
  EXPECT_THROW(verdict_of({}, {}), core::Error) << "whatever the evidence";
  EXPECT_THROW(verdict_of({}, {.margins = Margins::symmetric(1.0), .alpha = 0.5}), core::Error);
  EXPECT_THROW(verdict_of({}, {.margins = Margins::symmetric(1.0), .min_n = 1}), core::Error);
}

TEST(FeatureVerdict, ReadsARemoval) {
  EXPECT_EQ(feature_verdict_of(of(4.0, 0.5), 0.5), FeatureVerdict::kKeep) << "without it training takes longer";
  EXPECT_EQ(feature_verdict_of(of(-4.0, 0.5), 0.5), FeatureVerdict::kDrop);
  EXPECT_EQ(feature_verdict_of(of(0.1, 0.1), 0.5), FeatureVerdict::kBarnacle);
  EXPECT_EQ(feature_verdict_of(of(0.6, 0.5), 0.5), FeatureVerdict::kInconclusive);
  EXPECT_EQ(feature_verdict_of({}, 0.5), FeatureVerdict::kInconclusive);
  EXPECT_EQ(feature_verdict_of(of(0.0, 1e-9, 1), 0.5), FeatureVerdict::kInconclusive) << "one run";
  EXPECT_EQ(feature_verdict_of(of(std::nan(""), 1.0), 0.5), FeatureVerdict::kInconclusive);
  EXPECT_THROW(feature_verdict_of({}, 0.0), core::Error);
  EXPECT_EQ(enum_name(FeatureVerdict::kKeep), "keep");
  EXPECT_EQ(enum_name(FeatureVerdict::kDrop), "drop");
  EXPECT_EQ(enum_name(FeatureVerdict::kBarnacle), "barnacle");
  EXPECT_EQ(enum_name(FeatureVerdict::kInconclusive), "inconclusive");
}

TEST(Verdict, CriesWolfAsOftenAsItSays) {
  // No effect and a wide margin out of reach: improved or regressed in alpha of all cases.
  NormalDraws draws(131);
  constexpr int kRepetitions = 10000;
  const auto judged = [&](double effect, double margin) {
    const auto estimate = welch(draws.sample(6, effect), draws.sample(6));
    return verdict_of({.effect = estimate, .n = 6}, {.margins = Margins::symmetric(margin)});
  };
  const double alarms = share_of(kRepetitions, [&] {
    const Verdict verdict = judged(0.0, 1e-6);
    return verdict == Verdict::kImproved || verdict == Verdict::kRegressed;
  });
  // Welch with six runs an arm is a little timid.
  EXPECT_LE(alarms, 0.05 + slack(0.05, kRepetitions));
  EXPECT_GE(alarms, 0.045 - slack(0.05, kRepetitions));
  const double passed = share_of(kRepetitions, [&] { return judged(2.0, 2.0) == Verdict::kUnchanged; });
  EXPECT_LE(passed, 0.05 + slack(0.05, kRepetitions)) << "a harm as large as the margin is called unchanged";
}

}  // namespace
}  // namespace nanobench::reports
