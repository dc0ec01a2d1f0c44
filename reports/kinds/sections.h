/// Parts that several kinds of reports share, or that are tested on their own. Pure, except for those that read a
/// Store.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/memory_model.h"
#include "reports/comparison/comparison.h"
#include "reports/comparison/health.h"
#include "reports/comparison/stability.h"
#include "reports/document/document.h"
#include "reports/effects/attribution.h"
#include "reports/effects/counted_changes.h"
#include "reports/effects/effects.h"
#include "reports/effects/influence.h"
#include "reports/effects/range_effects.h"
#include "reports/effects/screened_effects.h"
#include "reports/evaluation/evaluation.h"
#include "reports/gate/gate.h"

namespace nanobench::reports {

/// {"mean", "sd", "n"}
core::OrderedJson json_of(const Summary& summary);
/// {"low", "high"}, each null without an interval, added to `json`.
void add_bounds(core::OrderedJson& json, const std::optional<ConfidenceInterval>& interval);
/// The mean, formatted by `format`, with the spread beside it.
template <class Format>
TableCell summary_cell(const Summary& summary, Format format) {
  if (!summary.mean) return value_cell("-", json_of(summary));
  return value_cell(format(*summary.mean), json_of(summary), summary.sd ? "±" + format(*summary.sd) : "");
}

/// The headline of a comparison's changes:
///   "5 of 9 changes pay on this machine; 2 are barnacles, proved to do neither good nor harm; 2 need more runs: about
///   14 more seeds each."
///   needed    from seeds_needed(), in the order of the effects
///   place     "this machine"
///   is_list   names what is decided: "Of 9 techniques 2 pay on this machine: a and b; ..."
/// Empty if no effect is judged.
std::string effects_headline(const std::vector<EffectResult>& effects,
                             const std::vector<std::optional<SeedsForVerdict>>& needed, const std::string& place,
                             bool is_list = false);
/// The headline of a plan: its changes, runs that failed or are not done, and the course of a history.
std::string comparison_headline(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                const ComparisonTable& table, const std::vector<EffectResult>& effects,
                                const std::vector<std::optional<SeedsForVerdict>>& needed);

/// The part of the same that no card repeats: how many changes pay, and which runs are missing.
std::string comparison_lead(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                            const ComparisonTable& table, const std::vector<EffectResult>& effects,
                            const std::vector<std::optional<SeedsForVerdict>>& needed);
/// "From record12 to record18 the step became 1.19 times as fast and val loss rose by 0.0155."; empty without results.
std::string course_text(const ComparisonTable& table);

/// "0.0031 nats"
std::string nats_text(double nats);
/// The words for a log ratio of at least 0: "3 %", or "a factor of 2.4".
std::string ratio_text(double log_ratio);

inline constexpr double kNothingBounded = 2.302585092994046;  ///< log ratio; a factor of ten bounds nothing

/// How the results of one metric are worded.
struct MetricWords {
  const char* subject;
  const char* better;
  const char* worse;
  double max_bound;             ///< a larger one bounds nothing
  std::string (*size)(double);  ///< of at least 0, with its unit
  bool is_time;                 ///< sizes are log ratios
};

inline constexpr MetricWords kLossWords = {"Val loss", "better", "worse", kInfinity, nats_text, false};
inline constexpr MetricWords kTimeWords = {"Training time", "shorter", "longer", kNothingBounded, ratio_text, true};

/// The answers about each change, or about each metric where the changes are many; then the whole course, the likely
/// order, and what was counted. Empty if no effect is judged.
///   costs   counted_costs() of the cells; may be empty
std::vector<Card> verdict_cards(const results::PlanRecord& plan, const ComparisonTable& table,
                                const std::vector<EffectResult>& effects,
                                const std::vector<std::optional<SeedsForVerdict>>& needed,
                                const std::map<std::string, CountedCost>& costs, const EffectRules& rules);
/// What is proved of the losses and of the times of many changes, and bounds for the others.
std::vector<Card> metric_cards(const std::vector<EffectResult>& effects);

/// The answer of a leave-one-out: which techniques pay, do nothing, cost, and are undecided, by the time to the same
/// loss and by the loss alone; nullopt if fewer than two are judged.
std::optional<Section> verdict_list(const std::vector<EffectResult>& effects);

/// What a next step gives.
struct StepGain {
  enum class Kind {
    kWhyFailed,      ///< why the run `run_id` failed
    kMissingRuns,    ///< the runs that the plan lacks
    kFirstVerdicts,  ///< which need a spread over seeds
    kVerdicts,       ///< perhaps on `changes`
    kPage,           ///< with charts and every interval
  };
  Kind kind = Kind::kPage;
  std::int64_t run_id = 0;
  std::optional<double> seconds = {};  ///< its price, where one is known
  std::vector<std::string> changes = {};

