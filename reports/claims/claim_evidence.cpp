#include "reports/claims/claim_evidence.h"

#include <algorithm>

#include "core/protocol/operation_spec.h"
#include "results/metric.h"

namespace nanobench::reports {
namespace {

constexpr const char* kDefaultScale = "nano";

bool is_completed(const CellMeasures& cell) {
  return std::any_of(cell.runs.begin(), cell.runs.end(), [](const RunMeasure& run) { return run.run.is_completed(); });
}

bool has_cells(const ClaimPlan& plan, const std::vector<ablations::ClaimCell>& cells, bool needs_runs) {
  return std::all_of(cells.begin(), cells.end(), [&](const ablations::ClaimCell& cell) {
    const auto found = plan.cells.find(cell.label);
    return found != plan.cells.end() && (!needs_runs || is_completed(found->second));
  });
}

std::optional<double> value_of(const RunMeasure& run, const std::string& metric) {
  if (metric == "step_ms") return run.step_ms;
  if (metric == "tokens_per_second") return run.tokens_per_s;
  if (metric == "peak_bytes") return run.peak_bytes;
  if (metric == "final_val_loss" || metric == "final_val_loss_sd") return run.val_loss;
  return std::nullopt;
}

}  // namespace

ClaimEvidence::ClaimEvidence(const results::Store& store, const std::optional<std::string>& scale)
    : store_(&store), scale_(scale.value_or("")) {
  std::vector<results::PlanRecord> plans = store.plans();
  std::stable_sort(plans.begin(), plans.end(),
                   [](const auto& a, const auto& b) { return a.created_at > b.created_at; });
  for (results::PlanRecord& plan : plans) {
    if (plan.design != results::Design::kClaims) continue;
    if (scale_.empty()) scale_ = plan.scale;
    if (plan.scale != scale_) continue;
    ClaimPlan read;
    for (CellMeasures& cell : read_cells(store, plan, {})) {
      const std::string label = cell.cell.label;
      read.cells.emplace(label, std::move(cell));
    }
    read.plan = std::move(plan);
    plans_.push_back(std::move(read));
  }
  if (scale_.empty()) scale_ = kDefaultScale;
}

const ClaimPlan* ClaimEvidence::plan_of(const std::vector<ablations::ClaimCell>& cells) const {
  for (const bool needs_runs : {true, false}) {
    for (const ClaimPlan& plan : plans_) {
      if (has_cells(plan, cells, needs_runs)) return &plan;
    }
  }
  return nullptr;
}

BySeed ClaimEvidence::values(const CellMeasures& cell, const std::string& metric) const {
  BySeed values;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.is_completed()) continue;
    std::optional<double> value = value_of(run, metric);
    if (metric == "phase_data_ms" || metric == "phase_communication_ms") {
      const std::string phase = metric == "phase_data_ms" ? "data" : "communication";
      const std::map<std::string, double> phases = store_->phase_means(run.run.id);
      if (const auto found = phases.find(phase); found != phases.end()) value = found->second;
    }
    if (value) values[run.run.seed] = *value;
  }
  return values;
}

std::vector<results::Sample> ClaimEvidence::training_losses(const RunMeasure& run) const {
  return store_->samples(run.run.id, results::kTrainLoss);
}

std::optional<double> ClaimEvidence::counter(const RunMeasure& run, const std::string& name) const {
  const std::vector<results::Sample> samples = store_->samples(run.run.id, results::kCounterPrefix + name);
  if (samples.empty()) return std::nullopt;
  double sum = 0.0;
  for (const results::Sample& sample : samples) sum += sample.value;
  return sum / static_cast<double>(samples.size());
}

std::vector<OperationRepetitions> ClaimEvidence::repetitions(const CellMeasures& cell,
                                                             const std::string& metric) const {
  std::vector<OperationRepetitions> runs;
  const auto values = [&](std::int64_t run, const char* arm) {
    std::vector<double> numbers;
    const std::string name = results::kCounterPrefix + core::operation_counter(arm, metric);
    for (const results::Sample& sample : store_->samples(run, name)) numbers.push_back(sample.value);
    return numbers;
  };
  for (const RunMeasure& run : cell.runs) {
    if (run.run.is_completed()) runs.push_back({values(run.run.id, "before"), values(run.run.id, "after")});
  }
  return runs;
}

}  // namespace nanobench::reports
