#include "reports/effects/effect_text.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

// The only tests of these sentences: all others compare values.

TEST(EffectText, SaysWhyThereIsNoVerdict) {
  EffectResult effect;
  effect.other_code = {"adam", "blocks"};
  effect.min_n = 3;
  effect.loss.n = 5;
  effect.log_time.n = 2;
  const auto text = [&](NoVerdict no_verdict) {
    effect.no_verdict = no_verdict;
    return reason_text(effect);
  };
  EXPECT_EQ(text(NoVerdict::kNone), "");
  EXPECT_EQ(text(NoVerdict::kMissingCell), "not every cell has a completed run");
  EXPECT_EQ(text(NoVerdict::kOtherPlaces),
            "no seed has all its cells on one machine and seat, and times of different places are not compared");
  EXPECT_EQ(text(NoVerdict::kNoTimes), "not every cell has runs with a step time");
  EXPECT_EQ(text(NoVerdict::kOtherCode),
            "times of different code: the engine has a kernel for adam, blocks in some of the cells only; run with "
            "--kernels reference to compare operations with operations");
  EXPECT_EQ(text(NoVerdict::kFewValidations),
            "too few validations to convert loss into time; the loss and the time have their own verdicts");
  EXPECT_EQ(text(NoVerdict::kUncertainSlope),
            "the end of the loss curve is too flat or too noisy to convert loss into time; the loss has its own "
            "verdict");
  EXPECT_EQ(text(NoVerdict::kOneSeed), "n = 1 gives no error");
  EXPECT_EQ(text(NoVerdict::kNoError), "the runs give no error to judge by");
  EXPECT_EQ(text(NoVerdict::kFewSeeds), "n = 2; a verdict needs 3");
}

TEST(EffectText, SaysThatTwoTestsDisagree) {
  EffectResult effect;
  effect.contrast.effect = "x";
  effect.loss.source = ErrorSource::kSeeds;
  effect.loss.adjusted_p = 0.312;
  effect.second.pairs = RankShift{.shift = -0.01234, .adjusted_p = 0.0078125, .n = 8, .n_without = 8};
  effect.second.arms = RankShift{.shift = 0.5, .adjusted_p = 0.02, .n = 8, .n_without = 9};
  EXPECT_EQ(disagreement_text(effect),
            "x: two tests of val loss disagree. The t test gives p = 0.31, the signed-rank test over 8 seeds gives p = "
            "0.0078 and a shift of -0.0123. Look at the single runs before you rely on either.");
  effect.loss.source = ErrorSource::kCells;
  EXPECT_EQ(disagreement_text(effect),
            "x: two tests of val loss disagree. The t test gives p = 0.31, the Mann-Whitney test over 8 against 9 runs "
            "gives p = 0.020 and a shift of +0.5000. Look at the single runs before you rely on either.");
}

}  // namespace
}  // namespace nanobench::reports
