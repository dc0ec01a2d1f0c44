/// Gives the rows of a schema 2 store the current identities (results/identity.h). Private to results/.
#pragma once

#include "results/sqlite.h"

namespace nanobench::results {

/// Removes reference kernels from engine names. Replaces the digests of configurations, runs, plans and their lines,
/// which covered every setting, with digests of the changed settings, so that evidence stays valid. Rows whose digest
/// cannot be computed from the row keep it: imported logs, external trainers, the mock engine, configurations that this
/// build cannot read. Call inside a transaction.
void renew_identities(Database& database);

}  // namespace nanobench::results
