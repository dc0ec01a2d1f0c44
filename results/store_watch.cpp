// Store: what a display asks every second.
#include "results/sqlite.h"
#include "results/store.h"

namespace nanobench::results {

std::optional<std::int64_t> Store::newest_plan_id(const std::optional<std::string>& suite) const {
  Statement statement(*database_, std::string("SELECT id FROM plans ") + (suite ? "WHERE suite = ? " : "") +
                                      "ORDER BY created_at DESC, id DESC LIMIT 1");
  if (suite) statement.bind(*suite);
  return statement.step() ? std::optional(statement.integer(0)) : std::nullopt;
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
                "median_step_ms, threads, owner_host, owner_boot, owner_namespace, owner_pid, owner_started FROM runs "
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
