#include "reports/gate/cell_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "core/base/text.h"
#include "reports/stats/t_tests.h"

namespace nanobench::reports {

std::string change_text(const GateCheck& check, double change) {
  return check.is_ratio ? format_signed_percent(change, 2) : format_signed(change, 5);
}

double to_scale(double change, bool is_ratio) {
  return is_ratio ? std::log1p(change) : change;
}

double from_scale(double value, bool is_ratio) {
  return is_ratio ? std::expm1(value) : value;
}

namespace {

/// How a metric is read from a run and displayed.
struct MetricForm {
  GateMetric metric;
  std::string name, unit;
  bool is_ratio = true;
  std::optional<double> ArmRun::*value = nullptr;
};

/// Whether a run has nothing but the median of its steps, as in a file of an earlier version.
bool lacks_clock(const ArmCell& cell) {
  return std::any_of(cell.runs.begin(), cell.runs.end(),
                     [](const ArmRun& run) { return run.is_completed() && run.step_ms && !run.clock_ms; });
}

std::vector<MetricForm> measured_metrics(bool is_by_median) {
  MetricForm time{GateMetric::kTime, "training clock", "ms", true, &ArmRun::clock_ms};
  if (is_by_median) time = {GateMetric::kTime, "step time", "ms", true, &ArmRun::step_ms};
  return {
      {GateMetric::kLoss, "loss", "nats/token", false, &ArmRun::val_loss},
      time,
      {GateMetric::kMemory, "peak memory", "bytes", true, &ArmRun::peak_bytes},
      {GateMetric::kTrainingMemory, "training memory", "bytes", true, &ArmRun::training_bytes},
  };
}

/// Values of completed runs; a ratio needs values above 0.
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

bool has_diverged(const ArmCell& baseline, const ArmCell& candidate) {
  return std::any_of(candidate.runs.begin(), candidate.runs.end(), [&](const ArmRun& run) {
    const ArmRun* before = run_of(baseline, run.seed);
    return run.outcome == core::RunOutcome::kDiverged && before != nullptr && before->is_completed();
  });
}

bool are_bit_identical(const ArmCell& baseline, const ArmCell& candidate) {
  int same = 0;
  for (const ArmRun& run : candidate.runs) {
    const ArmRun* before = run_of(baseline, run.seed);
    if (before == nullptr || !run.is_completed() || !before->is_completed()) continue;
    if (run.loss_digest.empty() || run.loss_digest != before->loss_digest) return false;
    ++same;
  }
  return same > 0;
}

void judge_exact(GateCheck& check, CheckReason how) {
  const double change = *check.change;
  check.pass_power = 1.0;
  check.bound = check.best = change;
  check.verdict = change > check.margin    ? Verdict::kRegressed
                  : change < -check.margin ? Verdict::kImproved
                                           : Verdict::kUnchanged;
  check.reason = how;
}

/// The difference of two sides of one metric with its error, in the scale of the test (the unit itself, or logarithms).
struct ArmDifference {
  std::optional<Estimate> estimate;  ///< candidate - baseline
  std::optional<double> exact;       ///< all pairs differ by exactly this (or there is one pair)
  std::vector<double> differences;   ///< of the pairs
  int pairs = 0;                     ///< 0: not paired
  int min_n = 0;                     ///< pairs, or runs of the side with fewer
};

std::vector<double> numbers(const BySeed& values, bool takes_log) {
  std::vector<double> list;
  for (const auto& [seed, value] : values) list.push_back(takes_log ? std::log(value) : value);
  return list;
}

/// Over the seeds that both have. `takes_log`: uses the values' logarithms; values must be above 0.
ArmDifference paired_difference(const BySeed& candidate, const BySeed& baseline, bool takes_log) {
  std::vector<double> ours, theirs;
  for (const auto& [seed, value] : candidate) {
    const auto other = baseline.find(seed);
    if (other == baseline.end()) continue;
    ours.push_back(takes_log ? std::log(value) : value);
    theirs.push_back(takes_log ? std::log(other->second) : other->second);
  }
  ArmDifference difference{.pairs = static_cast<int>(ours.size()), .min_n = static_cast<int>(ours.size())};
  if (ours.empty()) return difference;
  for (std::size_t i = 0; i < ours.size(); ++i) difference.differences.push_back(ours[i] - theirs[i]);
  difference.estimate = paired_t(ours, theirs);
  const std::optional<PairedMoments> moments = paired_moments(ours, theirs);
  if (moments && !moments->moments.has_spread()) difference.exact = moments->moments.mean;
  if (!moments)
    difference.exact = ours.front() - theirs.front();  // one pair: the caller checks whether it proves anything
  return difference;
}

/// Difference of the means (Welch), whatever the seeds.
ArmDifference unpaired_difference(const BySeed& candidate, const BySeed& baseline, bool takes_log) {
  const std::vector<double> ours = numbers(candidate, takes_log), theirs = numbers(baseline, takes_log);
  return {.estimate = welch(ours, theirs), .min_n = static_cast<int>(std::min(ours.size(), theirs.size()))};
}

class CellReader {
 public:
  explicit CellReader(const CellComparison& comparison)
      : comparison_(comparison), baseline_(comparison.baseline == nullptr ? ArmCell{} : *comparison.baseline) {}

