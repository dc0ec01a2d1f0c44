#include "results/check.h"

#include <array>

#include "core/base/error.h"
#include "results/checksums.h"
#include "results/identity.h"
#include "results/open_file.h"
#include "results/plan_rows.h"
#include "results/run_columns.h"
#include "results/schema.h"
#include "results/weights.h"
#include "results/write_ahead_log.h"

namespace nanobench::results {
namespace {

using core::Error;
using core::ErrorCode;

constexpr const char* kScaleOfLogs = "as logged";  // plans of imported logs have digests of the logs
constexpr std::size_t kMaxPlaces = 10;             // named per rule; all are counted

/// A constraint between rows. The query returns the places that violate it.
struct StoreRule {
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
    StoreRule{
        "final_loss", "A completed run that trained has a final validation loss.",
        "SELECT 'run ' || id FROM runs WHERE outcome = 'completed' AND engine NOT IN ('command', 'evaluation') AND "
        "final_val_loss IS NULL AND CASE WHEN json_valid(config) THEN json_type(config, '$.operation') IS NULL ELSE 1 "
        "END"},
    StoreRule{
        "complete_steps", "A completed run has the loss of each of its steps.",
        "SELECT 'run ' || id || ': ' || n || ' of ' || steps FROM (SELECT id, steps, (SELECT count(*) FROM samples "
        "WHERE run_id = own.id AND metric = 'train/loss') AS n FROM own) WHERE n IS NOT steps"},
    StoreRule{
        "timed_steps", "A completed run has the training clock of each of its timed steps.",
        "SELECT 'run ' || id || ': ' || n || ' of ' || timed_steps FROM (SELECT id, timed_steps, (SELECT count(*) FROM "
        "samples WHERE run_id = own.id AND metric = 'train/clock_ms') AS n FROM own) WHERE n IS NOT timed_steps"},
    StoreRule{
        "last_validation", "A completed run's final loss is that of its last validation.",
        "SELECT 'run ' || id || ': ' || ifnull(final_val_loss, 'none') || ', last validation ' || ifnull(last, 'none') "
        "FROM (SELECT id, final_val_loss, (SELECT value FROM samples WHERE run_id = own.id AND metric = 'val/loss' "
        "ORDER BY step DESC LIMIT 1) AS last FROM own) WHERE last IS NOT final_val_loss"},
    StoreRule{
        "train_ms", "A run's training clock is that after its last timed step.",
        "SELECT 'run ' || id || ': ' || train_ms || ' ms, after the last step ' || last FROM (SELECT id, train_ms, "
        "(SELECT value FROM samples WHERE run_id = own.id AND metric = 'train/clock_ms' ORDER BY step DESC LIMIT 1) AS "
        "last FROM own WHERE engine = 'nanobench-train') WHERE abs(train_ms - last) > 1e-6 * train_ms"},
    StoreRule{"plan_lines", "A plan's line is answered by a run of the same digest.",
              "SELECT 'plan ' || plan_lines.plan_id || ', line ' || plan_lines.position || ': run ' || runs.id FROM "
              "plan_lines JOIN runs ON runs.id = plan_lines.run_id WHERE runs.digest <> plan_lines.digest"},
    StoreRule{"answered_lines", "A plan's line is answered when the run that was made for it is there.",
              "SELECT 'plan ' || plan_lines.plan_id || ', line ' || plan_lines.position || ': run ' || max(runs.id) "
              "FROM plan_lines JOIN runs ON runs.plan_id = plan_lines.plan_id AND runs.position = plan_lines.position "
              "AND runs.digest = plan_lines.digest WHERE plan_lines.run_id IS NULL AND runs.outcome IN ('completed', "
              "'diverged') GROUP BY plan_lines.plan_id, plan_lines.position"},
    StoreRule{"baseline_suite", "A baseline is of its plan's suite.",
              "SELECT 'baseline ' || baselines.name FROM baselines JOIN plans ON plans.id = baselines.plan_id WHERE "
              "plans.suite <> baselines.suite"},
    StoreRule{
        "run_json", "A run's configuration is a JSON object.",
        "SELECT 'run ' || id FROM runs WHERE CASE WHEN json_valid(config) THEN json_type(config) <> 'object' ELSE "
        "TRUE END"},
    StoreRule{
        "environment_json", "An environment's facts are a JSON object of strings.",
        "SELECT 'environment ' || id FROM environments WHERE CASE WHEN NOT json_valid(facts) THEN TRUE WHEN "
        "json_type(facts) <> 'object' THEN TRUE ELSE EXISTS (SELECT 1 FROM json_each(facts) AS fact WHERE fact.type <> "
        "'text') END"},
    StoreRule{
        "plan_json", "A plan's cells, messages and command line are JSON lists.",
        "SELECT 'plan ' || id FROM plans WHERE CASE WHEN json_valid(cells) AND json_valid(messages) AND "
        "json_valid(argv) THEN json_type(cells) <> 'array' OR json_type(messages) <> 'array' OR json_type(argv) <> "
        "'array' ELSE TRUE END"},
    StoreRule{
        "times", "Times of day are written as 2026-01-31T23:59:59.123Z.",
        "SELECT 'run ' || id || ': ' || started_at FROM runs WHERE julianday(started_at) IS NULL OR started_at NOT "
        "GLOB "
        "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:*Z' OR (finished_at IS NOT NULL AND "
        "julianday(finished_at) IS NULL) UNION ALL SELECT 'plan ' || plan_id || ': ' || used_at FROM plan_uses WHERE "
        "julianday(used_at) IS NULL OR used_at NOT GLOB "
        "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:*Z'"},
    StoreRule{"order_of_times", "A run ends after it started.",
              "SELECT 'run ' || id || ': from ' || started_at || ' to ' || finished_at FROM runs WHERE finished_at < "
              "started_at"}};

void keep_if_broken(StoreCheck& check, StoreProblem problem) {
  if (problem.count > 0) check.problems.push_back(std::move(problem));
}

void check_integrity(Database& database, StoreCheck& check) {
  StoreProblem problem{.rule = "integrity", .text = "SQLite finds the file's pages whole."};
  Statement statement(database, "PRAGMA integrity_check");
  while (statement.step()) {
    if (statement.text(0) != "ok") problem.add(statement.text(0));
  }
  keep_if_broken(check, std::move(problem));
}

/// Before the store is opened, which may empty the log.
void check_log(const std::filesystem::path& file, StoreCheck& check) {
  const std::optional<std::string> damage = log_damage(file);
  if (!damage) return;
  check.problems.push_back({.rule = "write_ahead_log",
                            .text = "The store's last transactions, in its file -wal, are whole.",
                            .count = 1,
                            .where = {*damage}});
}

void check_tables(Database& database, StoreCheck& check) {
  try {
    check_structure(database, check.schema);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
    check.problems.push_back(
        {.rule = "schema", .text = "The tables are those of nanobench.", .count = 1, .where = {error.what()}});
  }
}

void check_foreign_keys(Database& database, StoreCheck& check) {
  StoreProblem problem{.rule = "foreign_keys", .text = "What a row points to is there."};
  Statement statement(database, "PRAGMA foreign_key_check");
  while (statement.step())
    problem.add(statement.text(0) + " points to a row of " + statement.text(2) + " that is not there");
  keep_if_broken(check, std::move(problem));
}

void check_rules(Database& database, StoreCheck& check) {
  for (const StoreRule& rule : kRules) {
    StoreProblem problem{.rule = rule.name, .text = rule.text};
    Statement statement(database, with_own_runs(rule.sql));
    while (statement.step()) problem.add(statement.text(0));
    keep_if_broken(check, std::move(problem));
  }
}

std::string place_of(const std::string& name, std::int64_t id) {
  return name + " " + std::to_string(id);
}

/// The digests of our own engine's evidence, computed from its rows. Rows of former schemas may have digests that this
/// version cannot compute.
void check_digests(Database& database, StoreCheck& check) {
  StoreProblem configs{.rule = "config_digest", .text = "A run's config_digest is that of its configuration."};
  StoreProblem runs{.rule = "run_digest", .text = "A run's digest is that of its columns."};
  Statement statement(database, "SELECT " + run_columns() +
                                    " FROM runs WHERE engine = 'nanobench-train' AND outcome IN "
                                    "('completed', 'diverged') AND checksum LIKE ? || ':%' ORDER BY id");
  statement.bind(kSchemaVersion);
  while (statement.step()) {
    const RunRecord run = read_run_row(statement);
    if (stored_config_digest(run.config) != run.config_digest) configs.add(place_of("run", run.id));
    if (run_digest(run) != run.digest) runs.add(place_of("run", run.id));
  }
  keep_if_broken(check, std::move(configs));
  keep_if_broken(check, std::move(runs));
}

void check_summaries(Database& database, StoreCheck& check) {
  StoreProblem problem{.rule = "summaries", .text = "A run's summary is that of its samples."};
  Statement statement(database, "SELECT run_id, median_step_ms, timed_samples FROM run_summaries");
  while (statement.step()) {
    const RunSummary summary = compute_summary(database, statement.integer(0));
    const bool is_same =
        summary.median_step_ms == statement.optional_real(1) && summary.timed_samples == statement.integer(2);
    if (!is_same) problem.add(place_of("run", statement.integer(0)));
  }
  keep_if_broken(check, std::move(problem));
}

/// The weights of finished runs. A folder of an interrupted one belongs to the run that continues it.
void check_weights(Database& database, const std::filesystem::path& file, StoreCheck& check) {
  StoreProblem problem{.rule = "weights", .text = "The files of weights that finished runs keep are there, unchanged."};
  Statement statement(
      database,
      "SELECT run_facts.run_id, name, value FROM run_facts JOIN runs ON runs.id = run_facts.run_id WHERE "
      "name GLOB ? || '*' AND outcome IN ('completed', 'diverged') ORDER BY run_facts.run_id, name");
  statement.bind(kWeightsFact);
  while (statement.step()) {
    for (const KeptFile& kept : kept_files({{statement.text(1), statement.text(2)}})) {
      const std::filesystem::path folder = weights_folder(file, statement.integer(0));
      if (const auto trouble = problem_of(folder, kept))
        problem.add(place_of("run", statement.integer(0)) + ": " + (folder / kept.name).string() + " " + *trouble);
    }
  }
  keep_if_broken(check, std::move(problem));
}

/// A plan's digest as stored, and as its columns have it.
struct PlanIdentity {
  std::int64_t id = 0;
  std::string stored;
  std::string computed;
};

/// Whether the plan is one of those, stored one after the other, that ran in turn with runs of their own.
bool ran_in_turn(const std::vector<PlanIdentity>& plans, std::size_t at) {
  constexpr std::size_t kMaxInTurn = 4;
  for (std::size_t count = 1; count <= kMaxInTurn; ++count) {
    for (std::size_t place = 0; place < count && place <= at; ++place) {
      const std::size_t begin = at - place;
      if (begin + count > plans.size()) continue;
      std::vector<std::string> digests;
      for (std::size_t i = begin; i < begin + count; ++i) digests.push_back(plans[i].computed);
      if (digest_in_turn(digests, place) == plans[at].stored) return true;
    }
  }
  return false;
}

void check_plan_digests(Database& database, StoreCheck& check) {
  StoreProblem problem{.rule = "plan_digest", .text = "A plan's digest is that of its columns."};
  Statement statement(database, "SELECT " + plan_columns() +
                                    " FROM plans WHERE CAST(checksum AS INTEGER) >= ? AND scale <> ? ORDER BY id");
  statement.bind(kFirstSealedSchema, kScaleOfLogs);
  std::vector<PlanIdentity> plans;
  while (statement.step()) {
    const std::int64_t id = statement.integer(0);
    try {
      plans.push_back({id, statement.text(1), plan_digest(read_plan_row(database, statement))});
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInternal) throw;
      problem.add(place_of("plan", id) + ": " + error.what());
    }
  }
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].computed != plans[i].stored && !ran_in_turn(plans, i)) problem.add(place_of("plan", plans[i].id));
  }
  keep_if_broken(check, std::move(problem));
}

