/// The tables of a trend's report. Pure, thread-safe.
#pragma once

#include <cstddef>

#include "reports/document/document.h"
#include "reports/trend/trend.h"

namespace nanobench::reports {

/// One row a series: its answer, its newest revision, its runs.
Table series_table(const Trend& trend);
/// The worst first.
Table changes_table(const Trend& trend);
/// One row for each series and revision; of more than `most_rows`, without those of steady series.
Table revisions_table(const Trend& trend, std::size_t most_rows);
/// Runs that cannot be compared with the others of their cell.
Table left_out_table(const Trend& trend);

}  // namespace nanobench::reports
