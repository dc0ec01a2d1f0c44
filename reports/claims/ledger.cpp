#include "reports/claims/ledger.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ablations/claim_cells.h"
#include "ablations/claim_counters.h"
#include "ablations/resolve.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/hardware/gpu_report.h"
#include "reports/comparison/conditions.h"
#include "reports/comparison/remark_text.h"
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

bool is_of_gpu(const ablations::Claim& claim) {
  const ablations::ClaimMetric* const metric = ablations::find_claim_metric(claim.measure.kind, claim.rule->metric);
  return metric != nullptr && metric->is_of_gpu;
}

const CellMeasures* find(const ClaimPlan& plan, const std::optional<ablations::ClaimCell>& cell) {
  if (!cell) return nullptr;
  const auto found = plan.cells.find(cell->label);
  return found == plan.cells.end() ? nullptr : &found->second;
}

class CellMetrics {
 public:
  /// Keeps references. The plan has all cells of the claim.
  CellMetrics(const ClaimEvidence& evidence, const ablations::Claim& claim, const ablations::ClaimCells& cells,
              const ClaimPlan& plan);

  /// `reason` says why there is no value, or no interval, unless no run reports the metric or the seeds are too few.
  MeasuredNumber number(std::string& reason) const;

  /// Why a time measures the code rather than the claim; empty if it does not.
  std::string doubt() const;

 private:
  MeasuredNumber different_losses(std::string& reason) const;
  MeasuredNumber time_to_target(std::string& reason) const;
  MeasuredNumber share_of_peak() const;
  MeasuredNumber share_of_saved_time(std::string& reason) const;
  MeasuredNumber parameter_difference() const;
  MeasuredNumber stable_rate(std::string& reason) const;

  const ClaimEvidence& evidence_;
  const ablations::Claim& claim_;
  const ablations::ClaimCells& cells_;
  const ClaimPlan& plan_;
  const CellMeasures* before_ = nullptr;
  const CellMeasures* after_ = nullptr;
  const CellMeasures* whole_ = nullptr;
  const CellMeasures* operation_ = nullptr;
  const bool compares_kernels_;
};

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

