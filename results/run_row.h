/// The columns of `runs` in the order that read_run_row expects. Private to results/.
#pragma once

#include "results/records.h"
#include "results/sqlite.h"

namespace nanobench::results {

inline constexpr const char* kRunColumns =
    "id, digest, suite, cell, record, scale, seed, outcome, message, started_at, finished_at, final_val_loss, "
    "train_ms, steps, timed_steps, peak_bytes, exit_code, config, config_digest, data_name, data_digest, "
    "data_floor_nats, dtype, threads, engine, engine_version, hardware, environment_id, plan_id, position, owner_host, "
    "owner_boot, owner_namespace, owner_pid, owner_started";

RunRecord read_run_row(const Statement& row);

}  // namespace nanobench::results
