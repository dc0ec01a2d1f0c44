/// Pages about stored runs: the list, and one run with its provenance and curve. Reads the Store, writes nothing.
#pragma once

#include <cstdint>

#include "reports/document/document.h"
#include "results/store.h"

namespace nanobench::reports {

/// Newest last.
Document runs_report(const results::Store& store, const results::RunFilter& filter);

/// Throws Error{kNotFound}.
Document run_report(const results::Store& store, std::int64_t run_id);

}  // namespace nanobench::reports
