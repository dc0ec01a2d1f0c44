/// The stored measurements of the cells that claims need, and the number that a claim's rule judges. Reads the store;
/// as thread-safe as the Store.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ablations/claim_cells.h"
#include "ablations/claim_rule.h"
#include "reports/comparison/comparison.h"
#include "reports/stats/estimate.h"
#include "reports/stats/plan_model.h"
#include "reports/stats/summary.h"
#include "results/store.h"

namespace nanobench::reports {

/// A ratio, a difference or a mean over the runs of the arms, with its error. Pure.
struct MeasuredNumber {
  std::optional<double> value;
  std::optional<ConfidenceInterval> interval;  ///< 95 % interval; absent: one run, or no spread
  bool is_exact = false;                       ///< counted, or the same in every run: it has no error
  int n = 0;                                   ///< runs of the arm with the fewest, or pairs of runs
};

/// Applies the form to the arms' values, paired by seed. Ratios are means of logarithms.
///   Without an arm that the form needs, or a common seed: no value. One seed: a value without interval.
MeasuredNumber number_of(ablations::RuleForm form, const BySeed& before, const BySeed& after);

/// A cell's values of one metric in blocks: seeds, or for times seeds on one machine.
struct PlanValues {
  ResponseTable table;     ///< by cell, then block; ratios' logarithms
  std::size_t before = 0;  ///< rows of the arms
  std::size_t after = 0;
  std::size_t whole = 0;  ///< of the state before the whole change, where the claim has one
};

/// A ratio or a difference of two cells, whose spread all cells of the plan inform (PlanModel). `form` needs both arms.
///   prior_df   weight of the plan's spread
MeasuredNumber number_in_plan(ablations::RuleForm form, const PlanValues& values, double prior_df);

/// The share of a whole effect that a part of it has: (before - after) / (whole - after), of logarithms, with Fieller's
/// interval for the ratio of two correlated means. No value where the whole effect is not above 0; no interval where
/// its own 95 % interval reaches 0, as the share could then be anything.
MeasuredNumber share_in_plan(const PlanValues& values, double prior_df);

/// The ratio of two standard deviations, with Fisher's interval; at least two runs each, and normal values.
MeasuredNumber sd_ratio(const BySeed& before, const BySeed& after);

/// A run's repetitions of one operation, arm by arm; the i-th of both arms belong together.
struct OperationRepetitions {
  std::vector<double> before;
  std::vector<double> after;
};

/// Over runs: with three or more runs, each run's median counts once; with fewer, all repetitions count.
MeasuredNumber number_of(ablations::RuleForm form, const std::vector<OperationRepetitions>& runs);

/// The basis of a metric of training cells (ablations::claim_metrics); kOther for any other name.
ablations::MetricBasis cell_metric_basis(const std::string& metric);

/// The stored plan that a claim is judged from.
struct ClaimPlan {
  results::PlanRecord plan;
  std::map<std::string, CellMeasures> cells;  ///< by label
};

class ClaimEvidence {
 public:
  /// Reads the plans of design "claims" at this scale, or at the newest such plan's scale if none is given. Keeps a
  /// reference to the store.
  ClaimEvidence(const results::Store& store, const std::optional<std::string>& scale);
  /// No evidence: nothing was ever measured.
  explicit ClaimEvidence(std::string scale) : scale_(std::move(scale)) {}

  const std::string& scale() const { return scale_; }

  /// The newest plan that has all these cells, preferring plans with completed runs of each; nullptr if there is none.
  const ClaimPlan* plan_of(const std::vector<ablations::ClaimCell>& cells) const;

  /// A metric of claim_metrics() of a training cell, by seed; completed runs only. Empty for a metric that no run
  /// reports.
  BySeed values(const CellMeasures& cell, const std::string& metric) const;
  /// The metric over all training cells of the plan, for times of runs that share the machine of `after`'s run of the
  /// same seed; nullopt for forms without two arms, and for values that a ratio cannot have.
  std::optional<PlanValues> plan_values(ablations::RuleForm form, const ClaimPlan& plan, const CellMeasures& before,
                                        const CellMeasures& after, const std::string& metric,
                                        const CellMeasures* whole = nullptr) const;
  /// Training losses of a run, by step.
  std::vector<results::Sample> training_losses(const RunMeasure& run) const;
  /// An operation's repetitions in each completed run.
  std::vector<OperationRepetitions> repetitions(const CellMeasures& cell, const std::string& metric) const;
  /// Mean of a counter of a run.
  std::optional<double> counter(const RunMeasure& run, const std::string& name) const;

 private:
  std::optional<double> counted_value(const RunMeasure& run, const std::string& metric) const;

  const results::Store* store_ = nullptr;
  std::string scale_;
  std::vector<ClaimPlan> plans_;  ///< newest first
};

}  // namespace nanobench::reports
