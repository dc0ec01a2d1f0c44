// Store: reading.
#include <algorithm>

#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "results/metric.h"
#include "results/plan_rows.h"
#include "results/run_columns.h"
#include "results/sqlite.h"
#include "results/store.h"

namespace nanobench::results {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;

std::string where_of(const RunFilter& filter) {
  std::string where = " WHERE TRUE";
  if (!filter.ids.empty()) {
    where += " AND id IN (";
    for (std::size_t i = 0; i < filter.ids.size(); ++i) where += (i == 0 ? "" : ", ") + std::to_string(filter.ids[i]);
    where += ")";
  }
  if (filter.is_running) where += " AND outcome IS NULL";
  const auto add = [&where](bool is_set, const char* column) {
    if (is_set) where += std::string(" AND ") + column + " = ?";
  };
  add(filter.suite.has_value(), "suite");
  add(filter.cell.has_value(), "cell");
  add(filter.digest.has_value(), "digest");
  add(filter.scale.has_value(), "scale");
  add(filter.plan_id.has_value(), "plan_id");
  add(filter.outcome.has_value(), "outcome");
  return where;
}

void bind_filter(Statement& statement, const RunFilter& filter) {
  if (filter.suite) statement.bind(*filter.suite);
  if (filter.cell) statement.bind(*filter.cell);
  if (filter.digest) statement.bind(*filter.digest);
  if (filter.scale) statement.bind(*filter.scale);
  if (filter.plan_id) statement.bind(*filter.plan_id);
  if (filter.outcome) statement.bind(enum_name(*filter.outcome));
}

}  // namespace

std::vector<RunRecord> Store::runs(const RunFilter& filter) const {
  std::string sql = "SELECT " + run_columns() + " FROM runs" + where_of(filter) + " ORDER BY id";
  if (filter.limit) sql += " DESC LIMIT " + std::to_string(*filter.limit);
  Statement statement(*database_, sql);
  bind_filter(statement, filter);
  std::vector<RunRecord> runs;
  while (statement.step()) runs.push_back(read_run_row(statement));
  for (RunRecord& run : runs) add_engine_facts(run);
  if (filter.limit) std::reverse(runs.begin(), runs.end());
  return runs;
}

RunRecord Store::run(std::int64_t id) const {
  Statement statement(*database_, "SELECT " + run_columns() + " FROM runs WHERE id = ?");
  statement.bind(id);
  if (!statement.step()) {
    throw core::Refusal(
        ErrorCode::kNotFound, core::Reason::kNoRun,
        "database " + file_.string() + " has no run " + std::to_string(id) + "; " + held_ids(*database_, "run", file_),
        std::to_string(id));
  }
  RunRecord run = read_run_row(statement);
  add_engine_facts(run);
  return run;
}

/// Every run is read through this; broken facts are ignored.
Store::EngineFacts Store::engine_facts(const std::string& facts) {
  const Json json = core::json_or_null(facts);
  const auto fact = [&](const char* name) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  EngineFacts told{.gpu = fact("engine/gpu"),
                   .seat = fact("engine/seat"),
                   .no_kernel_for = core::read_step_parts(fact("engine/no_kernel_for"))};
  if (told.gpu.empty()) return told;
  if (const std::string uuid = fact("engine/gpu_uuid"); !uuid.empty()) told.gpu += " (" + uuid + ")";
  if (const std::string driver = fact("engine/driver"); !driver.empty()) told.gpu += ", driver " + driver;
  return told;
}

void Store::add_engine_facts(RunRecord& run) const {
  if (!run.environment_id) return;
  const auto [known, is_new] = engine_facts_.try_emplace(*run.environment_id);
  if (is_new) {
    Statement statement(*database_, "SELECT facts FROM environments WHERE id = ?");
    statement.bind(*run.environment_id);
    if (statement.step()) known->second = engine_facts(statement.text(0));
  }
  run.gpu = known->second.gpu;
  run.seat = known->second.seat;
  run.no_kernel_for = known->second.no_kernel_for;
}

