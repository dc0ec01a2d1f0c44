/// The single list of the columns of `runs`, in the order in which exports show them. All code that reads, writes,
/// exports or documents a run visits it. Private to results/.
///
/// Visitor requirements: column(name, member); result(name, run.result, &RunResult::member) for columns set at the end
/// of a run, which are NULL while it runs.
#pragma once

#include "results/records.h"
#include "results/sqlite.h"

namespace nanobench::results {

/// The columns that people compare and export.
template <class Visitor, class Run>
void visit_run_figures(Visitor& v, Run& run) {
  v.column("id", run.id);
  v.column("suite", run.suite);
  v.column("cell", run.cell);
  v.column("record", run.record);
  v.column("scale", run.scale);
  v.column("seed", run.seed);
  v.result("outcome", run.result, &RunResult::outcome);
  v.result("message", run.result, &RunResult::message);
  v.column("started_at", run.started_at);
  v.column("finished_at", run.finished_at);
  v.result("final_val_loss", run.result, &RunResult::final_val_loss);
  v.result("train_ms", run.result, &RunResult::train_ms);
  v.result("steps", run.result, &RunResult::steps);
  v.result("timed_steps", run.result, &RunResult::timed_steps);
  v.result("peak_bytes", run.result, &RunResult::peak_bytes);
  v.result("exit_code", run.result, &RunResult::exit_code);
  v.column("data_name", run.data_name);
  v.column("data_digest", run.data_digest);
  v.column("data_floor_nats", run.data_floor_nats);
  v.column("dtype", run.dtype);
  v.column("threads", run.threads);
  v.column("engine", run.engine);
  v.column("engine_version", run.engine_version);
  v.column("hardware", run.hardware);
  v.column("digest", run.digest);
  v.column("config_digest", run.config_digest);
  v.column("plan_id", run.plan_id);
  v.column("position", run.position);
  v.column("device", run.device);
  v.column("kernels", run.kernels);
  v.column("arm", run.arm);
}

/// The other columns of the row.
template <class Visitor, class Run>
void visit_run_origin(Visitor& v, Run& run) {
  v.column("config", run.config);
  v.column("mock", run.mock);
  v.column("environment_id", run.environment_id);
  v.column("owner_host", run.owner.host);
  v.column("owner_boot", run.owner.boot_id);
  v.column("owner_namespace", run.owner.pid_namespace);
  v.column("owner_pid", run.owner.pid);
  v.column("owner_started", run.owner.pid_started);
  v.column("heartbeat_at", run.heartbeat_at);
}

/// All names, as the list of a SELECT.
std::string run_columns();
/// Reads a row of these columns.
RunRecord read_run_row(const Statement& row);
/// Inserts every column except the id, which is returned.
std::int64_t insert_run_row(Database& database, const RunRecord& run);
/// Ends the run, whose other rows must be complete: writes its checksum too. A clock that was set back ends it when it
/// started. False if the run is unknown or already has a result.
bool write_result(Database& database, std::int64_t run_id, const RunResult& result, const std::string& finished_at);

/// The summary of a run from its samples: two ordered scans, about a millisecond for 1500 steps.
RunSummary compute_summary(Database& database, std::int64_t run_id);
/// Computes the summary and stores it. Call inside a transaction.
RunSummary store_summary(Database& database, std::int64_t run_id);

}  // namespace nanobench::results
