#include "reports/gate/gate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "core/base/exit_codes.h"
#include "reports/gate/difference.h"
#include "reports/stats/multiple.h"
#include "reports/stats/power.h"
#include "reports/text.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kMostNamed = 3;  // disturbed runs in a note

/// How a metric is read from a run and shown.
struct MetricForm {
  GateMetric metric;
  std::string name, unit;
  bool is_ratio = true;
  std::optional<double> ArmRun::*value = nullptr;
};

const std::vector<MetricForm>& measured_metrics() {
  static const std::vector<MetricForm> forms = {
      {GateMetric::kLoss, "loss", "nats/token", false, &ArmRun::val_loss},
      {GateMetric::kTime, "step time", "ms", true, &ArmRun::step_ms},
      {GateMetric::kMemory, "peak memory", "bytes", true, &ArmRun::peak_bytes},
  };
  return forms;
}

/// Of completed runs; a ratio needs values above 0.
BySeed values_of(const ArmCell& cell, const MetricForm& form) {
  BySeed values;
  for (const ArmRun& run : cell.runs) {
    const std::optional<double>& value = run.*form.value;
    if (run.is_completed() && value && std::isfinite(*value) && (!form.is_ratio || *value > 0.0))
      values[run.seed] = *value;
  }
  return values;
}

const ArmRun* run_of(const ArmCell& cell, std::uint64_t seed) {
  for (const ArmRun& run : cell.runs) {
    if (run.seed == seed) return &run;
  }
  return nullptr;
}

/// In the scale of the test: what the policy's margin is there, and back.
double to_scale(double margin, bool is_ratio) {
  return is_ratio ? std::log1p(margin) : margin;
}
double from_scale(double value, bool is_ratio) {
  return is_ratio ? std::expm1(value) : value;
}

std::string percent(double fraction) {
  return format_percent(fraction, fraction < 0.01 ? 1 : 0);
}

class Evaluation {
 public:
  Evaluation(const Arm& baseline, const Arm& candidate, const GatePolicy& policy, const GateSetting& setting)
      : allows_other_configs_(setting.allows_other_configs) {
    result_.baseline = baseline;
    result_.candidate = candidate;
    result_.policy = policy;
    result_.is_interleaved = setting.is_interleaved;
  }

  GateResult run() {
    find_mismatches();
    for (const ArmCell& cell : result_.candidate.cells) add_cell(cell);
    note_lost_cells();
    note_disturbed();
    judge();
    answer();
    return std::move(result_);
  }

 private:
  /// A check and what it is judged by.
  struct Pending {
    std::size_t check;
    Estimate estimate;
  };

  void find_mismatches() {
    const Arm &a = result_.baseline, &b = result_.candidate;
    const auto differ = [](const std::string& what, const std::string& before, const std::string& now) {
      return what + " differs: the baseline has " + (before.empty() ? "none" : before) + ", the candidate " +
             (now.empty() ? "none" : now);
    };
    if (a.scale != b.scale) all_mismatch_ = differ("the scale", a.scale, b.scale);
    if (a.data_digest != b.data_digest) all_mismatch_ = differ("the data", a.data_digest, b.data_digest);
    if (a.hardware != b.hardware) machine_mismatch_ = differ("the machine", a.hardware, b.hardware);
    if (a.threads != b.threads) {
      machine_mismatch_ = differ("the number of threads", std::to_string(a.threads), std::to_string(b.threads));
    }
    if (a.processes != b.processes) {
      machine_mismatch_ = differ("the number of processes", std::to_string(a.processes), std::to_string(b.processes));
    }
    if (a.host != b.host && !result_.is_interleaved) host_mismatch_ = differ("the host", a.host, b.host);
  }

  const ArmCell* baseline_cell(const std::string& label) const {
    for (const ArmCell& cell : result_.baseline.cells) {
      if (cell.label == label) return &cell;
    }
    return nullptr;
  }

  /// Why this metric of the cell cannot be compared; empty: it can.
  std::string mismatch_of(GateMetric metric, const ArmCell* baseline, const ArmCell& candidate) const {
    if (baseline == nullptr) return "the baseline has no such cell";
    if (!all_mismatch_.empty()) return all_mismatch_;
    if (!allows_other_configs_ && baseline->config_digest != candidate.config_digest)
      return "the cell is another configuration than in the baseline";
    const bool needs_machine = metric == GateMetric::kTime || metric == GateMetric::kMemory;
    if (needs_machine && !machine_mismatch_.empty()) return machine_mismatch_;
    return metric == GateMetric::kTime ? host_mismatch_ : "";
  }