  std::vector<CellCheck> read() {
    const bool is_by_median = lacks_clock(baseline_) || lacks_clock(comparison_.candidate);
    for (const MetricForm& form : measured_metrics(is_by_median)) {
      if (form.metric == GateMetric::kTrainingMemory && !both_have(form)) continue;
      add_measured(form);
      checks_.back().check.is_by_median = is_by_median && form.metric == GateMetric::kTime;
    }
    add_costs();
    add_instructions();
    return std::move(checks_);
  }

 private:
  /// Engines and files of earlier versions do not tell what the training took.
  bool both_have(const MetricForm& form) const {
    return !values_of(baseline_, form).empty() && !values_of(comparison_.candidate, form).empty();
  }

  GateCheck& new_check(const MetricForm& form) {
    GateCheck& check = checks_.emplace_back().check;
    check.cell = comparison_.candidate.label;
    check.metric = form.metric;
    check.name = form.name;
    check.unit = form.unit;
    check.is_ratio = form.is_ratio;
    const MetricPolicy& policy = comparison_.policy.of(form.metric);
    check.gates = policy.gates;
    check.margin = policy.margin;
    check.min_runs = comparison_.policy.min_runs;
    return check;
  }

  /// If true, the newest check gets the reason.
  bool cannot_be_compared(GateMetric metric) {
    const std::optional<Mismatch> why =
        comparison_.comparability.mismatch_of(metric, comparison_.baseline, comparison_.candidate);
    if (!why) return false;
    checks_.back().check.reason = CheckReason::kMismatch;
    checks_.back().check.mismatch = *why;
    checks_.back().is_mismatch = true;
    return true;
  }

  void add_measured(const MetricForm& form) {
    GateCheck& check = new_check(form);
    const BySeed before = values_of(baseline_, form), now = values_of(comparison_.candidate, form);
    check.baseline = summarise(before);
    check.candidate = summarise(now);
    if (cannot_be_compared(form.metric)) return;
    if (form.metric == GateMetric::kLoss && has_diverged(baseline_, comparison_.candidate)) {
      check.verdict = Verdict::kRegressed;
      check.reason = CheckReason::kDiverged;
      return;
    }
    if (before.empty() || now.empty()) {
      check.reason = now.empty() ? CheckReason::kNoCandidateRun : CheckReason::kNoBaselineRun;
      return;
    }
    ArmDifference difference = paired_difference(now, before, form.is_ratio);
    const bool needs_order = form.metric == GateMetric::kTime && !comparison_.is_interleaved;
    if (difference.pairs == 0 || needs_order) difference = unpaired_difference(now, before, form.is_ratio);
    check.pairs = difference.pairs;
    weigh(check, difference, form.metric == GateMetric::kLoss && are_bit_identical(baseline_, comparison_.candidate));
  }

