/// A gate judges a candidate against a baseline: what is proved about each metric of each cell, and what follows. Pure,
/// thread-safe.
///
/// Loss: candidate - baseline, nats per token, seed by seed if both sides have the seed and so share their random
/// numbers. Time and memory: the logarithm of the ratio of the runs' clocks and peaks, likewise; a margin m becomes
/// log(1 + m). Cost: the cost model's counts, which have no noise, so one run per side is proof.
/// The verdict of a check is the first of these that holds; the first three pass:
///   unchanged     proved to lie within the margin on both sides (two one-sided tests, by Holm), or the same bit for
///   bit improved      better, by a two-sided test of "no change" (by Holm) not worse     proved to be below the margin
///   (one-sided, alpha); it may well be better regressed     worse than no change by a one-sided test (by Holm)
///   inconclusive  none of them, or too few runs
///   missing       a side has no value: a cell or its runs are missing or failed, or the values cannot be compared
/// Holm adjusts each of the three kinds of tests over the gate's checks (judge_checks.h), so that all false "regressed"
/// of a gate together, and likewise all false "improved" and all false "unchanged", have a chance of at most alpha.
/// If all pairs differ by exactly the same amount, there is nothing to test: that amount is the difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "reports/gate/arm.h"
#include "reports/gate/cell_checks.h"
#include "reports/gate/gate_policy.h"
#include "reports/gate/pass_forecast.h"

namespace nanobench::reports {

/// The gate's answer; each has its own exit code (core/base/error.h).
enum class GateAnswer { kPass, kRegression, kInconclusive, kIncomplete, kNotComparable };
NB_ENUM_NAMES(GateAnswer, {GateAnswer::kPass, "pass"}, {GateAnswer::kRegression, "regression"},
              {GateAnswer::kInconclusive, "inconclusive"}, {GateAnswer::kIncomplete, "incomplete"},
              {GateAnswer::kNotComparable, "not comparable"});
int exit_code(GateAnswer answer);

/// Evidence that failed or is missing.
struct GateProblem {
  enum class Kind {
    kFailedRun,     ///< of `side`: it ended as `outcome` says, or is missing
    kLostCell,      ///< the candidate has no `cell`, which the baseline has
    kNothingGates,  ///< no gating metric was measured
  };
  Kind kind = Kind::kFailedRun;
  std::string side = {}, cell = {};
  std::uint64_t seed = 0;
  std::string outcome = {};  ///< ArmRun::outcome_text()
  std::string message = {};  ///< the run's own; may be empty

  bool operator==(const GateProblem&) const = default;
};

struct GateResult {
  Arm baseline, candidate;
  GatePolicy policy;
  bool is_interleaved = false;    ///< both sides ran in turn on this machine
  std::vector<GateCheck> checks;  ///< in the order of cells
  std::vector<GateProblem> problems;
  std::vector<std::string> notes;
  GateAnswer answer = GateAnswer::kInconclusive;
  double false_alarms = 0.05;         ///< chance of a false "regressed": the policy's alpha, or that of all looks
  int tests = 0;                      ///< gating checks that were tested: the size of each of Holm's families
  std::optional<double> pass_chance;  ///< chance that an unchanged candidate passes, if the metrics were independent;
                                      ///< absent if a check has no spread
  std::optional<PassForecast> forecast;  ///< the same before the runs, by earlier noise
};

GateResult evaluate_gate(const Arm& baseline, const Arm& candidate, const GatePolicy& policy,
                         const GateSetting& setting);

}  // namespace nanobench::reports
