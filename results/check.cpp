#include "results/check.h"

#include <array>

#include "core/base/error.h"
#include "results/open_file.h"
#include "results/schema.h"

namespace nanobench::results {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::size_t kMaxPlaces = 10;  // named per rule; all are counted

/// A constraint between rows. The query returns the places that violate it.
struct Rule {
  const char* name;
  const char* text;
  const char* sql;
};

// Other engines may report anything; these two report every step.
constexpr const char* kOwnRuns =
    "SELECT * FROM runs WHERE outcome = 'completed' AND engine IN ('nanobench-train', 'mock')";

std::string with_own_runs(const char* sql) {
  return "WITH own AS (" + std::string(kOwnRuns) + ") " + sql;
}

constexpr std::array kRules = {
    Rule{"final_loss", "A completed run has a final validation loss.",
         "SELECT 'run ' || id FROM runs WHERE outcome = 'completed' AND final_val_loss IS NULL"},
    Rule{"complete_steps", "A completed run has the loss of each of its steps.",
         "SELECT 'run ' || id || ': ' || n || ' of ' || steps FROM (SELECT id, steps, (SELECT count(*) FROM samples "
         "WHERE run_id = own.id AND metric = 'train/loss') AS n FROM own) WHERE n IS NOT steps"},
    Rule{
        "timed_steps", "A completed run has the training clock of each of its timed steps.",
        "SELECT 'run ' || id || ': ' || n || ' of ' || timed_steps FROM (SELECT id, timed_steps, (SELECT count(*) FROM "
        "samples WHERE run_id = own.id AND metric = 'train/clock_ms') AS n FROM own) WHERE n IS NOT timed_steps"},
    Rule{
        "last_validation", "A completed run's final loss is that of its last validation.",
        "SELECT 'run ' || id || ': ' || ifnull(final_val_loss, 'none') || ', last validation ' || ifnull(last, 'none') "
        "FROM (SELECT id, final_val_loss, (SELECT value FROM samples WHERE run_id = own.id AND metric = 'val/loss' "
        "ORDER BY step DESC LIMIT 1) AS last FROM own) WHERE last IS NOT final_val_loss"},
    Rule{"plan_lines", "A plan's line is answered by a run of the same digest.",
         "SELECT 'plan ' || plan_lines.plan_id || ', line ' || plan_lines.position || ': run ' || runs.id FROM "
         "plan_lines JOIN runs ON runs.id = plan_lines.run_id WHERE runs.digest <> plan_lines.digest"},
    Rule{"baseline_suite", "A baseline is of its plan's suite.",
         "SELECT 'baseline ' || baselines.name FROM baselines JOIN plans ON plans.id = baselines.plan_id WHERE "
         "plans.suite <> baselines.suite"},
    Rule{"run_json", "A run's configuration is a JSON object.",
         "SELECT 'run ' || id FROM runs WHERE CASE WHEN json_valid(config) THEN json_type(config) <> 'object' ELSE "
         "TRUE END"},
    Rule{
        "environment_json", "An environment's facts are a JSON object of strings.",
        "SELECT 'environment ' || id FROM environments WHERE CASE WHEN NOT json_valid(facts) THEN TRUE WHEN "
        "json_type(facts) <> 'object' THEN TRUE ELSE EXISTS (SELECT 1 FROM json_each(facts) AS fact WHERE fact.type <> "
        "'text') END"},
    Rule{"plan_json", "A plan's cells, messages and command line are JSON lists.",
         "SELECT 'plan ' || id FROM plans WHERE CASE WHEN json_valid(cells) AND json_valid(messages) AND "
         "json_valid(argv) THEN json_type(cells) <> 'array' OR json_type(messages) <> 'array' OR json_type(argv) <> "
         "'array' ELSE TRUE END"},
    Rule{"times", "Times of day are written as 2026-01-31T23:59:59.123Z.",
         "SELECT 'run ' || id || ': ' || started_at FROM runs WHERE started_at NOT GLOB '[0-9]*-*-*T*:*:*Z' OR "
         "finished_at NOT GLOB '[0-9]*-*-*T*:*:*Z'"}};

void add_place(StoreProblem& problem, std::string place) {
  if (problem.where.size() < kMaxPlaces) problem.where.push_back(std::move(place));
  ++problem.count;
}

void keep_if_broken(StoreCheck& check, StoreProblem problem) {
  if (problem.count > 0) check.problems.push_back(std::move(problem));
}

void check_integrity(Database& database, StoreCheck& check) {
  StoreProblem problem{.rule = "integrity", .text = "SQLite finds the file's pages whole."};
  Statement statement(database, "PRAGMA integrity_check");
  while (statement.step()) {
    if (statement.text(0) != "ok") add_place(problem, statement.text(0));
  }
  keep_if_broken(check, std::move(problem));
}

void check_foreign_keys(Database& database, StoreCheck& check) {
  StoreProblem problem{.rule = "foreign_keys", .text = "What a row points to is there."};
  Statement statement(database, "PRAGMA foreign_key_check");
  while (statement.step())
    add_place(problem, statement.text(0) + " points to a row of " + statement.text(2) + " that is not there");
  keep_if_broken(check, std::move(problem));
}

void check_rules(Database& database, StoreCheck& check) {
  for (const Rule& rule : kRules) {
    StoreProblem problem{.rule = rule.name, .text = rule.text};
    Statement statement(database, with_own_runs(rule.sql));
    while (statement.step()) add_place(problem, statement.text(0));
    keep_if_broken(check, std::move(problem));
  }
}

void check_rows(const std::filesystem::path& file, StoreCheck& check) {
  Database database(file, read_only_uri(file), SQLITE_OPEN_READONLY);
  check.schema = check_identity(database, kSchemaVersion);
  if (check.schema == 0) return;  // an empty file: nothing is wrong with it
  check_integrity(database, check);
  if (!check.is_fine()) return;  // counts from damaged pages would mislead
  check_foreign_keys(database, check);
  check_rules(database, check);
  check.runs = database.integer_of("SELECT count(*) FROM runs");
  check.samples = database.integer_of("SELECT count(*) FROM samples");
  check.plans = database.integer_of("SELECT count(*) FROM plans");
  check.running = database.integer_of("SELECT count(*) FROM runs WHERE outcome IS NULL");
}

}  // namespace

StoreCheck check_store(const std::filesystem::path& file) {
  StoreCheck check;
  try {
    check_file(file, OpenMode::kReadOnly);
    check_rows(file, check);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
    check.problems.push_back(
        {.rule = "integrity", .text = "SQLite finds the file's pages whole.", .count = 1, .where = {error.what()}});
  }
  return check;
}

}  // namespace nanobench::results
