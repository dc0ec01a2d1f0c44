/// The tables of the store, and how a file of an older version becomes one of this version. SCHEMA.md explains the
/// columns.
#pragma once

#include <filesystem>
#include <span>

#include "results/sqlite.h"

namespace nanobench::results {

/// One step from `user_version` i to i + 1, i being its index in the list.
using Migration = const char*;

std::span<const Migration> migrations();

/// Refuses what is not ours before anything is written: another program's database, a newer version, a damaged file.
/// Returns the version found; 0 for an empty file. Throws Error.
int check_identity(Database& database, int known_version);

/// Applies the missing migrations in one transaction: afterwards the file is at the newest version, or as before.
void migrate(Database& database, std::span<const Migration> steps);

}  // namespace nanobench::results
