#include "reports/claims/claim_evidence.h"

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "core/protocol/operation_spec.h"
#include "reports/comparison/bucket_losses.h"
#include "reports/comparison/health.h"
#include "reports/stats/estimate.h"
#include "results/metric.h"

namespace nanobench::reports {

namespace {

using ablations::RuleForm;

constexpr double kLevel = 0.95;
constexpr std::size_t kMinRuns = 3;  // with fewer, the spread over runs is hardly known

bool is_ratio(RuleForm form) {
  return form == RuleForm::kAfterOverBefore || form == RuleForm::kBeforeOverAfter;
}

/// The number of one pair on the scale on which it is averaged: ratios as logarithms.
std::optional<double> on_mean_scale(RuleForm form, double before, double after) {
  if (is_ratio(form) && !(before > 0.0 && after > 0.0)) {
    if (before == 0.0 && after == 0.0) return 0.0;  // zero before and after: no change
    return std::nullopt;
  }
  const double value = ablations::combined(form, before, after);
  if (!std::isfinite(value)) return std::nullopt;
  return is_ratio(form) ? std::log(value) : value;
}

MeasuredNumber mean_of_numbers(RuleForm form, const std::vector<double>& numbers) {
  MeasuredNumber number;
  number.n = static_cast<int>(numbers.size());
  const auto back = [form](double value) { return is_ratio(form) ? std::exp(value) : value; };
  const std::optional<double> mean = mean_of(numbers);
  if (!mean) return number;
  number.value = back(*mean);
  const std::optional<Moments> moments = moments_of(numbers);
  if (!moments) return number;
  if (!moments->has_spread()) {
    number.is_exact = true;
    return number;
  }
  const ConfidenceInterval interval = interval_of(estimate_of(*moments), kLevel);
  number.interval = ConfidenceInterval{back(interval.low), back(interval.high), kLevel};
  return number;
}

std::optional<double> sd_of(const BySeed& values) {
  return summarise(values).sd;
}

/// Adds one number per run, or all of them.
void add_numbers(RuleForm form, const OperationRepetitions& run, bool is_median, std::vector<double>& numbers) {
  std::vector<double> own;
  const std::size_t count = std::max(run.before.size(), run.after.size());
  for (std::size_t i = 0; i < count; ++i) {
    const double before = i < run.before.size() ? run.before[i] : 0.0;
    const double after = i < run.after.size() ? run.after[i] : 0.0;
    if (const std::optional<double> number = on_mean_scale(form, before, after)) own.push_back(*number);
  }
  if (!is_median) {
    numbers.insert(numbers.end(), own.begin(), own.end());
  } else if (const std::optional<double> middle = median(own)) {
    numbers.push_back(*middle);
  }
}

}  // namespace

MeasuredNumber number_of(RuleForm form, const BySeed& before, const BySeed& after) {
  const bool needs_before = form != RuleForm::kAfter, needs_after = form != RuleForm::kBefore;
  std::vector<double> numbers;
  for (const auto& [seed, first] : needs_after ? after : before) {
    const auto other = before.find(seed);
    if (needs_before && needs_after && other == before.end()) continue;
    const double earlier = needs_before ? (needs_after ? other->second : first) : 0.0;
    if (const auto number = on_mean_scale(form, earlier, needs_after ? first : 0.0)) numbers.push_back(*number);
  }
  return mean_of_numbers(form, numbers);
}

MeasuredNumber number_in_plan(RuleForm form, const PlanValues& values, double prior_df) {
  MeasuredNumber number;
  const double sign = form == RuleForm::kBeforeOverAfter ? -1.0 : 1.0;
  Contrast contrast(values.table.size());
  contrast[values.after] += sign;
  contrast[values.before] -= sign;
  const auto back = [form](double value) { return is_ratio(form) ? std::exp(value) : value; };
  const std::optional<ContrastFit> fit = PlanModel(values.table, {.prior_df = prior_df}).fit(contrast);
  if (!fit) return number;
  number.n = fit->n;
  number.value = back(fit->value);
  number.is_exact = fit->is_exact;
  if (fit->n < 2 || !fit->estimate) return number;
  const ConfidenceInterval interval = interval_of(*fit->estimate, kLevel);
  number.interval = ConfidenceInterval{back(interval.low), back(interval.high), kLevel};
  return number;
}

namespace {

double variance_of(const ContrastFit& fit) {
  return fit.estimate->se * fit.estimate->se;
}

/// Fieller's interval of part / whole; nullopt if it is not bounded. `rest` is part - whole.
std::optional<ConfidenceInterval> ratio_interval(const ContrastFit& part, const ContrastFit& whole,
                                                 const ContrastFit& rest) {
  const double df = std::min({part.estimate->df, whole.estimate->df, rest.estimate->df});
  const double t =
      boost::math::quantile(complement(boost::math::students_t_distribution<double>(df), (1.0 - kLevel) / 2.0));
  const double of_part = t * t * variance_of(part), of_whole = t * t * variance_of(whole);
  const double covariance = (of_part + of_whole - t * t * variance_of(rest)) / 2.0;
  const double a = whole.value * whole.value - of_whole;
  const double b = part.value * whole.value - covariance;
  const double c = part.value * part.value - of_part;
  const double root = b * b - a * c;
  if (!(a > 0.0) || !(root >= 0.0)) return std::nullopt;
  return ConfidenceInterval{(b - std::sqrt(root)) / a, (b + std::sqrt(root)) / a, kLevel};
}

}  // namespace

MeasuredNumber share_in_plan(const PlanValues& values, double prior_df) {
  MeasuredNumber number;
  const PlanModel model(values.table, {.prior_df = prior_df});
  const auto difference = [&](std::size_t from, std::size_t to) {
    Contrast contrast(values.table.size());
    contrast[from] += 1.0;
    contrast[to] -= 1.0;
    return model.fit(contrast);
  };
  const std::optional<ContrastFit> part = difference(values.before, values.after);
  const std::optional<ContrastFit> whole = difference(values.whole, values.after);
  const std::optional<ContrastFit> rest = difference(values.before, values.whole);
  if (!part || !whole || !rest || !(whole->value > 0.0)) return number;
  number.n = std::min(part->n, whole->n);
  number.value = part->value / whole->value;
  number.is_exact = part->is_exact && whole->is_exact;
  if (number.n >= 2 && part->estimate && whole->estimate && rest->estimate)
    number.interval = ratio_interval(*part, *whole, *rest);
  return number;
}

MeasuredNumber sd_ratio(const BySeed& before, const BySeed& after) {
  MeasuredNumber number;
  number.n = static_cast<int>(std::min(before.size(), after.size()));
  const std::optional<double> first = sd_of(before), second = sd_of(after);
  if (!first || !second || !(*first > 0.0) || !(*second > 0.0)) return number;
  number.value = *second / *first;
  const boost::math::fisher_f_distribution<double> f(static_cast<double>(after.size() - 1),
                                                     static_cast<double>(before.size() - 1));
  const double tail = (1.0 - kLevel) / 2.0;
  number.interval = ConfidenceInterval{*number.value / std::sqrt(boost::math::quantile(complement(f, tail))),
                                       *number.value / std::sqrt(boost::math::quantile(f, tail)), kLevel};
  return number;
}

MeasuredNumber number_of(RuleForm form, const std::vector<OperationRepetitions>& runs) {
  std::vector<double> numbers;
  for (const OperationRepetitions& run : runs) add_numbers(form, run, runs.size() >= kMinRuns, numbers);
  return mean_of_numbers(form, numbers);
}

namespace {

constexpr const char* kDefaultScale = "nano";

/// A run that diverges is an answer too, where rates are swept.
bool has_ended(const CellMeasures& cell, bool may_diverge) {
  return std::any_of(cell.runs.begin(), cell.runs.end(), [&](const RunMeasure& run) {
    return run.run.is_completed() || (may_diverge && run.run.is_evidence());
  });
}

bool has_cells(const ClaimPlan& plan, const std::vector<ablations::ClaimCell>& cells, bool needs_runs) {
  return std::all_of(cells.begin(), cells.end(), [&](const ablations::ClaimCell& cell) {
    const auto found = plan.cells.find(cell.label);
    return found != plan.cells.end() && (!needs_runs || has_ended(found->second, cell.rate_factor != 1.0));
  });
}

constexpr const char* kLossAtLongPositions = "loss_at_long_positions";

/// Over the last quarter of the run's targets by their position.
std::optional<double> loss_at_long_positions(const results::Store& store, std::int64_t run_id) {
  const std::optional<BucketLosses> losses = read_buckets(store, run_id, core::AskedMetric::kLossAtPosition);
  const std::optional<BucketRange> range = losses ? last_quarter(losses->counts) : std::nullopt;
  return range ? losses->mean(*range) : std::nullopt;
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

ablations::MetricBasis cell_metric_basis(const std::string& metric) {
  const ablations::ClaimMetric* const found = ablations::find_claim_metric(ablations::MeasureKind::kCells, metric);
  return found == nullptr ? ablations::MetricBasis::kOther : found->basis;
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
    if (metric == kLossAtLongPositions) value = loss_at_long_positions(*store_, run.run.id);
    if (metric == "gradient_flow") value = health_mean(*store_, run.run.id, results::kGradientFlow);
    if (!value) value = counted_value(run, metric);
    if (value) values[run.run.seed] = *value;
  }
  return values;
}

std::optional<PlanValues> ClaimEvidence::plan_values(RuleForm form, const ClaimPlan& plan, const CellMeasures& before,
                                                     const CellMeasures& after, const std::string& metric,
                                                     const CellMeasures* whole) const {
  if (!is_ratio(form) && form != RuleForm::kAfterMinusBefore) return std::nullopt;
  const bool is_within_machine = is_of_machine(cell_metric_basis(metric));
  PlanValues result;
  for (const auto& [label, cell] : plan.cells) {
    if (&cell == &before) result.before = result.table.size();
    if (&cell == &after) result.after = result.table.size();
    if (&cell == whole) result.whole = result.table.size();
    auto& row = result.table.emplace_back();
    const BySeed by_seed = values(cell, metric);
    for (const RunMeasure& reference : after.runs) {
      std::optional<double>& entry = row.emplace_back();
      const auto found = by_seed.find(reference.run.seed);
      const RunMeasure* const run = completed_run(cell, reference.run.seed);
      if (found == by_seed.end() || run == nullptr) continue;
      if (is_within_machine && !share_machine(*run, reference)) continue;
      if (is_ratio(form) && !(found->second > 0.0)) return std::nullopt;
      entry = is_ratio(form) ? std::log(found->second) : found->second;
    }
  }
  return result;
}

/// A metric that a run reports as a counter, or as two of them.
std::optional<double> ClaimEvidence::counted_value(const RunMeasure& run, const std::string& metric) const {
  struct Source {
    const char* counter;
    const char* over;
  };
  static const std::map<std::string, Source> sources = {
      {"all_gather_ms", {"communication/ms_per_step/all_gather", nullptr}},
      {"reserved_over_allocated", {"gpu/peak_reserved_bytes", "gpu/peak_allocated_bytes"}},
      {"gpu_utilization_percent", {"gpu/utilization_percent/median", nullptr}},
      {"gpu_pcie_mb_per_s", {"gpu/pcie_received_mb_per_s/median", nullptr}}};
  if (metric == "gpu_launches") {
    const std::optional<double> kernels = counter(run, "gpu/calls_per_step/launches");
    const std::optional<double> graphs = counter(run, "gpu/calls_per_step/graph_launches");
    return kernels ? std::optional(*kernels + graphs.value_or(0.0)) : std::nullopt;
  }
  const auto source = sources.find(metric);
  if (source == sources.end()) return std::nullopt;
  const std::optional<double> value = counter(run, source->second.counter);
  if (!value || source->second.over == nullptr) return value;
  const std::optional<double> base = counter(run, source->second.over);
  return base && *base > 0.0 ? std::optional(*value / *base) : std::nullopt;
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