void check_rows(const std::filesystem::path& file, StoreCheck& check) {
  Database database(file, read_only_uri(file), SQLITE_OPEN_READONLY);
  database.execute("BEGIN");  // one state of a store that somebody may be writing to; ends with the connection
  check.schema = check_identity(database, kSchemaVersion);
  if (check.schema == 0) return;  // an empty file: nothing is wrong with it
  check_tables(database, check);
  if (check.is_fine()) check_integrity(database, check);
  if (!check.is_fine()) return;  // counts from damaged pages would mislead
  check_foreign_keys(database, check);
  check_rules(database, check);
  check_weights(database, file, check);
  if (check.schema == kSchemaVersion) {
    for (StoreProblem& problem : checksum_problems(database)) check.problems.push_back(std::move(problem));
    check_digests(database, check);
    check_plan_digests(database, check);
    check_summaries(database, check);
  }
  check.runs = database.integer_of("SELECT count(*) FROM runs");
  check.samples = database.integer_of("SELECT count(*) FROM samples");
  check.plans = database.integer_of("SELECT count(*) FROM plans");
  check.running = database.integer_of("SELECT count(*) FROM runs WHERE outcome IS NULL");
}

}  // namespace

void StoreProblem::add(std::string place) {
  if (where.size() < kMaxPlaces) where.push_back(std::move(place));
  ++count;
}

StoreCheck check_store(const std::filesystem::path& file) {
  StoreCheck check;
  try {
    check_file(file, OpenMode::kReadOnly);
    check_log(file, check);
    check_rows(file, check);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
    check.problems.push_back(
        {.rule = "integrity", .text = "SQLite finds the file's pages whole.", .count = 1, .where = {error.what()}});
  }
  return check;
}

}  // namespace nanobench::results
