/// Rows of `plans` and `plan_lines`, and their parts that are JSON: written in the form of this version, read in all
/// forms that a store may hold. Private to results/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/records.h"
#include "results/sqlite.h"

namespace nanobench::results {

std::string text_of(const std::vector<PlanCell>& cells);
std::string text_of(const std::vector<PlanContrast>& contrasts);
std::string text_of(const std::vector<core::Message>& messages);
std::optional<std::string> text_of(const std::optional<SequentialLook>& look);

/// Throw Error{kUnavailable} for a name of a design or kind that only a newer version knows.
Design read_design(const std::string& text);
std::vector<PlanCell> read_cells(const std::string& text);
/// Contrasts stored without their factors get them from the name of the effect, without levels.
std::vector<PlanContrast> read_contrasts(const std::string& text);
/// Messages stored as plain sentences become notes; of claims, the sentence's own subject.
std::vector<core::Message> read_messages(const std::string& text);
std::optional<SequentialLook> read_sequential(const std::optional<std::string>& text);

/// All names, as the list of a SELECT.
std::string plan_columns();
/// A row of them, with the plan's lines.
PlanRecord read_plan_row(Database& database, const Statement& row);
/// With its lines and a time of day of its own; returns its number.
std::int64_t insert_plan(Database& database, const NewPlan& plan);
/// Writes what a plan of this number holds anew: its digest, the cells, the digests of its lines.
void update_identities(Database& database, const PlanRecord& plan);

}  // namespace nanobench::results
