#include "reports/gate/gate_text.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

// The only tests of these sentences: all others compare values.

TEST(GateText, SaysWhyTwoSidesAreNotCompared) {
  using enum MismatchKind;
  const auto differs = [](MismatchKind kind) { return text_of(Mismatch{kind, "", "x"}); };
  EXPECT_EQ(differs(kScale), "the scale differs: the baseline has none, the candidate x");
  EXPECT_EQ(differs(kData), "the data differs: the baseline has none, the candidate x");
  EXPECT_EQ(differs(kMachine), "the machine differs: the baseline has none, the candidate x");
  EXPECT_EQ(differs(kGpu), "the GPU differs: the baseline has none, the candidate x");
  EXPECT_EQ(differs(kKernels), "the kind of kernels differs: the baseline has none, the candidate x");
  EXPECT_EQ(differs(kThreads), "the number of threads differs: the baseline has none, the candidate x");
  EXPECT_EQ(differs(kProcesses), "the number of processes differs: the baseline has none, the candidate x");
  EXPECT_EQ(differs(kHost), "the host differs: the baseline has none, the candidate x");
  EXPECT_EQ(text_of(Mismatch{.kind = kNoSuchCell}), "the baseline has no such cell");
  EXPECT_EQ(text_of(Mismatch{.kind = kConfiguration}), "the cell's configuration differs from the baseline's");
  EXPECT_EQ(text_of(Mismatch{.kind = kTornPair}),
            "runs of one seed come from different hosts, whose times are not compared");
  EXPECT_EQ(text_of(Mismatch{.kind = kSeveralHosts}), "the runs come from several hosts, whose times are not compared");
  EXPECT_EQ(text_of(Mismatch{.kind = kCode, .parts = {"adam", "blocks"}}),
            "the engine has a kernel for adam, blocks on one side only; run with --kernels reference to compare "
            "operations with operations");
}

TEST(GateText, SaysWhatACheckRestsOn) {
  GateCheck check;
  EXPECT_EQ(reason_text(check), "");
  const auto text = [&](CheckReason reason) {
    check.reason = reason;
    return reason_text(check);
  };
  check.change = 0.012;
  check.bound = 0.02;
  check.p = 0.0123;
  const auto tested = [&](Verdict verdict) {
    check.verdict = verdict;
    return text(CheckReason::kTested);
  };
  EXPECT_EQ(tested(Verdict::kUnchanged), "within the margin on both sides (p 0.012)");
  EXPECT_EQ(tested(Verdict::kRegressed), "worse by +1.20 % (p 0.012)");
  EXPECT_EQ(tested(Verdict::kNotWorse), "at worst +2.00 % (95 % confidence)");
  EXPECT_EQ(tested(Verdict::kInconclusive), "at worst +2.00 % (95 % confidence), which is beyond the margin");
  check.change = -0.012;
  EXPECT_EQ(tested(Verdict::kImproved), "better by +1.20 % (p 0.012)");
  EXPECT_EQ(text(CheckReason::kBitIdentical), "all losses are equal, bit for bit");
  EXPECT_EQ(text(CheckReason::kOneDifference), "all pairs differ by the same amount");
  EXPECT_EQ(text(CheckReason::kCountedOnce), "counted in one short run of each side");
  EXPECT_EQ(text(CheckReason::kNoNoise), "a count has no noise");
  EXPECT_EQ(text(CheckReason::kDiverged), "the candidate's loss diverged where the baseline's was finite");
  EXPECT_EQ(text(CheckReason::kMismatch), text_of(check.mismatch));
  EXPECT_EQ(text(CheckReason::kNoCandidateRun), "no completed run of the candidate");
  EXPECT_EQ(text(CheckReason::kNoBaselineRun), "no completed run of the baseline");
  EXPECT_EQ(text(CheckReason::kNoSpread), "the runs have no spread to test against");
  EXPECT_EQ(text(CheckReason::kCountedOnOneSide), "instructions could be counted on one side only");
  EXPECT_EQ(text(CheckReason::kNoSharedSeed), "no seed has this count on both sides");
  check.min_runs = 3;
  check.baseline.n = 2;
  EXPECT_EQ(text(CheckReason::kFewRuns), "n = 0 proves nothing: each side needs 3 runs or more");
  check.pairs = 1;
  EXPECT_EQ(text(CheckReason::kFewRuns), "n = 1 proves nothing: each side needs 3 runs or more");
}

TEST(GateText, NamesWhatIsMissing) {
  GateProblem problem{.side = "candidate", .cell = "base", .seed = 3, .outcome = "crashed", .message = "signal 11"};
  EXPECT_EQ(text_of(problem), "candidate, base, seed 3: crashed: signal 11");
  problem.message.clear();
  EXPECT_EQ(text_of(problem), "candidate, base, seed 3: crashed");
  problem.kind = GateProblem::Kind::kLostCell;
  EXPECT_EQ(text_of(problem), "the candidate has no cell base, which the baseline has");
  problem.kind = GateProblem::Kind::kNothingGates;
  EXPECT_EQ(text_of(problem), "no gating metric was measured, so nothing is proved");
}

}  // namespace
}  // namespace nanobench::reports
