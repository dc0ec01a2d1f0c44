/// The pictures of a trend. Names of cells and revisions are data, never part of an expression. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "reports/document/document.h"
#include "reports/trend/trend.h"

namespace nanobench::reports {

inline constexpr std::size_t kMostTrendCharts = 8;

/// One for each of the first series (the worst come first) that has values in two revisions: means and ranges over the
/// revisions, where the values before let a mean expect, and where a new level begins.
std::vector<Chart> trend_charts(const Trend& trend, std::size_t most = kMostTrendCharts);

}  // namespace nanobench::reports