std::vector<Sample> Store::samples(std::int64_t run_id, const std::string& metric) const {
  Statement statement(*database_, "SELECT step, value FROM samples WHERE run_id = ? AND metric = ? ORDER BY step");
  statement.bind(run_id, metric);
  std::vector<Sample> samples;
  while (statement.step()) samples.push_back({statement.integer(0), statement.real(1)});
  return samples;
}

std::map<std::string, double> Store::phase_means(std::int64_t run_id) const {
  // By the run's metric tags, so that each metric is read by key.
  Statement statement(*database_,
                      "SELECT avg(value) FROM samples WHERE run_id = ?1 AND metric = ?2 AND step IN (SELECT step FROM "
                      "samples WHERE run_id = ?1 AND metric = ?3)");
  const std::string prefix = kPhasePrefix, suffix = "_ms";
  std::map<std::string, double> means;
  for (const std::string& tag : metrics(run_id)) {
    if (!tag.starts_with(prefix) || !tag.ends_with(suffix) || tag.size() <= prefix.size() + suffix.size()) continue;
    statement.rebind(1, run_id, tag, std::string(kClockMs));
    const std::optional<double> mean = statement.step() ? statement.optional_real(0) : std::nullopt;
    if (mean) means[tag.substr(prefix.size(), tag.size() - prefix.size() - suffix.size())] = *mean;
    statement.reset();
  }
  return means;
}

std::vector<std::string> Store::metrics(std::int64_t run_id) const {
  // Jumps from one tag to the next by key; DISTINCT would read every sample.
  Statement statement(*database_, "SELECT min(metric) FROM samples WHERE run_id = ?1 AND metric > ?2");
  std::vector<std::string> tags;
  while (true) {
    statement.rebind(1, run_id, tags.empty() ? std::string() : tags.back());
    const std::optional<std::string> next = statement.step() ? statement.optional_text(0) : std::nullopt;
    statement.reset();
    if (!next) return tags;
    tags.push_back(*next);
  }
}

std::vector<RunMessage> Store::messages(std::int64_t run_id) const {
  Statement statement(*database_, "SELECT kind, text FROM messages WHERE run_id = ? ORDER BY id");
  statement.bind(run_id);
  std::vector<RunMessage> messages;
  while (statement.step()) {
    // A kind that only a newer version knows is still worth showing.
    messages.push_back(
        {enum_value<RunMessageKind>(statement.text(0)).value_or(RunMessageKind::kNote), statement.text(1)});
  }
  return messages;
}

std::optional<EnvironmentRecord> Store::environment(std::int64_t environment_id) const {
  Statement statement(*database_, "SELECT id, digest, facts FROM environments WHERE id = ?");
  statement.bind(environment_id);
  if (!statement.step()) return std::nullopt;
  const std::string what = "database " + file_.string() + ": environment " + std::to_string(environment_id);
  auto facts = core::read_values(
      what, [&] { return core::parse_json(statement.text(2), what).get<std::map<std::string, std::string>>(); });
  return EnvironmentRecord{statement.integer(0), statement.text(1), std::move(facts)};
}

std::map<std::string, std::string> Store::run_facts(std::int64_t run_id) const {
  Statement statement(*database_, "SELECT name, value FROM run_facts WHERE run_id = ?");
  statement.bind(run_id);
  std::map<std::string, std::string> facts;
  while (statement.step()) facts[statement.text(0)] = statement.text(1);
  return facts;
}

// --- queries of a display, every second ---

std::optional<std::int64_t> Store::newest_plan_id(const std::optional<std::string>& suite) const {
  const std::string of_suite = suite ? "WHERE suite = ? " : "";
  Statement statement(
      *database_, "SELECT id FROM (SELECT * FROM (SELECT id, created_at AS moment FROM plans " + of_suite +
                      "ORDER BY created_at DESC, id DESC LIMIT 1) UNION ALL SELECT * FROM (SELECT plan_id, used_at "
                      "FROM plan_uses JOIN plans ON id = plan_id " +
                      of_suite + "ORDER BY used_at DESC, plan_id DESC LIMIT 1)) ORDER BY moment DESC, id DESC LIMIT 1");
  if (suite) statement.bind(*suite, *suite);
  return statement.step() ? std::optional(statement.integer(0)) : std::nullopt;
}

