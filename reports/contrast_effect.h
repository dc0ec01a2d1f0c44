/// What the contrasts of a plan come to: one effect each, on loss and on step time. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "reports/comparison.h"

namespace nanobench::reports {

/// One contrast of a plan with its estimates.
struct ContrastEffect {
  std::string name;
  std::string kind;
  std::vector<std::string> aliases;
  std::optional<Effect> loss;        ///< nats per token; negative: better
  std::optional<Effect> time_ratio;  ///< of step times, by their logarithms; below 1: faster
  int n = 0;                         ///< seeds of the loss
  std::vector<std::string> missing;  ///< cells without a completed run, without which there is no estimate
};

/// In the plan's order. Seed by seed where all cells of a contrast share some; else from the cells' means, without a
/// spread.
std::vector<ContrastEffect> contrast_effects(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells);

}  // namespace nanobench::reports
