#include "reports/gate/gate.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/gate/cell_checks.h"
#include "reports/gate/judge_checks.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kMaxNamed = 3;  // disturbed runs in a note

/// "candidate, base, seed 3"
std::string replicate_text(const std::string& side, const ArmCell& cell, const ArmRun& run) {
  return side + ", " + cell.label + ", seed " + std::to_string(run.seed);
}

class GateEvaluation {
 public:
  GateEvaluation(const Arm& baseline, const Arm& candidate, const GatePolicy& policy, const GateSetting& setting)
      : comparability_(baseline, candidate, setting) {
    result_.baseline = baseline;
    result_.candidate = candidate;
    result_.policy = policy;
    result_.is_interleaved = setting.is_interleaved;
  }

  GateResult run() {
    for (const ArmCell& cell : result_.candidate.cells) add_cell(cell);
    note_lost_cells();
    note_disturbed();
    share_spreads(result_.checks, open_);
    result_.false_alarms = result_.policy.alpha;
    result_.tests = judge_checks(result_.checks, open_, result_.policy.alpha);
    answer();
    return std::move(result_);
  }

 private:
  const ArmCell* baseline_cell(const std::string& label) const {
    for (const ArmCell& cell : result_.baseline.cells) {
      if (cell.label == label) return &cell;
    }
    return nullptr;
  }

  void add_cell(const ArmCell& candidate) {
    const ArmCell* const baseline = baseline_cell(candidate.label);
    note_failures(candidate, "candidate");
    if (baseline != nullptr) note_failures(*baseline, "baseline");
    const CellComparison comparison{.baseline = baseline,
                                    .candidate = candidate,
                                    .comparability = comparability_,
                                    .policy = result_.policy,
                                    .is_interleaved = result_.is_interleaved};
    for (CellCheck& cell_check : cell_checks(comparison)) {
      if (cell_check.open)
        open_.push_back({.check = result_.checks.size(), .estimate = *cell_check.open, .pairs = cell_check.pairs});
      if (cell_check.is_mismatch && cell_check.check.gates) is_comparable_ = false;
      result_.checks.push_back(std::move(cell_check.check));
    }
  }

  void note_failures(const ArmCell& cell, const std::string& side) {
    for (const ArmRun& run : cell.runs) {
      if (run.is_completed()) {
        if (run.disturbance) disturbed_.push_back(replicate_text(side, cell, run) + ": " + *run.disturbance);
        continue;
      }
      has_failures_ = has_failures_ || run.outcome != core::RunOutcome::kDiverged || side == "baseline";
      result_.problems.push_back({.kind = GateProblem::Kind::kFailedRun,
                                  .side = side,
                                  .cell = cell.label,
                                  .seed = run.seed,
                                  .outcome = run.outcome_text(),
                                  .message = run.message});
    }
  }

  void note_disturbed() {
    if (disturbed_.empty()) return;
    const auto count = static_cast<std::int64_t>(disturbed_.size());
    result_.notes.push_back(counted(count, "run was disturbed, so its time is doubtful",
                                    "runs were disturbed, so their times are doubtful") +
                            " (" + listed_first(disturbed_, kMaxNamed, "; ") + ")");
  }

  void note_lost_cells() {
    for (const ArmCell& cell : result_.baseline.cells) {
      const bool is_there = std::any_of(result_.candidate.cells.begin(), result_.candidate.cells.end(),
                                        [&](const ArmCell& other) { return other.label == cell.label; });
      if (is_there) continue;
      has_failures_ = true;
      result_.problems.push_back({.kind = GateProblem::Kind::kLostCell, .cell = cell.label});
    }
  }

  void answer() {
    std::optional<double> chance;
    bool has_regressed = false, is_undecided = false, is_missing = false, has_checks = false;
    for (const GateCheck& check : result_.checks) {
      if (!check.gates) continue;
      if (!check.pass_power) {
        chance.reset();
      } else if (!has_checks || chance) {
        chance = chance.value_or(1.0) * *check.pass_power;
      }
      has_checks = true;
      has_regressed = has_regressed || check.verdict == Verdict::kRegressed;
      is_undecided = is_undecided || check.verdict == Verdict::kInconclusive;
      is_missing = is_missing || check.verdict == Verdict::kMissing;
    }
    result_.pass_chance = chance;
    if (!has_checks && !result_.checks.empty()) result_.problems.push_back({.kind = GateProblem::Kind::kNothingGates});
    if (has_regressed) {
      result_.answer = GateAnswer::kRegression;
    } else if (!is_comparable_ || result_.baseline.cells.empty()) {
      result_.answer = GateAnswer::kNotComparable;
    } else if (has_failures_ || is_missing || !has_checks) {
      result_.answer = GateAnswer::kIncomplete;
    } else {
      result_.answer = is_undecided ? GateAnswer::kInconclusive : GateAnswer::kPass;
    }
  }

  Comparability comparability_;
  GateResult result_;
  std::vector<OpenCheck> open_;
  std::vector<std::string> disturbed_;
  bool has_failures_ = false;
  bool is_comparable_ = true;
};

}  // namespace

int exit_code(GateAnswer answer) {
  switch (answer) {
    case GateAnswer::kPass: return core::kExitSuccess;
    case GateAnswer::kRegression: return core::kExitRegression;
    case GateAnswer::kInconclusive: return core::kExitInconclusive;
    case GateAnswer::kIncomplete: return core::kExitIncomplete;
    case GateAnswer::kNotComparable: break;
  }
  return core::kExitNotComparable;
}

GateResult evaluate_gate(const Arm& baseline, const Arm& candidate, const GatePolicy& policy,
                         const GateSetting& setting) {
  return GateEvaluation(baseline, candidate, policy, setting).run();
}

}  // namespace nanobench::reports
