#include "reports/claims/cell_metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/hardware/gpu_report.h"
#include "reports/comparison/conditions.h"
#include "reports/comparison/stability.h"
#include "reports/stats/loss_curve.h"

namespace nanobench::reports {
namespace {

using ablations::MetricBasis;

constexpr double kGiga = 1e9;
constexpr double kMsPerS = 1e3;

/// Number of steps whose losses are not the same double.
std::int64_t different_steps(const std::vector<results::Sample>& first, const std::vector<results::Sample>& second) {
  std::int64_t count = static_cast<std::int64_t>(std::max(first.size(), second.size()));
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    const bool is_same = first[i].step == second[i].step &&
                         std::bit_cast<std::uint64_t>(first[i].value) == std::bit_cast<std::uint64_t>(second[i].value);
    count -= is_same ? 1 : 0;
  }
  return count;
}

/// Only seeds whose runs were on one machine: times of two machines are never compared.
BySeed on_one_machine(const BySeed& values, const CellMeasures& cell, const CellMeasures* other) {
  if (other == nullptr) return values;
  BySeed kept;
  for (const auto& [seed, value] : values) {
    const RunMeasure* const one = completed_run(cell, seed);
    const RunMeasure* const two = completed_run(*other, seed);
    if (one != nullptr && two != nullptr && share_machine(*one, *two)) kept[seed] = value;
  }
  return kept;
}

const CellMeasures* find(const ClaimPlan& plan, const std::optional<ablations::ClaimCell>& cell) {
  if (!cell) return nullptr;
  const auto found = plan.cells.find(cell->label);
  return found == plan.cells.end() ? nullptr : &found->second;
}

}  // namespace

bool is_of_gpu(const ablations::Claim& claim) {
  const ablations::ClaimMetric* const metric = ablations::find_claim_metric(claim.measure.kind, claim.rule->metric);
  return metric != nullptr && metric->is_of_gpu;
}

CellMetrics::CellMetrics(const ClaimEvidence& evidence, const ablations::Claim& claim,
                         const ablations::ClaimCells& cells, const ClaimPlan& plan)
    : evidence_(evidence),
      claim_(claim),
      cells_(cells),
      plan_(plan),
      before_(find(plan, cells.before)),
      after_(find(plan, cells.after)),
      whole_(find(plan, cells.whole)),
      operation_(find(plan, cells.operation)),
      compares_kernels_(ablations::compares_kernels(cells)) {}

MeasuredNumber CellMetrics::number(std::optional<LedgerReason>& reason) const {
  const std::string& metric = claim_.rule->metric;
  if (metric == "different_losses") return different_losses(reason);
  if (metric == "time_to_target_s") return time_to_target(reason);
  if (metric == "share_of_peak") return share_of_peak();
  if (metric == "share_of_saved_time") return share_of_saved_time(reason);
  if (metric == "rank_parameter_difference") return parameter_difference();
  if (metric == "stable_rate") return stable_rate(reason);
  const MetricBasis basis = cell_metric_basis(metric);
  BySeed before = before_ != nullptr ? evidence_.values(*before_, metric) : BySeed();
  BySeed after = after_ != nullptr ? evidence_.values(*after_, metric) : BySeed();
  if (metric == "final_val_loss_sd") return sd_ratio(before, after);
  // Memory jumps, and a GPU's counters scatter each in its own way.
  const bool is_alike = (is_of_machine(basis) && !is_of_gpu(claim_)) || basis == MetricBasis::kMeanLoss;
  if (is_alike && before_ != nullptr && after_ != nullptr) {
    const std::optional<PlanValues> values = evidence_.plan_values(claim_.rule->form, plan_, *before_, *after_, metric);
    if (values) return number_in_plan(claim_.rule->form, *values, is_of_machine(basis) ? kTimePriorDf : kLossPriorDf);
  }
  if (is_of_machine(basis) && before_ != nullptr && after_ != nullptr) {
    before = on_one_machine(before, *before_, after_);
    after = on_one_machine(after, *after_, before_);
  }
  return number_of(claim_.rule->form, before, after);
}

core::StepParts CellMetrics::other_code() const {
  const bool is_of_times = cell_metric_basis(claim_.rule->metric) == MetricBasis::kTime;
  if (!is_of_times || compares_kernels_ || before_ == nullptr || after_ == nullptr) return {};
  core::StepParts parts = parts_without_kernel({{after_, 1.0}, {before_, -1.0}});
  if (whole_ != nullptr) parts.merge(parts_without_kernel({{after_, 1.0}, {whole_, -1.0}}));
  return parts;
}

