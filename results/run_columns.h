/// The one list of the columns of `runs`, in the order in which exports show them. What reads, writes, exports or
/// documents a run visits it. Private to results/.
///
/// Visitor requirements: column(name, member); result(name, run.result, &RunResult::member) for what the end of a run
/// adds, NULL while it runs.
#pragma once

#include "results/records.h"
#include "results/sqlite.h"

namespace nanobench::results {

/// What people compare and export.
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

/// What else the row holds.
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
/// A row of them.
RunRecord read_run_row(const Statement& row);
/// Everything but the number, which is returned.
std::int64_t insert_run_row(Database& database, const RunRecord& run);
/// False when the run is unknown or has a result already.
bool write_result(Database& database, std::int64_t run_id, const RunResult& result, const std::string& finished_at);

}  // namespace nanobench::results
