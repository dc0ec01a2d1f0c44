/// Where the numbers of a report come from: the commands, the programs, the machines. Pure but for reading the store.
#pragma once

#include <string>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/document/document.h"

namespace nanobench::reports {

/// Which command prints or makes which numbers. One row for each fact of the runs' environments; where runs differ,
/// every value with the number of its runs.
Section provenance_section(const results::Store& store, const results::PlanRecord& plan,
                           const std::vector<CellMeasures>& cells);

}  // namespace nanobench::reports
