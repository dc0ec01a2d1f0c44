/// Gives the rows of a store of schema 2 the identities of today (results/identity.h). Private to results/.
#pragma once

#include "results/sqlite.h"

namespace nanobench::results {

/// Takes reference kernels out of engines' names, and replaces the digests of configurations, runs, plans and their
/// lines, which were taken of every setting, by those of the changed ones; so evidence goes on to count. Rows whose
/// digest cannot be computed from the row keep it: imported logs, external trainers, the mock engine, configurations
/// that this build cannot read. Inside a transaction of the caller.
void renew_identities(Database& database);

}  // namespace nanobench::results
