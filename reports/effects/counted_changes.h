/// What the cost model counts of each change: differences without any noise, which need no interval.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/comparison/comparison.h"
#include "results/records.h"

namespace nanobench::reports {

/// Counts of a step of one cell, means over the run.
struct CountedCost {
  std::optional<double> flops;   ///< of forward and backward
  std::optional<double> blocks;  ///< attention blocks that are visited
};

/// Relative changes: -0.043 is 4.3 % less.
struct CountedChange {
  std::optional<double> flops;
  std::optional<double> blocks;

  bool empty() const { return !flops && !blocks; }
};

/// By cell, of its first completed run; cells whose engine counts nothing are left out.
std::map<std::string, CountedCost> counted_costs(const results::Store& store, const std::vector<CellMeasures>& cells);

/// From one cell to another; empty where either has no counts.
CountedChange counted_change(const std::map<std::string, CountedCost>& costs, const std::string& from,
                             const std::string& to);

/// The cells that the contrast compares, earlier and later; nullopt unless there are two, one with -1 and one with +1.
struct ComparedCells {
  std::string from;
  std::string to;
};
std::optional<ComparedCells> compared_cells(const results::PlanContrast& contrast);

}  // namespace nanobench::reports
