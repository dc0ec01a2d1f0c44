/// Checks one cell, candidate against baseline, metric by metric, before the tests over all cells (judge_checks.h).
/// Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "reports/gate/gate_policy.h"
#include "reports/stats/estimate.h"
#include "reports/stats/plan_model.h"
#include "reports/stats/summary.h"
#include "reports/stats/verdict.h"

namespace nanobench::reports {

/// The test that decided a check, or failed to.
enum class GateTest {
  kNone,       ///< the verdict needs no test
  kEqual,      ///< the change lies within the margin on both sides (equivalence)
  kDifferent,  ///< there is a change, two-sided
  kNotWorse,   ///< the change is below the margin (non-inferiority)
  kWorse,      ///< the change is above 0, one-sided
};
NB_ENUM_NAMES(GateTest, {GateTest::kNone, ""}, {GateTest::kEqual, "equal"}, {GateTest::kDifferent, "different"},
              {GateTest::kNotWorse, "not worse"}, {GateTest::kWorse, "worse"});

/// The p-values of a check's tests; each absent without a test. Holm adjusts all but `not_worse`, each kind of test in
/// a family of its own.
struct GatePValues {
  std::optional<double> equal;
  std::optional<double> different;
  std::optional<double> not_worse;
  std::optional<double> worse;
};

/// What the verdict of a check rests on, or why there is none.
enum class CheckReason {
  kNone,
  kTested,  ///< the tests: `verdict`, `p` and `bound` have the answer
  // Verdicts without a test.
  kBitIdentical,   ///< the losses
  kOneDifference,  ///< all pairs differ by the same amount
  kCountedOnce,    ///< instructions, in one short run of each side
  kNoNoise,        ///< a count of the cost model
  kDiverged,       ///< the candidate's loss, where the baseline's was finite
  // No verdict.
  kMismatch,  ///< `mismatch`
  kNoCandidateRun,
  kNoBaselineRun,
  kFewRuns,  ///< fewer than `min_runs`
  kNoSpread,
  kCountedOnOneSide,
  kNoSharedSeed,  ///< with this count
};

/// One metric of one cell.
struct GateCheck {
  std::string cell;
  GateMetric metric = GateMetric::kLoss;
  std::string name;  ///< "loss", "training clock", "peak memory", "flops_per_step"
  std::string unit;  ///< unit of the means
  bool gates = true;
  Summary baseline;  ///< means and spreads, in the metric's unit
  Summary candidate;
  int pairs = 0;                 ///< number of pairs; 0: not paired
  bool is_by_median = false;     ///< "step time": a side's file has medians of step times, and no training clocks
  bool is_ratio = true;          ///< `change` is a ratio - 1; else a difference
  std::optional<double> change;  ///< candidate against baseline; above 0 is worse
  std::optional<double> bound;   ///< the worst change that the data allow at level 1 - alpha
  std::optional<double> best;    ///< the best one; both together are an interval of level 1 - 2 alpha
  double margin = 0.0;           ///< in the same form as `change`
  SpreadKind spread = SpreadKind::kNone;  ///< the spread that judged a paired difference
  GatePValues tests;
  GateTest test = GateTest::kNone;   ///< behind the verdict; for "inconclusive", the test that a pass needs
  std::optional<double> p;           ///< p-value of `test`
  std::optional<double> pass_power;  ///< chance that an unchanged candidate passes with these runs
  Verdict verdict = Verdict::kMissing;
  CheckReason reason = CheckReason::kNone;
  Mismatch mismatch = {};    ///< for CheckReason::kMismatch
  int min_runs = 0;          ///< of each side that a verdict needs, by the policy
  double confidence = 0.95;  ///< of `bound`
};

/// A change of this check for people: "+0.00120" for nats, "+1.20 %".
std::string change_text(const GateCheck& check, double change);

/// Converts `change` to the scale of the tests, where a ratio is a logarithm, and back.
double to_scale(double change, bool is_ratio);
double from_scale(double value, bool is_ratio);

/// A check and, if its verdict is still open, the estimate to judge it by: the difference of losses, or of logarithms
/// for a ratio.
struct CellCheck {
  GateCheck check;
  std::optional<Estimate> open;  ///< absent: the verdict stands
  std::vector<double> pairs;     ///< of `open`, the difference of each pair; empty if not paired
  bool is_mismatch = false;      ///< the sides cannot be compared
};

struct CellComparison {
  const ArmCell* baseline = nullptr;  ///< null: the baseline lacks this cell
  const ArmCell& candidate;
  const Comparability& comparability;
  const GatePolicy& policy;
  bool is_interleaved = false;  ///< times are compared pair by pair only if so
};

/// Loss, time, memory, and the training's memory where both sides know it; then the counts by name, then instructions
/// if either side was counted.
std::vector<CellCheck> cell_checks(const CellComparison& comparison);

}  // namespace nanobench::reports