  /// Exact differences are judged at once, others wait for Holm's adjustment.
  void weigh(GateCheck& check, const ArmDifference& difference, bool is_bit_identical) {
    if (is_bit_identical) {
      check.change = check.bound = check.best = 0.0;
      check.pass_power = 1.0;
      check.verdict = Verdict::kUnchanged;
      check.reason = CheckReason::kBitIdentical;
      return;
    }
    if (difference.estimate) check.change = from_scale(difference.estimate->value, check.is_ratio);
    if (difference.exact) check.change = from_scale(*difference.exact, check.is_ratio);
    if (difference.min_n < comparison_.policy.min_runs) {
      check.verdict = Verdict::kInconclusive;
      check.reason = CheckReason::kFewRuns;
      return;
    }
    if (difference.exact) return judge_exact(check, CheckReason::kOneDifference);
    if (!difference.estimate) {
      check.verdict = Verdict::kInconclusive;
      check.reason = CheckReason::kNoSpread;
      return;
    }
    checks_.back().open = difference.estimate;
    checks_.back().pairs = difference.differences;
  }

  /// Counts have no noise: the largest difference of all seeds decides.
  void add_costs() {
    std::set<std::string> names;  // of both sides: a count that one side lost is missing evidence
    for (const ArmCell* cell : {&baseline_, &comparison_.candidate}) {
      for (const ArmRun& run : cell->runs) {
        for (const auto& [name, cost] : run.costs) names.insert(name);
      }
    }
    for (const std::string& name : names) add_cost(name);
  }

  /// Only if either side was counted.
  void add_instructions() {
    const ArmCell &baseline = baseline_, &candidate = comparison_.candidate;
    if (!baseline.instructions && !candidate.instructions) return;
    GateCheck& check = new_check({GateMetric::kCost, "instructions", "1", true, nullptr});
    check.margin = comparison_.policy.instructions_margin;
    if (baseline.instructions) check.baseline = summarise(BySeed{{0, *baseline.instructions}});
    if (candidate.instructions) check.candidate = summarise(BySeed{{0, *candidate.instructions}});
    if (cannot_be_compared(GateMetric::kCost)) return;
    if (!baseline.instructions || !candidate.instructions || !(*baseline.instructions > 0.0)) {
      check.reason = CheckReason::kCountedOnOneSide;
      return;
    }
    check.pairs = 1;
    check.change = *candidate.instructions / *baseline.instructions - 1.0;
    judge_exact(check, CheckReason::kCountedOnce);
  }

  void add_cost(const std::string& name) {
    GateCheck& check = new_check({GateMetric::kCost, name, "1", true, nullptr});
    const auto costs_of = [&](const ArmCell& cell) {
      BySeed values;
      for (const ArmRun& run : cell.runs) {
        if (const auto cost = run.costs.find(name); cost != run.costs.end()) values[run.seed] = cost->second;
      }
      return values;
    };
    const BySeed before = costs_of(baseline_), now = costs_of(comparison_.candidate);
    check.baseline = summarise(before);
    check.candidate = summarise(now);
    if (cannot_be_compared(GateMetric::kCost)) return;
    for (const auto& [seed, value] : now) {
      const auto other = before.find(seed);
      if (other == before.end()) continue;
      const double change = other->second > 0.0 ? value / other->second - 1.0 : value > 0.0 ? 1.0 : 0.0;
      check.change = std::max(check.change.value_or(change), change);
      ++check.pairs;
    }
    if (!check.change) {
      check.reason = CheckReason::kNoSharedSeed;
      return;
    }
    judge_exact(check, CheckReason::kNoNoise);
  }

  const CellComparison& comparison_;
  const ArmCell baseline_;  ///< empty if there is none
  std::vector<CellCheck> checks_;
};

}  // namespace

std::vector<CellCheck> cell_checks(const CellComparison& comparison) {
  return CellReader(comparison).read();
}

}  // namespace nanobench::reports