  void add_cell(const ArmCell& candidate) {
    static const ArmCell kNone;
    const ArmCell* const baseline = baseline_cell(candidate.label);
    const ArmCell& before = baseline == nullptr ? kNone : *baseline;
    note_failures(candidate, "candidate");
    note_failures(before, "baseline");
    for (const MetricForm& form : measured_metrics())
      add_measured(form, before, candidate, mismatch_of(form.metric, baseline, candidate));
    const std::string mismatch = mismatch_of(GateMetric::kCost, baseline, candidate);
    add_costs(before, candidate, mismatch);
    add_instructions(before, candidate, mismatch);
  }

  void note_failures(const ArmCell& cell, const std::string& side) {
    for (const ArmRun& run : cell.runs) {
      if (run.is_completed()) {
        if (run.disturbance)
          disturbed_.push_back(side + ", " + cell.label + ", seed " + std::to_string(run.seed) + ": " +
                               *run.disturbance);
        continue;
      }
      has_failures_ = has_failures_ || run.outcome != "diverged" || side == "baseline";
      result_.problems.push_back(side + ", " + cell.label + ", seed " + std::to_string(run.seed) + ": " + run.outcome +
                                 (run.message.empty() ? "" : ": " + run.message));
    }
  }

  GateCheck& new_check(const ArmCell& cell, const MetricForm& form) {
    GateCheck& check = result_.checks.emplace_back();
    check.cell = cell.label;
    check.metric = form.metric;
    check.name = form.name;
    check.unit = form.unit;
    check.is_ratio = form.is_ratio;
    const MetricPolicy& policy = result_.policy.of(form.metric);
    check.gates = policy.gates;
    check.margin = policy.margin;
    return check;
  }

  void cannot_compare(GateCheck& check, const std::string& why) {
    check.verdict = Verdict::kMissing;
    check.reason = why;
    if (check.gates) is_comparable_ = false;
  }

  void add_measured(const MetricForm& form, const ArmCell& baseline, const ArmCell& candidate,
                    const std::string& mismatch) {
    GateCheck& check = new_check(candidate, form);
    const BySeed before = values_of(baseline, form), now = values_of(candidate, form);
    check.baseline = summarise(before);
    check.candidate = summarise(now);
    if (!mismatch.empty()) return cannot_compare(check, mismatch);
    if (form.metric == GateMetric::kLoss && has_diverged(baseline, candidate)) {
      check.verdict = Verdict::kRegressed;
      check.reason = "the candidate's loss was not finite where the baseline's was";
      return;
    }
    if (before.empty() || now.empty()) {
      check.reason = std::string("no completed run of the ") + (now.empty() ? "candidate" : "baseline");
      return;
    }
    Difference difference = paired_difference(now, before, form.is_ratio);
    const bool needs_order = form.metric == GateMetric::kTime && !result_.is_interleaved;
    if (difference.pairs == 0 || needs_order) difference = unpaired_difference(now, before, form.is_ratio);
    check.pairs = difference.pairs;
    weigh(check, difference, form.metric == GateMetric::kLoss && are_bit_identical(baseline, candidate));
  }

  static bool has_diverged(const ArmCell& baseline, const ArmCell& candidate) {
    return std::any_of(candidate.runs.begin(), candidate.runs.end(), [&](const ArmRun& run) {
      const ArmRun* before = run_of(baseline, run.seed);
      return run.outcome == "diverged" && before != nullptr && before->is_completed();
    });
  }

  static bool are_bit_identical(const ArmCell& baseline, const ArmCell& candidate) {
    int same = 0;
    for (const ArmRun& run : candidate.runs) {
      const ArmRun* before = run_of(baseline, run.seed);
      if (before == nullptr || !run.is_completed() || !before->is_completed()) continue;
      if (run.loss_digest.empty() || run.loss_digest != before->loss_digest) return false;
      ++same;
    }
    return same > 0;
  }

