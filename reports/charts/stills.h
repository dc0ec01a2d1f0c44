/// Plain drawings of the two charts that matter most, for readers whose browser runs no scripts. They are SVG whose
/// colours are classes of the page's style. All text is escaped. Pure, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "reports/document/document.h"

namespace nanobench::reports {

/// The picture of effects_chart()'s data: a panel for each metric, in the order of the rows.
std::string forest_still(const Table& data);

/// The picture of loss_chart()'s data: the last half of each line's mean against steps.
///   names   all lines, in the order of their colours
std::string curves_still(const Table& data, const std::vector<std::string>& names);

}  // namespace nanobench::reports
