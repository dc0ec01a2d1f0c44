#include "reports/stats/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "reports/stats/t_tests.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

const VerdictRule kLossRule = {.better = Better::kLower, .margins = Margins::symmetric(0.001)};

Evidence of(double value, double se, int n = 5) {
  return {.effect = Estimate{.value = value, .se = se, .df = 8.0}, .n = n};
}

TEST(Verdict, FiveWords) {
  EXPECT_EQ(verdict_of(of(-0.005, 0.001), kLossRule), Verdict::kImproved);
  EXPECT_EQ(verdict_of(of(0.005, 0.001), kLossRule), Verdict::kRegressed);
  EXPECT_EQ(verdict_of(of(0.0001, 0.0001), kLossRule), Verdict::kUnchanged);
  EXPECT_EQ(verdict_of(of(0.001, 0.001), kLossRule), Verdict::kInconclusive);
  EXPECT_EQ(verdict_of({}, kLossRule), Verdict::kMissing);
  EXPECT_STREQ(to_string(Verdict::kImproved), "improved");
  EXPECT_STREQ(to_string(Verdict::kRegressed), "regressed");
  EXPECT_STREQ(to_string(Verdict::kUnchanged), "unchanged");
  EXPECT_STREQ(to_string(Verdict::kInconclusive), "inconclusive");
  EXPECT_STREQ(to_string(Verdict::kMissing), "missing");
}

TEST(Verdict, TheDirectionTurnsIt) {
  VerdictRule higher = kLossRule;
  higher.better = Better::kHigher;
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
  EXPECT_STREQ(to_string(FeatureVerdict::kKeep), "keep");
  EXPECT_STREQ(to_string(FeatureVerdict::kDrop), "drop");
  EXPECT_STREQ(to_string(FeatureVerdict::kBarnacle), "barnacle");
  EXPECT_STREQ(to_string(FeatureVerdict::kInconclusive), "inconclusive");
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