  /// Exact differences are judged at once, others when Holm's adjustment knows them all.
  void weigh(GateCheck& check, const Difference& difference, bool is_bit_identical) {
    if (is_bit_identical) {
      check.change = check.bound = 0.0;
      check.pass_power = 1.0;
      check.verdict = Verdict::kUnchanged;
      check.reason = "every loss of every step is the same, bit for bit";
      return;
    }
    if (difference.estimate) check.change = from_scale(difference.estimate->value, check.is_ratio);
    if (difference.exact) check.change = from_scale(*difference.exact, check.is_ratio);
    if (difference.least_n < result_.policy.least_runs) {
      check.verdict = Verdict::kInconclusive;
      check.reason = "n = " + std::to_string(difference.least_n) + " proves nothing; at least " +
                     std::to_string(result_.policy.least_runs) + " runs of each side are needed";
      return;
    }
    if (difference.exact) return judge_exact(check, "all pairs differ by the same amount");
    if (!difference.estimate) {
      check.verdict = Verdict::kInconclusive;
      check.reason = "the runs have no spread to compare with";
      return;
    }
    pending_.push_back({result_.checks.size() - 1, *difference.estimate});
  }

  static void judge_exact(GateCheck& check, const std::string& how) {
    const double change = *check.change;
    check.pass_power = 1.0;
    check.bound = change;
    check.verdict = change > check.margin ? Verdict::kRegressed
                    : change < 0.0        ? Verdict::kImproved
                                          : Verdict::kUnchanged;
    check.reason = how;
  }

  /// Counts have no noise; the largest of the seeds' differences counts.
  void add_costs(const ArmCell& baseline, const ArmCell& candidate, const std::string& mismatch) {
    const MetricForm form{GateMetric::kCost, "", "1", true, nullptr};
    std::set<std::string> names;  // of both sides: a count that one side lost is missing evidence
    for (const ArmCell* cell : {&baseline, &candidate}) {
      for (const ArmRun& run : cell->runs) {
        for (const auto& [name, cost] : run.costs) names.insert(name);
      }
    }
    for (const std::string& name : names) add_cost(form, name, baseline, candidate, mismatch);
  }

  /// Where any side was counted.
  void add_instructions(const ArmCell& baseline, const ArmCell& candidate, const std::string& mismatch) {
    if (!baseline.instructions && !candidate.instructions) return;
    GateCheck& check = new_check(candidate, {GateMetric::kCost, "instructions", "1", true, nullptr});
    check.margin = result_.policy.instructions_margin;
    if (baseline.instructions) check.baseline = summarise(BySeed{{0, *baseline.instructions}});
    if (candidate.instructions) check.candidate = summarise(BySeed{{0, *candidate.instructions}});
    if (!mismatch.empty()) return cannot_compare(check, mismatch);
    if (!baseline.instructions || !candidate.instructions || !(*baseline.instructions > 0.0)) {
      check.reason = "only one side could be counted";
      return;
    }
    check.pairs = 1;
    check.change = *candidate.instructions / *baseline.instructions - 1.0;
    judge_exact(check, "counted in one short run of each side");
    // Two counts of the same program differ a little too.
    if (-*check.change <= check.margin && check.verdict == Verdict::kImproved) check.verdict = Verdict::kUnchanged;
  }

  void add_cost(MetricForm form, const std::string& name, const ArmCell& baseline, const ArmCell& candidate,
                const std::string& mismatch) {
    form.name = name;
    GateCheck& check = new_check(candidate, form);
    const auto costs_of = [&](const ArmCell& cell) {
      BySeed values;
      for (const ArmRun& run : cell.runs) {
        if (const auto cost = run.costs.find(name); cost != run.costs.end()) values[run.seed] = cost->second;
      }
      return values;
    };
    const BySeed before = costs_of(baseline), now = costs_of(candidate);
    check.baseline = summarise(before);
    check.candidate = summarise(now);
    if (!mismatch.empty()) return cannot_compare(check, mismatch);
    for (const auto& [seed, value] : now) {
      const auto other = before.find(seed);
      if (other == before.end()) continue;
      const double change = other->second > 0.0 ? value / other->second - 1.0 : value > 0.0 ? 1.0 : 0.0;
      check.change = std::max(check.change.value_or(change), change);
      ++check.pairs;
    }
    if (!check.change) {
      check.reason = "no seed has this count on both sides";
      return;
    }
    judge_exact(check, "counted, without noise");
  }

