/// Finds what is to be said beside a comparison: reasons to doubt its numbers, and how they came to be. Pure,
/// thread-safe.
#pragma once

#include <vector>

#include "reports/comparison/comparison.h"

namespace nanobench::reports {

/// How the runs of a cell ended without evidence, each way once.
std::vector<FailedRuns> failed_runs(const CellMeasures& cell);

/// Adds the warnings and notes about the runs to a table with rows: spreads, the entropy floor, machines, code, load.
void add_run_remarks(ComparisonTable& table, const std::vector<CellMeasures>& cells);

/// Reasons to doubt the verdicts: repeated looks, runs that are copies of each other.
std::vector<Remark> verdict_warnings(const ComparisonTable& table, const std::vector<CellMeasures>& cells);

/// How the numbers came to be: outliers, settled clocks, turns, jobs.
std::vector<Remark> measure_notes(const ComparisonTable& table, const std::vector<CellMeasures>& cells);

}  // namespace nanobench::reports
