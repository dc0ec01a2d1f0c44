#include "reports/claims/cell_metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "reports/comparison/code_paths.h"
#include "reports/stats/time_to_target.h"

namespace nanobench::reports {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMsPerS = 1e3;

/// Steps whose losses are not the same double.
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

bool is_time(const std::string& metric) {
  return metric != "final_val_loss" && metric != "final_val_loss_sd" && metric != "peak_bytes";
}

const CellMeasures* find(const ClaimPlan& plan, const std::optional<ablations::ClaimCell>& cell) {
  if (!cell) return nullptr;
  const auto found = plan.cells.find(cell->label);
  return found == plan.cells.end() ? nullptr : &found->second;
}

}  // namespace

CellMetrics::CellMetrics(const ClaimEvidence& evidence, const ablations::Claim& claim,
                         const ablations::ClaimCells& cells, const ClaimPlan& plan)
    : evidence_(evidence),
      claim_(claim),
      before_(find(plan, cells.before)),
      after_(find(plan, cells.after)),
      operation_(find(plan, cells.operation)) {}

MeasuredNumber CellMetrics::number(std::string& reason) const {
  const std::string& metric = claim_.rule->metric;
  if (metric == "different_losses") return different_losses(reason);
  if (metric == "time_to_target_s") return time_to_target(reason);
  if (metric == "share_of_peak") return share_of_peak();
  if (metric == "rank_parameter_difference") return parameter_difference();
  BySeed before = before_ != nullptr ? evidence_.values(*before_, metric) : BySeed();
  BySeed after = after_ != nullptr ? evidence_.values(*after_, metric) : BySeed();
  if (metric == "final_val_loss_sd") return sd_ratio(before, after);
  if (is_time(metric) && before_ != nullptr && after_ != nullptr) {
    before = on_one_machine(before, *before_, after_);
    after = on_one_machine(after, *after_, before_);
  }
  return number_of(claim_.rule->form, before, after);
}

std::string CellMetrics::doubt() const {
  const std::string& metric = claim_.rule->metric;
  const std::set<std::string> rates = {"tokens_per_second", "train_seconds", "time_to_target_s", "share_of_peak"};
  const bool is_of_times = metric.ends_with("_ms") || rates.contains(metric);
  if (!is_of_times || before_ == nullptr || after_ == nullptr) return "";
  const core::StepParts parts = parts_without_kernel({{after_, 1.0}, {before_, -1.0}});
  return parts.empty() ? "" : different_code(parts);
}

MeasuredNumber CellMetrics::different_losses(std::string& reason) const {
  std::int64_t count = 0;
  MeasuredNumber number;
  for (const RunMeasure& run : after_->runs) {
    const RunMeasure* const other = completed_run(*before_, run.run.seed);
    if (!run.run.is_completed() || other == nullptr) continue;
    count += different_steps(evidence_.training_losses(*other), evidence_.training_losses(run));
    ++number.n;
  }
  if (number.n == 0) {
    reason = "no seed has runs of both arms";
    return number;
  }
  number.value = static_cast<double>(count);
  number.is_exact = true;  // the same bits are the same, and one that differs is a difference
  return number;
}

MeasuredNumber CellMetrics::time_to_target(std::string& reason) const {
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
    // Seeds that never arrive would be left out of the mean: that is no measurement of the others.
    reason = "not all runs reach the loss that the earlier record ends with on average: " +
             std::to_string(missing(*before_, before)) + " before and " + std::to_string(missing(*after_, after)) +
             " after do not";
    return {};
  }
  return number_of(claim_.rule->form, before, after);
}

MeasuredNumber CellMetrics::share_of_peak() const {
  BySeed shares;
  std::vector<double> rates;
  for (const OperationRepetitions& run : evidence_.repetitions(*operation_, "gflops"))
    rates.insert(rates.end(), run.after.begin(), run.after.end());
  if (rates.empty()) return {};
  const double peak = *std::max_element(rates.begin(), rates.end());
  for (const RunMeasure& run : after_->runs) {
    const std::optional<double> flops = evidence_.counter(run, "cost/flops_per_step");
    if (!run.run.is_completed() || !flops || !run.step_ms) continue;
    shares[run.run.seed] = *flops / (*run.step_ms / kMsPerS) / (peak * kGiga);
  }
  return number_of(claim_.rule->form, {}, shares);
}

/// At the end of a run the engine compares every parameter of its processes, and fails where one bit differs.
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