  void note_disturbed() {
    if (disturbed_.empty()) return;
    const std::size_t named = std::min(disturbed_.size(), kMostNamed);
    std::string text = std::to_string(disturbed_.size()) +
                       (disturbed_.size() == 1 ? " run was disturbed, so its time is doubtful ("
                                               : " runs were disturbed, so their times are doubtful (");
    for (std::size_t i = 0; i < named; ++i) text += (i == 0 ? "" : "; ") + disturbed_[i];
    result_.notes.push_back(text + (named < disturbed_.size() ? "; ...)" : ")"));
  }

  void note_lost_cells() {
    for (const ArmCell& cell : result_.baseline.cells) {
      const bool is_there = std::any_of(result_.candidate.cells.begin(), result_.candidate.cells.end(),
                                        [&](const ArmCell& other) { return other.label == cell.label; });
      if (is_there) continue;
      has_failures_ = true;
      result_.problems.push_back("the candidate has no cell " + cell.label + ", which the baseline has");
    }
  }

  void judge() {
    std::vector<std::optional<double>> p;
    for (const Pending& pending : pending_) {
      GateCheck& check = result_.checks[pending.check];
      check.p = p_of(pending.estimate, Tail::kGreater);
      if (check.gates) p.push_back(check.p);
    }
    result_.tests = static_cast<int>(p.size());
    const std::vector<std::optional<double>> adjusted = holm(p);
    std::size_t next = 0;
    for (const Pending& pending : pending_) {
      GateCheck& check = result_.checks[pending.check];
      check.adjusted_p = check.gates ? adjusted[next++] : check.p;
      judge(check, pending.estimate);
    }
  }

  void judge(GateCheck& check, const Estimate& estimate) const {
    const double alpha = result_.policy.alpha, margin = to_scale(check.margin, check.is_ratio);
    const double bound = interval_of(estimate, 1.0 - alpha, Tail::kLess).high;
    check.bound = from_scale(bound, check.is_ratio);
    check.pass_power =
        margin > 0.0 ? power_of(margin, {.se = estimate.se, .df = estimate.df}, {.alpha = alpha, .is_two_sided = false})
                     : alpha;
    const std::string confidence = " (" + percent(1.0 - alpha) + " confidence)";
    if (bound < margin) {
      const bool is_better = p_of(estimate, Tail::kLess) < alpha;
      check.verdict = is_better ? Verdict::kImproved : Verdict::kUnchanged;
      check.reason = "at worst " + change_text(check, *check.bound) + confidence;
    } else if (*check.adjusted_p < alpha) {
      check.verdict = Verdict::kRegressed;
      check.reason =
          "worse by " + change_text(check, *check.change) + " (p " + format_significant(*check.adjusted_p, 2) + ")";
    } else {
      check.verdict = Verdict::kInconclusive;
      check.reason = "at worst " + change_text(check, *check.bound) + confidence + ", which is beyond the margin";
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
    if (!has_checks && !result_.checks.empty())
      result_.problems.emplace_back("nothing that gates was measured, so nothing is proved");
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

  bool allows_other_configs_;
  GateResult result_;
  std::string all_mismatch_;      ///< nothing can be compared
  std::string machine_mismatch_;  ///< time and memory cannot
  std::string host_mismatch_;     ///< time cannot
  std::vector<Pending> pending_;
  std::vector<std::string> disturbed_;
  bool has_failures_ = false;
  bool is_comparable_ = true;
};

}  // namespace

std::string change_text(const GateCheck& check, double change) {
  return check.is_ratio ? (change < 0 ? "" : "+") + format_percent(change, 2) : format_signed(change, 5);
}

const char* to_string(GateAnswer answer) {
  switch (answer) {
    case GateAnswer::kPass: return "pass";
    case GateAnswer::kRegression: return "regression";
    case GateAnswer::kInconclusive: return "inconclusive";
    case GateAnswer::kIncomplete: return "incomplete";
    case GateAnswer::kNotComparable: return "not comparable";
  }
  return "?";
}

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
  return Evaluation(baseline, candidate, policy, setting).run();
}

}  // namespace nanobench::reports
