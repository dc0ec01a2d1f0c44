/// The stored measurements of the cells that claims need. Reads the store; as thread-safe as the Store.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ablations/claim_cells.h"
#include "reports/claims/measured_number.h"
#include "reports/comparison/comparison.h"
#include "results/store.h"

namespace nanobench::reports {

/// The stored plan that a claim is judged from.
struct ClaimPlan {
  results::PlanRecord plan;
  std::map<std::string, CellMeasures> cells;  ///< by label
};

class ClaimEvidence {
 public:
  /// Of the plans of design "claims" at this scale, or of the newest such plan's scale. Keeps a reference.
  ClaimEvidence(const results::Store& store, const std::optional<std::string>& scale);
  /// Nothing was ever measured.
  explicit ClaimEvidence(std::string scale) : scale_(std::move(scale)) {}

  const std::string& scale() const { return scale_; }
  bool has_plans() const { return !plans_.empty(); }

  /// The newest plan that has all these cells, those with completed runs of each first; nullptr when none has.
  const ClaimPlan* plan_of(const std::vector<ablations::ClaimCell>& cells) const;

  /// A metric of claim_metrics() of a training cell, by seed; completed runs only. Empty for a metric that no run
  /// reports.
  BySeed values(const CellMeasures& cell, const std::string& metric) const;
  /// Training losses of a run, by step.
  std::vector<results::Sample> training_losses(const RunMeasure& run) const;
  /// An operation's repetitions in each completed run.
  std::vector<OperationRepetitions> repetitions(const CellMeasures& cell, const std::string& metric) const;
  /// Mean of a counter of a run.
  std::optional<double> counter(const RunMeasure& run, const std::string& name) const;

 private:
  const results::Store* store_ = nullptr;
  std::string scale_;
  std::vector<ClaimPlan> plans_;  ///< the newest first
};

}  // namespace nanobench::reports