  bool operator==(const StepGain&) const = default;
};
std::string text_of(const StepGain& gain);

/// A command that goes on from a plan.
struct OfferedStep {
  std::string command;  ///< as NextStep has it
  StepGain gain;
};

/// What a user may do next with a plan: look into a failed run, make the missing runs, add the fewest seeds that may
/// decide something, open the page.
///   seconds   what a run of a cell takes, by label
std::vector<OfferedStep> offered_steps(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                       const std::vector<EffectResult>& effects,
                                       const std::vector<std::optional<SeedsForVerdict>>& needed,
                                       const std::map<std::string, double>& seconds);
/// The same in words.
std::vector<NextStep> next_steps(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                 const std::vector<EffectResult>& effects,
                                 const std::vector<std::optional<SeedsForVerdict>>& needed,
                                 const std::map<std::string, double>& seconds);
/// What the completed runs of each cell took on average, without waits; by label.
std::map<std::string, double> run_seconds(const results::Store& store, const std::vector<CellMeasures>& cells);

/// A loss's difference with its interval, in nats, and everything about it for machines; "-" without a value.
TableCell loss_change_cell(const MeasuredEffect& effect);
/// The verdict on one metric alone, in two words at most, with its p-value.
TableCell metric_verdict_cell(const MeasuredEffect& effect, const char* better, const char* worse);

/// Losses of tokens by group: a section for each metric; with charts if asked for.
std::vector<Section> token_loss_sections(const results::PlanRecord& plan, const std::vector<JudgedBuckets>& judged,
                                         bool has_charts);
/// Every bucket and doubling of the same, as background.
std::vector<Section> bucket_sections(const results::PlanRecord& plan, const std::vector<JudgedBuckets>& judged);

/// Before anything is measured: which combination of the cells estimates which effect.
Section contrast_section(const std::vector<results::PlanContrast>& contrasts);
/// The same with the estimates, in the same order, and the number of seeds that undecided ones still need.
Section contrast_section(const std::vector<results::PlanContrast>& contrasts, const std::vector<EffectResult>& effects,
                         const std::vector<std::optional<SeedsForVerdict>>& needed);
/// The spreads that judge the effects, the residuals, and verdicts that would change without one run; nullopt if no
/// effect has a spread.
std::optional<Section> diagnostic_section(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                          const EffectRules& rules, const std::vector<EffectResult>& effects);
/// The share of each of a plan's changes in the total change of the loss.
Section attribution_section(const LossAttribution& attribution);

/// The features of a screening: suspects, then the others.
Section screening_section(const Screening& screening);
/// "9 of 64 features are suspected of changing the loss or the time after 97 cells: a, b."
std::string screening_headline(const Screening& screening);

/// One row for each completed run that was disturbed, in the order of cells and seeds; nullopt if none was.
std::optional<Section> disturbance_section(const std::vector<CellMeasures>& cells);
/// The commands that print or produce the numbers, and the programs and machines behind them. One row per fact of the
/// runs' environments; if runs differ, every value with its number of runs.
Section provenance_section(const results::Store& store, const results::PlanRecord& plan,
                           const std::vector<CellMeasures>& cells);

/// Accuracies of the models, and each against its reference.
Section evaluation_section(const Evaluation& evaluation);
/// Gradients and updates of the cells; nullopt if no run measured them. `has_parts`: adds a row for each group and
/// layer.
std::optional<Section> health_section(const std::vector<CellHealth>& cells, bool has_parts);
/// Which learning rates are stable; nullopt if the plan sweeps none.
std::optional<Section> stability_section(const std::optional<Stability>& stability);
/// What a configuration keeps in memory: numbers by type, and bytes. One row for each part, and one for all.
Table memory_table(const core::MemoryCounts& counts);
/// The same of a run's counters "memory/...", with what it measured; without rows if the run has none.
Table counted_memory_table(const std::map<std::string, double>& counters);

/// The checks of a gate, one row each.
Table checks_table(const GateResult& result);

/// The table "cost" of a run's counters "cost/...": FLOPs, bytes and their shares by family of ops and by phase;
/// without rows if the run has none.
Table cost_table(const std::map<std::string, double>& counters);
/// "1.234 G": four significant digits and k, M, G, T, P.
std::string format_amount(double value);

}  // namespace nanobench::reports
