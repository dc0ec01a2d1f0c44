/// Rows of `plans` and `plan_lines`. Private to results/.
#pragma once

#include "results/records.h"
#include "results/sqlite.h"

namespace nanobench::results {

/// All names, as the list of a SELECT.
std::string plan_columns();
/// A row of them, with the plan's lines.
PlanRecord read_plan_row(Database& database, const Statement& row);
/// With its lines and a time of day of its own; returns its number.
std::int64_t insert_plan(Database& database, const NewPlan& plan);
/// Writes what a plan of this number holds anew: its digest, the cells, the digests of its lines.
void update_identities(Database& database, const PlanRecord& plan);

}  // namespace nanobench::results
