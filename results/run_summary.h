/// Summaries of runs: computed from the samples once, kept in `run_summaries`. Private to results/.
#pragma once

#include <cstdint>

#include "results/records.h"
#include "results/sqlite.h"

namespace nanobench::results {

/// From the samples of the run: two ordered scans, about a millisecond for 1500 steps.
RunSummary compute_summary(Database& database, std::int64_t run_id);

/// Computes and keeps it; inside a transaction of the caller.
RunSummary store_summary(Database& database, std::int64_t run_id);

}  // namespace nanobench::results
