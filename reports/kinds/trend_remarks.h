/// What is to be known beside a trend's numbers. Pure, thread-safe.
#pragma once

#include "reports/document/document.h"
#include "reports/trend/trend.h"

namespace nanobench::reports {

/// Adds warnings of failed, disturbed and left out runs, notes on the revisions, and how to read the report.
void add_trend_remarks(Document& document, const Trend& trend);

}  // namespace nanobench::reports