MeasuredNumber CellMetrics::number(std::string& reason) const {
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

std::string CellMetrics::doubt() const {
  const bool is_of_times = cell_metric_basis(claim_.rule->metric) == MetricBasis::kTime;
  if (!is_of_times || compares_kernels_ || before_ == nullptr || after_ == nullptr) return "";
  core::StepParts parts = parts_without_kernel({{after_, 1.0}, {before_, -1.0}});
  if (whole_ != nullptr) parts.merge(parts_without_kernel({{after_, 1.0}, {whole_, -1.0}}));
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
  number.is_exact = true;  // bits are either equal or not: there is no error
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
    // A mean without the seeds that never reach it would flatter the arm.
    reason =
        "not all runs reach the mean final loss of the earlier record: " + std::to_string(missing(*before_, before)) +
        " before and " + std::to_string(missing(*after_, after)) + " after do not";
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
MeasuredNumber CellMetrics::stable_rate(std::string& reason) const {
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
    reason = "no run of either arm diverges at any factor up to " + format_significant(arms[0].points.back().factor, 3);
    return {};
  }
  return number_of(claim_.rule->form, arms[0].stable_by_seed, arms[1].stable_by_seed);
}

MeasuredNumber CellMetrics::share_of_saved_time(std::string& reason) const {
  const std::optional<PlanValues> values =
      evidence_.plan_values(ablations::RuleForm::kAfterOverBefore, plan_, *before_, *after_, "step_ms", whole_);
  if (!values) return {};
  MeasuredNumber number = share_in_plan(*values, kTimePriorDf);
  if (!number.value) {
    reason = "the whole change saves no time here, so no part of it has a share";
  } else if (!number.interval && !number.is_exact && number.n >= 2) {
    reason = "that the whole change saves time is not proven here, so a part's share could be anything";
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

using ablations::Catalogue;
using ablations::Claim;
using ablations::ClaimCell;
using ablations::ClaimCells;
using ablations::MeasureArm;
using ablations::MeasureKind;

MeasuredNumber exact_number(double value) {
  MeasuredNumber number;
  number.value = value;
  number.is_exact = true;
  number.n = 1;
  return number;
}

/// "rows 768 columns 3072"
template <class Shapes>
std::string sizes_text(const Shapes& shapes) {
  std::vector<std::string> words;
  for (const auto& [shape, size] : shapes) words.push_back(shape + " " + std::to_string(size));
  return joined(words, " ");
}

class Judge {
 public:
  Judge(const Catalogue& catalogue, const Claim& claim, const ClaimEvidence& evidence)
      : catalogue_(catalogue), claim_(claim), evidence_(evidence) {}

  LedgerEntry entry() {
    entry_.claim = &claim_;
    if (claim_.measure.kind == MeasureKind::kNone) {
      not_measurable(claim_.measure.why);
      return std::move(entry_);
    }
    entry_.claimed = claim_.rule->claimed;
    entry_.published = ablations::known_value(catalogue_, claim_);
    switch (claim_.measure.kind) {
      case MeasureKind::kConfig: read_known("read from the configuration", "official"); break;
      case MeasureKind::kPublishedLog: read_known("read from published figures", "as published"); break;
      case MeasureKind::kCounter: count(); break;
      default: measure(); break;
    }
    if (entry_.measured.value && entry_.verdict == LedgerVerdict::kNotMeasured)
      entry_.verdict = judged(*claim_.rule, entry_.measured);
    entry_.evidence = evidence_kind();
    entry_.first_record = ablations::first_record_of(catalogue_, claim_);
    say_why();
    return std::move(entry_);
  }

 private:
  EvidenceKind evidence_kind() const {
    switch (claim_.measure.kind) {
      case MeasureKind::kConfig:
      case MeasureKind::kPublishedLog: return EvidenceKind::kRead;
      case MeasureKind::kCounter: return EvidenceKind::kCounted;
      case MeasureKind::kCells:
      case MeasureKind::kBenchmark:
      case MeasureKind::kNone: break;
    }
    return is_counted_ ? EvidenceKind::kCounted : EvidenceKind::kMeasured;
  }

  void not_measurable(const std::string& why) {
    entry_.verdict = LedgerVerdict::kNotMeasurable;
    entry_.reason = why;
  }

  void say_why() {
    if (entry_.verdict != LedgerVerdict::kInconclusive || !entry_.reason.empty()) return;
    if (!entry_.measured.interval && !entry_.measured.is_exact) {
      entry_.reason = "one run gives no interval; more seeds do";
    } else if (entry_.measured.interval) {
      entry_.reason = "the interval crosses a limit of the rule; more seeds make it narrower";
    } else {
      entry_.reason = "the number lies between support and contradiction";
    }
  }

  void read_known(const char* by, const char* scale) {
    entry_.by = by;
    entry_.scale = scale;
    if (entry_.published) {
      entry_.measured = exact_number(*entry_.published);
    } else {
      not_measurable("the published sources do not give the number.");
    }
    if (claim_.measure.kind == MeasureKind::kConfig) entry_.published = claim_.published.value;
  }

  std::optional<double> counted(const std::optional<MeasureArm>& arm) const {
    if (!arm) return 0.0;
    ablations::ResolveRequest request;
    request.record = arm->record;
    request.settings = arm->features;
    return ablations::counted(claim_.rule->metric, ablations::resolve(catalogue_, request).config);
  }

  void count() {
    if (ablations::needs_runs(claim_)) return measure();
    is_counted_ = true;
    entry_.by = "counted";
    entry_.scale = "official";
    try {
      const std::optional<double> before = counted(claim_.measure.before), after = counted(claim_.measure.after);
      if (!before || !after) return not_measurable("the configuration has nothing to count.");
      const double value = ablations::combined(claim_.rule->form, *before, *after);
      if (std::isnan(value)) return not_measurable("the count before is 0, so there is no ratio.");
      entry_.measured = exact_number(value);
    } catch (const core::Error& error) {
      rethrow_internal(error);
      not_measurable(error.what());
    }
  }

  /// Throws Error when an arm does not exist at this scale.
  void resolve_all(const std::vector<ClaimCell>& cells, bool compares_kernels) const {
    std::vector<core::TrainConfig> configs;
    for (const ClaimCell& cell : cells) {
      if (cell.operation) continue;
      ablations::ResolveRequest request;
      request.record = cell.record;
      request.settings = cell.features;
      request.scale = evidence_.scale();
      request.processes = cell.processes;
      request.patch = ablations::rate_patch(cell);
      configs.push_back(ablations::resolve(catalogue_, request).config);
    }
    const bool is_swept = cells.size() >= 2 && (cells[0].rate_factor != 1.0 || cells[1].rate_factor != 1.0);
    if (configs.size() >= 2 && !compares_kernels && !is_swept) ablations::require_difference(configs[0], configs[1]);
  }

  void measure() {
    const ClaimCells cells = ablations::cells_of(catalogue_, claim_);
    std::vector<ClaimCell> judged_cells = ablations::all_cells(cells);
    judged_cells.resize(judged_cells.size() - cells.also.size());
    entry_.scale = claim_.measure.kind == MeasureKind::kBenchmark ? sizes() : evidence_.scale();
    try {
      resolve_all(judged_cells, ablations::compares_kernels(cells));
    } catch (const core::Error& error) {
      rethrow_internal(error);
      return not_measurable("at scale " + evidence_.scale() + ": " + error.what());
    }
    const ClaimPlan* plan = evidence_.plan_of(judged_cells);
    if (plan == nullptr) {
      entry_.reason = std::string("not measured yet: nanobench claims --measure ") +
                      (is_of_gpu(claim_) ? "--device cuda " : "") + "does it";
      return;
    }
    if (cells.operation && knows_gpu_rate(*plan, cells))
      std::erase_if(judged_cells, [&](const ClaimCell& cell) { return cell.label == cells.operation->label; });
    if (explains_failure(*plan, judged_cells)) return;
    if (is_of_gpu(claim_) && !has_gpu(*plan, judged_cells))
      not_measurable("it is a GPU's number, and these runs were on a processor.");
    const CellMetrics metrics(evidence_, claim_, cells, *plan);
    entry_.measured = cells.operation && claim_.measure.kind == MeasureKind::kBenchmark
                          ? operation_number(*plan, *cells.operation)
                          : metrics.number(entry_.reason);
    if (entry_.by.empty()) entry_.by = nanobench::counted(entry_.measured.n, "seed");
    if (entry_.verdict == LedgerVerdict::kNotMeasurable) return;
    if (const std::string doubt = metrics.doubt(); entry_.measured.value && !doubt.empty()) {
      entry_.verdict = LedgerVerdict::kInconclusive;
      entry_.reason = doubt;
    }
    if (!entry_.measured.value) {
      const bool is_unasked = entry_.reason.empty() && !ablations::asked_metrics(claim_).empty();
      entry_.verdict = is_unasked ? LedgerVerdict::kNotMeasured : LedgerVerdict::kInconclusive;
      if (is_unasked) entry_.reason = "its runs were not asked for the metric: nanobench claims --measure does it";
      if (entry_.reason.empty()) entry_.reason = "no run reports the metric";
    }
    for (const ClaimCell& cell : cells.also) add_side_number(cell);
  }

  /// Whether the runs measured the rate of their GPU's products, so that no operation need be.
  bool knows_gpu_rate(const ClaimPlan& plan, const ClaimCells& cells) const {
    const auto cell = cells.after ? plan.cells.find(cells.after->label) : plan.cells.end();
    return cell != plan.cells.end() &&
           std::any_of(cell->second.runs.begin(), cell->second.runs.end(), [&](const RunMeasure& run) {
             return run.run.is_completed() && evidence_.counter(run, core::kGpuGflops).has_value();
           });
  }

  static bool has_gpu(const ClaimPlan& plan, const std::vector<ClaimCell>& cells) {
    return std::any_of(cells.begin(), cells.end(), [&](const ClaimCell& cell) {
      const std::vector<RunMeasure>& runs = plan.cells.at(cell.label).runs;
      return std::any_of(runs.begin(), runs.end(),
                         [](const RunMeasure& run) { return run.run.device && run.run.device->is_gpu; });
    });
  }

  /// Explains a cell without a completed run, and whether it can be measured here at all.
  bool explains_failure(const ClaimPlan& plan, const std::vector<ClaimCell>& cells) {
    for (const ClaimCell& cell : cells) {
      const CellMeasures& measures = plan.cells.at(cell.label);
      const bool may_diverge = claim_.rule->metric == "stable_rate";
      const auto has_ended = [&](const RunMeasure& run) {
        return run.run.is_completed() || (may_diverge && run.run.is_evidence());
      };
      if (std::any_of(measures.runs.begin(), measures.runs.end(), has_ended)) continue;
      entry_.reason = cell.label + " has not run yet: nanobench claims --measure continues";
      for (const RunMeasure& run : measures.runs) {
        if (!run.run.result) continue;
        const core::RunOutcome outcome = run.run.result->outcome;
        entry_.reason = cell.label + " " + enum_name(outcome) + ": " + run.run.result->message;
        if (outcome == core::RunOutcome::kUnsupported || outcome == core::RunOutcome::kOutOfMemory)
          entry_.verdict = LedgerVerdict::kNotMeasurable;
      }
      return true;
    }
    return false;
  }

  std::string sizes() const {
    const std::optional<MeasureArm>& arm = claim_.measure.after ? claim_.measure.after : claim_.measure.before;
    return claim_.measure.op + (arm->shapes.empty() ? "" : " ") + sizes_text(arm->shapes);
  }

  MeasuredNumber operation_number(const ClaimPlan& plan, const ClaimCell& cell) {
    const std::vector<OperationRepetitions> runs =
        evidence_.repetitions(plan.cells.at(cell.label), cell.operation->metric);
    MeasuredNumber number = number_of(claim_.rule->form, runs);
    if (cell.is_exact && number.value) number.is_exact = true;
    std::size_t repetitions = 0;
    for (const OperationRepetitions& run : runs) repetitions += std::max(run.before.size(), run.after.size());
    is_counted_ = cell.is_exact;
    entry_.by = is_counted_ ? "counted"
                            : nanobench::counted(static_cast<std::int64_t>(repetitions), "repetition") + " in " +
                                  nanobench::counted(static_cast<std::int64_t>(runs.size()), "run");
    return number;
  }

  void add_side_number(const ClaimCell& cell) {
    const ClaimPlan* plan = evidence_.plan_of({cell});
    if (plan == nullptr) return;
    const std::string& metric = cell.operation->metric;
    const std::vector<OperationRepetitions> runs = evidence_.repetitions(plan->cells.at(cell.label), metric);
    const std::string sizes = sizes_text(cell.operation->arms.back().shapes);
    if (metric == claim_.rule->metric) {
      entry_.also.push_back(
          {sizes + ": " + metric + " " + enum_name(claim_.rule->form), number_of(claim_.rule->form, runs)});
      return;
    }
    // Another quantity is reported for each arm, because a ratio is useless if it is 0 in one of them.
    for (const auto& [form, arm] :
         {std::pair(ablations::RuleForm::kBefore, "before"), std::pair(ablations::RuleForm::kAfter, "after")})
      entry_.also.push_back({sizes + ": " + metric + " " + arm, number_of(form, runs)});
  }

  const Catalogue& catalogue_;
  const Claim& claim_;
  const ClaimEvidence& evidence_;
  LedgerEntry entry_;
  bool is_counted_ = false;  ///< the number was counted, so that no seed or repetition changes it
};

}  // namespace

std::string word_of(LedgerVerdict verdict) {
  std::string word = enum_name(verdict);
  std::replace(word.begin(), word.end(), ' ', '_');
  return word;
}

LedgerVerdict judged(const ablations::ClaimRule& rule, const MeasuredNumber& number) {
  if (!number.value || (!number.interval && !number.is_exact)) return LedgerVerdict::kInconclusive;
  const ablations::ClaimVerdict verdict = number.interval
                                              ? ablations::evaluate(rule, number.interval->low, number.interval->high)
                                              : ablations::evaluate(rule, *number.value);
  switch (verdict) {
    case ablations::ClaimVerdict::kSupported: return LedgerVerdict::kSupported;
    case ablations::ClaimVerdict::kContradicted: return LedgerVerdict::kContradicted;
    case ablations::ClaimVerdict::kInconclusive: break;
  }
  return LedgerVerdict::kInconclusive;
}

LedgerEntry judge(const Catalogue& catalogue, const Claim& claim, const ClaimEvidence& evidence) {
  return Judge(catalogue, claim, evidence).entry();
}

std::vector<LedgerEntry> make_ledger(const Catalogue& catalogue, const std::vector<const Claim*>& claims,
                                     const ClaimEvidence& evidence) {
  std::vector<LedgerEntry> entries;
  for (const Claim* claim : claims) entries.push_back(judge(catalogue, *claim, evidence));
  const auto place = [](const LedgerEntry& entry) {
    const bool has_number = entry.verdict == LedgerVerdict::kSupported ||
                            entry.verdict == LedgerVerdict::kContradicted ||
                            entry.verdict == LedgerVerdict::kInconclusive;
    return has_number ? static_cast<int>(entry.evidence)
                      : static_cast<int>(kEvidenceKinds.size()) + static_cast<int>(entry.verdict);
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const LedgerEntry& a, const LedgerEntry& b) { return place(a) < place(b); });
  return entries;
}

}  // namespace nanobench::reports