std::vector<PlanName> Store::newest_plan_names(std::int64_t limit) const {
  Statement statement(
      *database_,
      "WITH newest AS (SELECT plans.id AS id, coalesce(used_at, created_at) AS moment FROM plans LEFT "
      "JOIN plan_uses ON plan_id = plans.id ORDER BY moment DESC, plans.id DESC LIMIT ?) SELECT plans.id, "
      "suite, created_at FROM newest JOIN plans ON plans.id = newest.id ORDER BY moment DESC, plans.id DESC");
  statement.bind(limit);
  std::vector<PlanName> names;
  while (statement.step()) names.push_back({statement.integer(0), statement.text(1), statement.text(2)});
  return names;
}

std::vector<RunName> Store::newest_run_names(std::int64_t limit) const {
  Statement statement(*database_, "SELECT id, suite, cell, seed FROM runs ORDER BY id DESC LIMIT ?");
  statement.bind(limit);
  std::vector<RunName> names;
  while (statement.step()) {
    names.push_back({.id = statement.integer(0),
                     .suite = statement.text(1),
                     .cell = statement.text(2),
                     .seed = static_cast<std::uint64_t>(statement.integer(3))});
  }
  return names;
}

std::vector<PlanAnswer> Store::answers(std::int64_t plan_id) const {
  Statement statement(*database_, "SELECT position, run_id FROM plan_lines WHERE plan_id = ? ORDER BY position");
  statement.bind(plan_id);
  std::vector<PlanAnswer> answers;
  while (statement.step()) answers.push_back({statement.integer(0), statement.optional_integer(1)});
  return answers;
}

std::optional<RunGlance> Store::glance(std::int64_t run_id) const {
  Statement row(*database_,
                "SELECT id, digest, plan_id, outcome, message, started_at, heartbeat_at, finished_at, final_val_loss, "
                "median_step_ms, threads, owner_host, owner_boot, owner_namespace, owner_pid, owner_started, CASE WHEN "
                "outcome = 'completed' AND train_ms > 0 AND timed_steps > 0 THEN train_ms / timed_steps END FROM runs "
                "LEFT JOIN run_summaries ON run_summaries.run_id = runs.id WHERE runs.id = ?");
  row.bind(run_id);
  if (!row.step()) return std::nullopt;
  RunGlance run;
  run.id = row.integer(0);
  run.digest = row.text(1);
  run.plan_id = row.optional_integer(2);
  if (const auto outcome = row.optional_text(3))
    run.outcome = enum_value<core::RunOutcome>(*outcome).value_or(core::RunOutcome::kCrashed);
  run.message = row.text(4);
  run.started_at = row.text(5);
  run.heartbeat_at = row.text(6);
  run.finished_at = row.optional_text(7);
  run.final_val_loss = row.optional_real(8);
  run.median_step_ms = row.optional_real(9);
  run.threads = static_cast<int>(row.integer(10));
  run.owner = {row.text(11), row.text(12), row.text(13), row.integer(14), row.integer(15)};
  run.mean_step_ms = row.optional_real(16);
  return run;
}

std::vector<Sample> Store::samples_after(std::int64_t run_id, const std::string& metric, std::int64_t step) const {
  Statement statement(*database_,
                      "SELECT step, value FROM samples WHERE run_id = ? AND metric = ? AND step > ? ORDER BY step");
  statement.bind(run_id, metric, step);
  std::vector<Sample> samples;
  while (statement.step()) samples.push_back({statement.integer(0), statement.real(1)});
  return samples;
}

}  // namespace nanobench::results
