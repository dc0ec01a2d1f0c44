/// The health of training in the cells of a plan: gradient norms and sizes of updates, of the runs that were asked for
/// them (docs/health.md). Reads the store; as thread-safe as it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/comparison/comparison.h"

namespace nanobench::reports {

/// The means of one metric over a run's samples. Geometric, since norms differ by orders of magnitude; samples that are
/// 0 or not finite do not count.
std::optional<double> health_mean(const results::Store& store, std::int64_t run_id, const std::string& metric);

/// A group, or a layer of a group, over the runs of a cell.
struct HealthPart {
  std::string group;      ///< "hidden_matrices"; empty: everything
  std::string layer;      ///< "3", "shared"; empty: all of the group
  Summary gradient_norm;  ///< over runs, of health_mean()
  Summary update_ratio;
};

struct CellHealth {
  std::string label;
  BySeed gradient_norm;           ///< of everything, by seed
  BySeed gradient_flow;           ///< smallest over largest layer
  BySeed update_ratio;            ///< of the hidden matrices
  std::vector<HealthPart> parts;  ///< everything, then groups, each followed by its layers in order
};

/// Cells with a run that measured its health, in order.
std::vector<CellHealth> cell_health(const results::Store& store, const std::vector<CellMeasures>& cells);

}  // namespace nanobench::reports
