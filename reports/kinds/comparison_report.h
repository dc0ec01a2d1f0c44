/// The report of a suite: one row a cell, with effects, spreads and published figures. Pure.
#pragma once

#include "reports/comparison/comparison.h"
#include "reports/document/document.h"

namespace nanobench::reports {

/// `cells` are those that `table` was made of.
Document comparison_report(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                           const ComparisonTable& table);

/// Reads, compares and builds the document of one stored plan.
Document comparison_report(const results::Store& store, const results::PlanRecord& plan,
                           const ComparisonOptions& options);

}  // namespace nanobench::reports
