#include "reports/claims/ledger.h"

#include <algorithm>
#include <cmath>

#include "ablations/claim_cells.h"
#include "ablations/claim_counters.h"
#include "ablations/resolve.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/hardware/gpu_report.h"
#include "reports/claims/cell_metrics.h"

namespace nanobench::reports {
namespace {

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
  using Kind = LedgerReason::Kind;

 public:
  Judge(const Catalogue& catalogue, const Claim& claim, const ClaimEvidence& evidence)
      : catalogue_(catalogue), claim_(claim), evidence_(evidence) {}

  LedgerEntry entry() {
    entry_.claim = &claim_;
    if (claim_.measure.kind == MeasureKind::kNone) {
      not_measurable({.kind = Kind::kByClaim, .what = claim_.measure.why});
      return std::move(entry_);
    }
    entry_.claimed = claim_.rule->claimed;
    entry_.published = ablations::known_value(catalogue_, claim_);
    switch (claim_.measure.kind) {
      case MeasureKind::kConfig: read_known(LedgerBasis::Kind::kConfiguration, "official"); break;
      case MeasureKind::kPublishedLog: read_known(LedgerBasis::Kind::kPublished, "as published"); break;
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

  void not_measurable(const LedgerReason& why) {
    entry_.verdict = LedgerVerdict::kNotMeasurable;
    entry_.reason = why;
  }

  void say_why() {
    if (entry_.verdict != LedgerVerdict::kInconclusive || entry_.reason) return;
    if (!entry_.measured.interval && !entry_.measured.is_exact) {
      entry_.reason = LedgerReason{.kind = Kind::kOneRun};
    } else {
      entry_.reason = LedgerReason{.kind = entry_.measured.interval ? Kind::kCrossesLimit : Kind::kBetween};
    }
  }

  void read_known(LedgerBasis::Kind basis, const char* scale) {
    entry_.basis = {.kind = basis};
    entry_.scale = scale;
    if (entry_.published) {
      entry_.measured = exact_number(*entry_.published);
    } else {
      not_measurable({.kind = Kind::kNotPublished});
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
    entry_.basis = {.kind = LedgerBasis::Kind::kCounted};
    entry_.scale = "official";
    try {
      const std::optional<double> before = counted(claim_.measure.before), after = counted(claim_.measure.after);
      if (!before || !after) return not_measurable({.kind = Kind::kNothingToCount});
      const double value = ablations::combined(claim_.rule->form, *before, *after);
      if (std::isnan(value)) return not_measurable({.kind = Kind::kCountOfZero});
      entry_.measured = exact_number(value);
    } catch (const core::Error& error) {
      rethrow_internal(error);
      not_measurable({.kind = Kind::kNotCountable, .what = error.what()});
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
      return not_measurable({.kind = Kind::kNotAtScale, .what = error.what(), .scale = evidence_.scale()});
    }
    const ClaimPlan* plan = evidence_.plan_of(judged_cells);
    if (plan == nullptr) {
      entry_.reason = LedgerReason{.kind = is_of_gpu(claim_) ? Kind::kUnmeasuredOnGpu : Kind::kUnmeasured};
      return;
    }
    if (cells.operation && knows_gpu_rate(*plan, cells))
      std::erase_if(judged_cells, [&](const ClaimCell& cell) { return cell.label == cells.operation->label; });
    if (explains_failure(*plan, judged_cells)) return;
    if (is_of_gpu(claim_) && !has_gpu(*plan, judged_cells)) not_measurable({.kind = Kind::kNeedsGpu});
    const CellMetrics metrics(evidence_, claim_, cells, *plan);
    entry_.measured = cells.operation && claim_.measure.kind == MeasureKind::kBenchmark
                          ? operation_number(*plan, *cells.operation)
                          : metrics.number(entry_.reason);
    if (entry_.basis.kind == LedgerBasis::Kind::kNone)
      entry_.basis = {.kind = LedgerBasis::Kind::kSeeds, .count = entry_.measured.n};
    if (entry_.verdict == LedgerVerdict::kNotMeasurable) return;
    if (const core::StepParts parts = metrics.other_code(); entry_.measured.value && !parts.empty()) {
      entry_.verdict = LedgerVerdict::kInconclusive;
      entry_.reason = LedgerReason{.kind = Kind::kOtherCode, .parts = parts};
    }
    if (!entry_.measured.value) {
      const bool is_unasked = !entry_.reason && !ablations::asked_metrics(claim_).empty();
      entry_.verdict = is_unasked ? LedgerVerdict::kNotMeasured : LedgerVerdict::kInconclusive;
      if (!entry_.reason) entry_.reason = LedgerReason{.kind = is_unasked ? Kind::kNotAsked : Kind::kNotReported};
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
      entry_.reason = LedgerReason{.kind = Kind::kNotRun, .cell = cell.label};
      for (const RunMeasure& run : measures.runs) {
        if (!run.run.result) continue;
        const core::RunOutcome outcome = run.run.result->outcome;
        entry_.reason = LedgerReason{
            .kind = Kind::kFailed, .what = run.run.result->message, .cell = cell.label, .outcome = outcome};
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
    entry_.basis = {.kind = is_counted_ ? LedgerBasis::Kind::kCounted : LedgerBasis::Kind::kRepetitions};
    if (!is_counted_) {
      entry_.basis.count = static_cast<std::int64_t>(repetitions);
      entry_.basis.runs = static_cast<std::int64_t>(runs.size());
    }
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
