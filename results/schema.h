/// The tables of the store, and how a file of an older version becomes one of this version. SCHEMA.md explains the
/// columns.
#pragma once

#include <span>

#include "results/sqlite.h"

namespace nanobench::results {

/// The oldest version of a file that is read.
inline constexpr int kOldestSchema = 2;

/// One step to the next `user_version`.
struct Migration {
  const char* sql;
  void (*then)(Database& database) = nullptr;  ///< what SQL cannot do to rows that are there, in the same transaction
};

struct Schema {
  const char* tables;  ///< SQL that makes them as they were at version `oldest`
  int oldest;
  std::span<const Migration> migrations;  ///< from there on
};

/// That of this build.
Schema schema();

/// Refuses what is not ours before anything is written: another program's database, another version than
/// kOldestSchema to `known_version`, a damaged file. Returns the version found; 0 for an empty file. Throws Error.
int check_identity(Database& database, int known_version);

/// Makes the tables where there are none, and applies the missing migrations, in one transaction: afterwards the file
/// is at the newest version, or as before.
void migrate(Database& database, const Schema& schema);

}  // namespace nanobench::results
