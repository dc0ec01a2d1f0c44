/// What became of a suite over the revisions of a program. Pure.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "reports/document/document.h"
#include "reports/trend/trend.h"

namespace nanobench::reports {

/// The answer in words, one sentence each: changes, the worst first, newest revisions that stand apart, how many series
/// are steady, how many have too few runs.
std::vector<std::string> trend_headline(const Trend& trend);

/// `most_rows`: with more rows of revisions than this, those of steady series are left out, and a note says so.
Document trend_report(const std::string& suite, const Trend& trend,
                      std::size_t most_rows = std::numeric_limits<std::size_t>::max());

}  // namespace nanobench::reports
