/// Which runs were disturbed, by what, and how their times stand apart. Pure.
#pragma once

#include <optional>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/document/document.h"

namespace nanobench::reports {

/// One row for each completed run that was disturbed, in the order of cells and seeds; nullopt where none was.
std::optional<Section> disturbance_section(const std::vector<CellMeasures>& cells);

}  // namespace nanobench::reports
