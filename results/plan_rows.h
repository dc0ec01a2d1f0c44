/// Rows of `plans` and `plan_lines`, and their JSON parts: written in the format of this version, read in every format
/// that a store may contain. Private to results/.
#pragma once

#include <filesystem>
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

/// Throw Error{kUnavailable} for a design or kind that only a newer version knows.
Design read_design(const std::string& text);
std::vector<PlanCell> read_cells(const std::string& text);
/// Contrasts stored without their factors get them from the name of the effect, without levels.
std::vector<PlanContrast> read_contrasts(const std::string& text);
/// Messages stored as plain sentences become notes; for claims, the subject comes from the sentence.
std::vector<core::Message> read_messages(const std::string& text);
std::optional<SequentialLook> read_sequential(const std::optional<std::string>& text);

/// All names, as the list of a SELECT.
std::string plan_columns();
/// Reads a row of these columns, with the plan's lines.
PlanRecord read_plan_row(Database& database, const Statement& row);
/// Inserts the plan with its lines and the current time; returns its id.
std::int64_t insert_plan(Database& database, const NewPlan& plan);
/// The plan is asked for again now.
void note_plan_use(Database& database, std::int64_t plan_id);
/// What there is in place of a row that is not: "it holds runs 3 to 57 (`nanobench list runs --db FILE`)". `kind`:
/// "run", "plan".
std::string held_ids(Database& database, const std::string& kind, const std::filesystem::path& file);
/// Rewrites the stored plan with this id: its digest, its cells, and the digests of its lines.
void update_identities(Database& database, const PlanRecord& plan);

}  // namespace nanobench::results
