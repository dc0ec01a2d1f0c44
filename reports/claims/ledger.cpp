#include "reports/claims/ledger.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ablations/claim_cells.h"
#include "ablations/claim_counters.h"
#include "ablations/resolve.h"
#include "core/base/error.h"
#include "core/base/rethrow.h"
#include "core/base/text.h"
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

std::string plural(int count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
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
    say_why();
    return std::move(entry_);
  }

 private:
  void not_measurable(const std::string& why) {
    entry_.verdict = LedgerVerdict::kNotMeasurable;
    entry_.reason = why;
  }

  void say_why() {
    if (entry_.verdict != LedgerVerdict::kInconclusive || !entry_.reason.empty()) return;
    if (!entry_.measured.interval && !entry_.measured.is_exact) {
      entry_.reason = "one run tells no interval; more seeds do";
    } else if (entry_.measured.interval) {
      entry_.reason = "the interval reaches over a border of the rule; more seeds make it narrower";
    } else {
      entry_.reason = "the number lies between what supports and what contradicts";
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
    entry_.by = "counted";
    entry_.scale = "official";
    try {
      const std::optional<double> before = counted(claim_.measure.before), after = counted(claim_.measure.after);
      if (!before || !after) return not_measurable("the configuration has nothing that could be counted.");
      const double value = ablations::combined(claim_.rule->form, *before, *after);
      if (std::isnan(value)) return not_measurable("the count before is 0, so there is no ratio.");
      entry_.measured = exact_number(value);
    } catch (const core::Error& error) {
      rethrow_internal(error);
      not_measurable(error.what());
    }
  }

  /// Throws Error when an arm cannot be had at this scale.
  void resolve_all(const std::vector<ClaimCell>& cells) const {
    std::vector<core::TrainConfig> configs;
    for (const ClaimCell& cell : cells) {
      if (cell.operation) continue;
      ablations::ResolveRequest request;
      request.record = cell.record;
      request.settings = cell.features;
      request.scale = evidence_.scale();
      request.processes = cell.processes;
      configs.push_back(ablations::resolve(catalogue_, request).config);
    }
    if (configs.size() == 2) ablations::require_difference(configs[0], configs[1]);
  }

  void measure() {
    const ClaimCells cells = ablations::cells_of(catalogue_, claim_);
    std::vector<ClaimCell> judged_cells = ablations::all_cells(cells);
    judged_cells.resize(judged_cells.size() - cells.also.size());
    entry_.scale = claim_.measure.kind == MeasureKind::kBenchmark ? sizes() : evidence_.scale();
    try {
      resolve_all(judged_cells);
    } catch (const core::Error& error) {
      rethrow_internal(error);
      return not_measurable("at scale " + evidence_.scale() + ": " + error.what());
    }
    const ClaimPlan* plan = evidence_.plan_of(judged_cells);
    if (plan == nullptr) {
      entry_.reason = "`nanobench claims --measure` does it";
      return;
    }
    if (explains_failure(*plan, judged_cells)) return;
    const CellMetrics metrics(evidence_, claim_, cells, *plan);
    entry_.measured = cells.operation && claim_.measure.kind == MeasureKind::kBenchmark
                          ? operation_number(*plan, *cells.operation)
                          : metrics.number(entry_.reason);
    if (const std::string doubt = metrics.doubt(); entry_.measured.value && !doubt.empty()) {
      entry_.verdict = LedgerVerdict::kInconclusive;
      entry_.reason = doubt;
    }
    if (!entry_.measured.value) {
      entry_.verdict = LedgerVerdict::kInconclusive;
      if (entry_.reason.empty()) entry_.reason = "no run tells the metric";
    }
    if (entry_.by.empty()) entry_.by = plural(entry_.measured.n, "seed", "seeds");
    for (const ClaimCell& cell : cells.also) add_side_number(cell);
  }

  /// A cell without a completed run: why, and whether it can be measured here at all.
  bool explains_failure(const ClaimPlan& plan, const std::vector<ClaimCell>& cells) {
    for (const ClaimCell& cell : cells) {
      const CellMeasures& measures = plan.cells.at(cell.label);
      const auto completed = [](const RunMeasure& run) { return run.run.is_completed(); };
      if (std::any_of(measures.runs.begin(), measures.runs.end(), completed)) continue;
      entry_.reason = cell.label + ": not run yet; `nanobench claims --measure` goes on";
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
    std::string text = claim_.measure.op;
    for (const auto& [shape, size] : arm->shapes) text += " " + shape + " " + std::to_string(size);
    return text;
  }

  MeasuredNumber operation_number(const ClaimPlan& plan, const ClaimCell& cell) {
    const std::vector<OperationRepetitions> runs =
        evidence_.repetitions(plan.cells.at(cell.label), cell.operation->metric);
    MeasuredNumber number = number_of(claim_.rule->form, runs);
    if (cell.is_exact && number.value) number.is_exact = true;
    std::size_t repetitions = 0;
    for (const OperationRepetitions& run : runs) repetitions += std::max(run.before.size(), run.after.size());
    entry_.by = cell.is_exact ? "counted"
                              : plural(static_cast<int>(repetitions), "repetition", "repetitions") + " in " +
                                    plural(static_cast<int>(runs.size()), "run", "runs");
    return number;
  }

  void add_side_number(const ClaimCell& cell) {
    const ClaimPlan* plan = evidence_.plan_of({cell});
    if (plan == nullptr) return;
    const std::string& metric = cell.operation->metric;
    const std::vector<OperationRepetitions> runs = evidence_.repetitions(plan->cells.at(cell.label), metric);
    std::string sizes;
    for (const auto& [shape, size] : cell.operation->arms.back().shapes)
      sizes += (sizes.empty() ? "" : " ") + shape + " " + std::to_string(size);
    if (metric == claim_.rule->metric) {
      entry_.also.push_back(
          {sizes + ": " + metric + " " + ablations::to_string(claim_.rule->form), number_of(claim_.rule->form, runs)});
      return;
    }
    // Another quantity: each arm's own, as its ratio is of no use where one arm has none of it.
    for (const auto& [form, arm] :
         {std::pair(ablations::RuleForm::kBefore, "before"), std::pair(ablations::RuleForm::kAfter, "after")})
      entry_.also.push_back({sizes + ": " + metric + " " + arm, number_of(form, runs)});
  }

  const Catalogue& catalogue_;
  const Claim& claim_;
  const ClaimEvidence& evidence_;
  LedgerEntry entry_;
};

}  // namespace

const char* to_string(LedgerVerdict verdict) {
  switch (verdict) {
    case LedgerVerdict::kSupported: return "supported";
    case LedgerVerdict::kContradicted: return "contradicted";
    case LedgerVerdict::kInconclusive: return "inconclusive";
    case LedgerVerdict::kNotMeasured: return "not measured";
    case LedgerVerdict::kNotMeasurable: return "not measurable here";
  }
  return "?";
}

std::string word_of(LedgerVerdict verdict) {
  std::string word = to_string(verdict);
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
  return entries;
}

}  // namespace nanobench::reports
