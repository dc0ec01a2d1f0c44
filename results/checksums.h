/// Checksums over stored rows: accidents, damaged pages and edits of the file by hand are noticed. They are XXH3-128,
/// no signatures: whoever computes them anew is not noticed. Numbers that a merge changes (ids) are not covered; what
/// they point to is. Private to results/. Not thread-safe.
///
/// A checksum is text: the schema that wrote the row and the hash, "5:0f3c...". A row that a migration took over has
/// the number of its former schema.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/check.h"
#include "results/sqlite.h"

namespace nanobench::results {

/// Writes the checksum of a run that has ended: its columns, plan, environment, samples in order, messages and facts.
/// Counts the run among the finished ones. Call inside the transaction that ends the run.
void seal_run(Database& database, std::int64_t run_id);
/// The same of a plan: its columns and lines, without their answers. Call once, when the plan is complete.
void seal_plan(Database& database, std::int64_t plan_id);
/// The same of a baseline. Call release_baseline before one of this name is replaced.
void seal_baseline(Database& database, const std::string& name);
void release_baseline(Database& database, const std::string& name);
/// Lets the run answer the line, and writes the checksum of that. Returns whether there is such a line.
bool answer_plan_line(Database& database, std::int64_t plan_id, std::int64_t position, std::int64_t run_id);

/// Whether a finished run is as it was when it ended.
bool is_run_intact(Database& database, std::int64_t run_id);

/// What does not match its checksum, and what is missing or too many by the counts of rows: one problem for each kind
/// of row. Reads every sample.
std::vector<StoreProblem> checksum_problems(Database& database);

/// The migration: checksums of all rows as they are, with the number `schema`. Call inside a transaction.
void seal_everything(Database& database, int schema);

}  // namespace nanobench::results
