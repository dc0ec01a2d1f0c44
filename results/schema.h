/// The tables of the store, and the migrations from older versions to this one. SCHEMA.md explains the columns.
#pragma once

#include <span>

#include "results/sqlite.h"

namespace nanobench::results {

/// Removes reference kernels from engine names. Replaces the digests of configurations, runs, plans and their lines,
/// which covered every setting, with digests of the changed settings, so that evidence stays valid. Rows whose digest
/// cannot be computed from the row keep it: imported logs, external trainers, the mock engine, configurations that this
/// build cannot read. Call inside a transaction.
void renew_identities(Database& database);

/// The oldest file version that can be read.
inline constexpr int kOldestSchema = 2;
inline constexpr int kFirstSealedSchema = 5;  ///< rows have checksums

/// One step to the next `user_version`.
struct Migration {
  const char* sql;
  void (*then)(Database& database) = nullptr;  ///< row changes that SQL cannot express, in the same transaction
};

struct Schema {
  const char* tables;  ///< SQL that creates them as they were at version `oldest`
  int oldest;
  std::span<const Migration> migrations;  ///< migrations from that version on
};

/// The schema of this build.
Schema schema();

/// Refuses unsuitable files before anything is written: another program's database, a version outside kOldestSchema to
/// `known_version`, a damaged file. Returns the version found; 0 for an empty file. Throws Error.
int check_identity(Database& database, int known_version);

/// Refuses a file whose tables, columns and indexes are not exactly those of `version`, or that has views or triggers:
/// somebody has put them there, and they may do harm. Throws Error{kDataLoss} that names the first difference.
void check_structure(Database& database, int version);

/// Creates the tables if there are none, and applies the missing migrations, in one transaction. Afterwards the file is
/// at the newest version, or unchanged.
void migrate(Database& database, const Schema& schema);

}  // namespace nanobench::results
