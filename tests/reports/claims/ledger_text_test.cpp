#include "reports/claims/ledger_text.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

using Kind = LedgerReason::Kind;

// The only tests of these sentences: all others compare values.

TEST(LedgerText, SaysWhyThereIsNoVerdict) {
  const auto text = [](Kind kind) { return text_of(LedgerReason{.kind = kind}); };
  EXPECT_EQ(text_of(LedgerReason{.kind = Kind::kByClaim, .what = "it is about people."}), "it is about people.");
  EXPECT_EQ(text(Kind::kNotPublished), "the published sources do not give the number.");
  EXPECT_EQ(text(Kind::kNothingToCount), "the configuration has nothing to count.");
  EXPECT_EQ(text(Kind::kCountOfZero), "the count before is 0, so there is no ratio.");
  EXPECT_EQ(text_of(LedgerReason{.kind = Kind::kNotCountable, .what = "why"}), "why");
  EXPECT_EQ(text_of(LedgerReason{.kind = Kind::kNotAtScale, .what = "why", .scale = "nano"}), "at scale nano: why");
  EXPECT_EQ(text(Kind::kNeedsGpu), "it is a GPU's number, and these runs were on a processor.");
  EXPECT_EQ(text(Kind::kUnmeasured), "not measured yet: nanobench claims --measure does it");
  EXPECT_EQ(text(Kind::kUnmeasuredOnGpu), "not measured yet: nanobench claims --measure --device cuda does it");
  EXPECT_EQ(text_of(LedgerReason{.kind = Kind::kNotRun, .cell = "record17"}),
            "record17 has not run yet: nanobench claims --measure continues");
  EXPECT_EQ(text_of(LedgerReason{
                .kind = Kind::kFailed, .what = "signal 11", .cell = "record17", .outcome = core::RunOutcome::kCrashed}),
            "record17 crashed: signal 11");
  EXPECT_EQ(text(Kind::kNotAsked), "its runs were not asked for the metric: nanobench claims --measure does it");
  EXPECT_EQ(text(Kind::kNotReported), "no run reports the metric");
  EXPECT_EQ(text_of(LedgerReason{.kind = Kind::kOtherCode, .parts = {"blocks"}}),
            "times of different code: the engine has a kernel for blocks in some of the cells only; run with --kernels "
            "reference to compare operations with operations");
  EXPECT_EQ(text(Kind::kNoSharedSeed), "no seed has runs of both arms");
  EXPECT_EQ(text_of(LedgerReason{.kind = Kind::kTargetMissed, .before = 1, .after = 2}),
            "not all runs reach the mean final loss of the earlier record: 1 before and 2 after do not");
  EXPECT_EQ(text_of(LedgerReason{.kind = Kind::kNothingDiverges, .limit = 32.0}),
            "no run of either arm diverges at any factor up to 32.0");
  EXPECT_EQ(text(Kind::kNothingSaved), "the whole change saves no time here, so no part of it has a share");
  EXPECT_EQ(text(Kind::kSavingUnproved),
            "that the whole change saves time is not proven here, so a part's share could be anything");
  EXPECT_EQ(text(Kind::kOneRun), "one run gives no interval; more seeds do");
  EXPECT_EQ(text(Kind::kCrossesLimit), "the interval crosses a limit of the rule; more seeds make it narrower");
  EXPECT_EQ(text(Kind::kBetween), "the number lies between support and contradiction");
}

TEST(LedgerText, SaysWhatANumberIsFrom) {
  using Basis = LedgerBasis::Kind;
  EXPECT_EQ(text_of(LedgerBasis{}), "");
  EXPECT_EQ(text_of(LedgerBasis{.kind = Basis::kSeeds, .count = 1}), "1 seed");
  EXPECT_EQ(text_of(LedgerBasis{.kind = Basis::kRepetitions, .count = 4, .runs = 1}), "4 repetitions in 1 run");
  EXPECT_EQ(text_of(LedgerBasis{.kind = Basis::kCounted}), "counted");
  EXPECT_EQ(text_of(LedgerBasis{.kind = Basis::kConfiguration}), "read from the configuration");
  EXPECT_EQ(text_of(LedgerBasis{.kind = Basis::kPublished}), "read from published figures");
}

}  // namespace
}  // namespace nanobench::reports