MeasuredNumber CellMetrics::different_losses(std::optional<LedgerReason>& reason) const {
  std::int64_t count = 0;
  MeasuredNumber number;
  for (const RunMeasure& run : after_->runs) {
    const RunMeasure* const other = completed_run(*before_, run.run.seed);
    if (!run.run.is_completed() || other == nullptr) continue;
    count += different_steps(evidence_.training_losses(*other), evidence_.training_losses(run));
    ++number.n;
  }
  if (number.n == 0) {
    reason = LedgerReason{.kind = LedgerReason::Kind::kNoSharedSeed};
    return number;
  }
  number.value = static_cast<double>(count);
  number.is_exact = true;  // bits are either equal or not: there is no error
  return number;
}

MeasuredNumber CellMetrics::time_to_target(std::optional<LedgerReason>& reason) const {
  const Summary losses = summarise(evidence_.values(*before_, "final_val_loss"));
  if (!losses.mean) return {};
  const auto seconds = [&](const CellMeasures& cell) {
    BySeed times;
    for (const RunMeasure& run : cell.runs) {
      const TimeToTarget time = reports::time_to_target(run.curve, *losses.mean);
      if (run.run.is_completed() && time.is_reached()) times[run.run.seed] = time.seconds;
    }
    return times;
  };
  const BySeed before = seconds(*before_), after = seconds(*after_);
  const auto missing = [](const CellMeasures& cell, const BySeed& times) {
    const auto completed =
        std::count_if(cell.runs.begin(), cell.runs.end(), [](const RunMeasure& run) { return run.run.is_completed(); });
    return completed - static_cast<std::ptrdiff_t>(times.size());
  };
  if (missing(*before_, before) > 0 || missing(*after_, after) > 0) {
    // A mean without the seeds that never reach it would flatter the arm.
    reason = LedgerReason{.kind = LedgerReason::Kind::kTargetMissed,
                          .before = missing(*before_, before),
                          .after = missing(*after_, after)};
    return {};
  }
  return number_of(claim_.rule->form, before, after);
}

MeasuredNumber CellMetrics::share_of_peak() const {
  BySeed shares;
  std::vector<double> rates;
  for (const OperationRepetitions& run : evidence_.repetitions(*operation_, "gflops"))
    rates.insert(rates.end(), run.after.begin(), run.after.end());
  for (const RunMeasure& run : after_->runs) {
    const std::optional<double> flops = evidence_.counter(run, "cost/flops_per_step");
    std::optional<double> peak = evidence_.counter(run, core::kGpuGflops);  // measured in the run, where it had a GPU
    if (!peak && !rates.empty()) peak = *std::max_element(rates.begin(), rates.end());
    if (!run.run.is_completed() || !flops || !run.step_ms || !peak) continue;
    shares[run.run.seed] = *flops / (*run.step_ms / kMsPerS) / (*peak * kGiga);
  }
  return number_of(claim_.rule->form, {}, shares);
}

/// Both arms over the swept factors, seed by seed. Where no run of either diverges, the sweep tells nothing of them.
MeasuredNumber CellMetrics::stable_rate(std::optional<LedgerReason>& reason) const {
  std::vector<StabilityArm> arms;
  for (const auto& [base, rates] : {std::pair(before_, &cells_.before_rates), std::pair(after_, &cells_.after_rates)}) {
    std::vector<CellMeasures> swept;
    if (base != nullptr) swept.push_back(*base);
    for (const ablations::ClaimCell& cell : *rates) {
      if (const CellMeasures* const measures = find(plan_, cell)) swept.push_back(*measures);
    }
    const std::optional<Stability> stability = stability_of(swept);
    arms.push_back(stability ? stability->arms.front() : StabilityArm());
  }
  if (!arms[0].points.empty() && arms[0].is_open && arms[1].is_open) {
    reason = LedgerReason{.kind = LedgerReason::Kind::kNothingDiverges, .limit = arms[0].points.back().factor};
    return {};
  }
  return number_of(claim_.rule->form, arms[0].stable_by_seed, arms[1].stable_by_seed);
}

MeasuredNumber CellMetrics::share_of_saved_time(std::optional<LedgerReason>& reason) const {
  const std::optional<PlanValues> values =
      evidence_.plan_values(ablations::RuleForm::kAfterOverBefore, plan_, *before_, *after_, "step_ms", whole_);
  if (!values) return {};
  MeasuredNumber number = share_in_plan(*values, kTimePriorDf);
  if (!number.value) {
    reason = LedgerReason{.kind = LedgerReason::Kind::kNothingSaved};
  } else if (!number.interval && !number.is_exact && number.n >= 2) {
    reason = LedgerReason{.kind = LedgerReason::Kind::kSavingUnproved};
  }
  return number;
}

/// At the end of a run the engine compares every parameter across its processes, and fails if one bit differs.
MeasuredNumber CellMetrics::parameter_difference() const {
  const CellMeasures* const cell = before_ != nullptr ? before_ : after_;
  BySeed differences;
  for (const RunMeasure& run : cell->runs) {
    if (run.run.is_completed()) differences[run.run.seed] = 0.0;
  }
  MeasuredNumber number = number_of(claim_.rule->form, differences, differences);
  number.is_exact = number.value.has_value();
  return number;
}

}  // namespace nanobench::reports
