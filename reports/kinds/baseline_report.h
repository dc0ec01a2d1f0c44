/// The stored baselines as a list. Pure.
#pragma once

#include <vector>

#include "reports/document/document.h"
#include "results/records.h"

namespace nanobench::reports {

Document baseline_list_report(const std::vector<results::BaselineRecord>& baselines);

}  // namespace nanobench::reports
