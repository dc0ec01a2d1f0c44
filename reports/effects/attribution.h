/// The contribution of each of a plan's changes to the total change of the loss. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/effects/measured_effect.h"

namespace nanobench::reports {

struct FactorShare {
  std::string factor;
  double value = 0.0;        ///< nats per token; below 0: it lowers the loss
  std::optional<double> se;  ///< absent for one run; 0 if all seeds agree
};

struct LossAttribution {
  std::vector<FactorShare> shares;  ///< in the order of the plan's contrasts; they sum to the total
  FactorShare total;                ///< loss with all changes minus loss with none
  bool is_by_seed = false;          ///< the errors come from the seeds; else from the cells' own spreads
  int n = 0;                        ///< complete seeds, or runs of the cell with the fewest
};

/// Which changes each cell of a plan has: bit i is changes[i].
struct SubsetCells {
  std::vector<std::string> changes;
  std::vector<std::string> labels;  ///< by set of changes, from none to all
};

/// For plans with a cell for each set of their two or more changes: a full factorial of two levels, or two changes in
/// pairs; nullopt for others.
std::optional<SubsetCells> subsets_of(const results::PlanRecord& plan);

/// Shapley's shares of the final loss (reports/stats/shapley.h), seed by seed where the cells share complete seeds.
/// nullopt for plans without all subsets, or if a cell has no completed run.
std::optional<LossAttribution> attribute_loss(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells);

}  // namespace nanobench::reports
