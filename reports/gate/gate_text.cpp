#include "reports/gate/gate_text.h"

#include <algorithm>

#include "core/base/text.h"
#include "reports/comparison/remark_text.h"

namespace nanobench::reports {
namespace {

std::string differs(const std::string& what, const Mismatch& mismatch) {
  const auto side = [](const std::string& value) { return value.empty() ? "none" : value; };
  return what + " differs: the baseline has " + side(mismatch.baseline) + ", the candidate " + side(mismatch.candidate);
}

/// "at worst +1.20 % (95 % confidence)"
std::string bound_text(const GateCheck& check) {
  return "at worst " + change_text(check, *check.bound) + " (" +
         format_percent(check.confidence, check.confidence < 0.01 ? 1 : 0) + " confidence)";
}

/// What the tests have shown.
std::string tested_text(const GateCheck& check) {
  const std::string p = " (p " + format_significant(*check.p, 2) + ")";
  switch (check.verdict) {
    case Verdict::kUnchanged: return "within the margin on both sides" + p;
    case Verdict::kImproved: return "better by " + change_text(check, -*check.change) + p;
    case Verdict::kRegressed: return "worse by " + change_text(check, *check.change) + p;
    case Verdict::kNotWorse: return bound_text(check);
    case Verdict::kInconclusive:
    case Verdict::kMissing: break;
  }
  return bound_text(check) + ", which is beyond the margin";
}

std::string few_runs_text(const GateCheck& check) {
  const int n = check.pairs > 0 ? check.pairs : std::min(check.baseline.n, check.candidate.n);
  return "n = " + std::to_string(n) + " proves nothing: each side needs " + std::to_string(check.min_runs) +
         " runs or more";
}

}  // namespace

std::string text_of(const Mismatch& mismatch) {
  switch (mismatch.kind) {
    case MismatchKind::kNoSuchCell: return "the baseline has no such cell";
    case MismatchKind::kConfiguration: return "the cell's configuration differs from the baseline's";
    case MismatchKind::kScale: return differs("the scale", mismatch);
    case MismatchKind::kData: return differs("the data", mismatch);
    case MismatchKind::kMachine: return differs("the machine", mismatch);
    case MismatchKind::kGpu: return differs("the GPU", mismatch);
    case MismatchKind::kKernels: return differs("the kind of kernels", mismatch);
    case MismatchKind::kThreads: return differs("the number of threads", mismatch);
    case MismatchKind::kProcesses: return differs("the number of processes", mismatch);
    case MismatchKind::kHost: return differs("the host", mismatch);
    case MismatchKind::kTornPair: return "runs of one seed come from different hosts, whose times are not compared";
    case MismatchKind::kSeveralHosts: return "the runs come from several hosts, whose times are not compared";
    case MismatchKind::kCode: break;
  }
  return "the engine has a kernel for " + joined(mismatch.parts) + " on one side only; " + kSameCodeRemedy;
}

std::string reason_text(const GateCheck& check) {
  switch (check.reason) {
    case CheckReason::kNone: return "";
    case CheckReason::kTested: return tested_text(check);
    case CheckReason::kBitIdentical: return "all losses are equal, bit for bit";
    case CheckReason::kOneDifference: return "all pairs differ by the same amount";
    case CheckReason::kCountedOnce: return "counted in one short run of each side";
    case CheckReason::kNoNoise: return "a count has no noise";
    case CheckReason::kDiverged: return "the candidate's loss diverged where the baseline's was finite";
    case CheckReason::kMismatch: return text_of(check.mismatch);
    case CheckReason::kNoCandidateRun: return "no completed run of the candidate";
    case CheckReason::kNoBaselineRun: return "no completed run of the baseline";
    case CheckReason::kFewRuns: return few_runs_text(check);
    case CheckReason::kNoSpread: return "the runs have no spread to test against";
    case CheckReason::kCountedOnOneSide: return "instructions could be counted on one side only";
    case CheckReason::kNoSharedSeed: break;
  }
  return "no seed has this count on both sides";
}

std::string text_of(const GateProblem& problem) {
  switch (problem.kind) {
    case GateProblem::Kind::kLostCell: return "the candidate has no cell " + problem.cell + ", which the baseline has";
    case GateProblem::Kind::kNothingGates: return "no gating metric was measured, so nothing is proved";
    case GateProblem::Kind::kFailedRun: break;
  }
  return problem.side + ", " + problem.cell + ", seed " + std::to_string(problem.seed) + ": " + problem.outcome +
         (problem.message.empty() ? "" : ": " + problem.message);
}

}  // namespace nanobench::reports
