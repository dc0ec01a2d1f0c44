// Fills a store with short runs of several revisions, at times that are long ago.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/checksums.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "results/sqlite.h"
#include "results/store.h"

namespace nanobench::reports {

struct StoredRun {
  std::string revision;
  bool is_dirty = false;
  std::string at;  ///< when it began, ISO 8601
  std::string suite = "weekly";
  std::string cell = "record12";
  std::uint64_t seed = 1;
  std::string program = "program";
  std::string engine = "mock";
  std::string config = "{}";
  std::string host = "here";
  double loss = 3.28;
  double step_ms = 100.0;
  core::RunOutcome outcome = core::RunOutcome::kCompleted;
  std::string load = "1.0";     ///< above 4 it counts as disturbed
  bool has_environment = true;  ///< false: it ended before it said what it is
};

inline results::NewRun new_run_of(const StoredRun& run) {
  results::NewRun row;
  row.digest = run.suite + "/" + run.cell + "/" + run.program + "/" + run.revision + "/" + std::to_string(run.seed);
  row.suite = run.suite;
  row.cell = run.cell;
  row.scale = "smoke";
  row.seed = run.seed;
  row.config = run.config;
  row.config_digest = "config of " + run.cell + run.config;
  row.data_name = "synthetic";
  row.data_digest = "data";
  row.dtype = "float32";
  row.threads = 2;
  row.engine = run.engine;
  row.engine_version = run.program;
  row.hardware = "x86_64 | test | 2 cores";
  return row;
}

/// Returns the run's number.
inline std::int64_t add_run(results::Store& store, const StoredRun& run) {
  results::Owner owner = results::this_process();
  owner.host = run.host;
  const std::int64_t id = std::get<results::Claimed>(store.claim_run(new_run_of(run), owner, true)).run_id;
  if (run.has_environment)
    store.set_environment(id, {{"git_revision", run.revision}, {"git_dirty", run.is_dirty ? "true" : "false"}});
  results::RunBatch batch;
  batch.samples[results::kStepMs] = {{1, run.step_ms}};
  batch.samples[results::kClockMs] = {{1, run.step_ms}};
  batch.facts = {{"start/load_1m", run.load}};
  results::RunResult result{.outcome = run.outcome};
  if (run.outcome == core::RunOutcome::kCompleted) {
    result.final_val_loss = run.loss;
    result.train_ms = run.step_ms;
    result.steps = result.timed_steps = 1;
    result.peak_bytes = 100'000'000;
  } else {
    result.message = "as planted";
  }
  store.finish_run(id, result, batch);
  return id;
}

/// Adds them and sets their times back.
inline void fill_trend_store(const std::filesystem::path& file, const std::vector<StoredRun>& runs) {
  std::vector<std::pair<std::int64_t, std::string>> times;
  {
    results::Store store(file);
    for (const StoredRun& run : runs) times.emplace_back(add_run(store, run), run.at);
  }
  results::Database database(file, file.string(), SQLITE_OPEN_READWRITE);
  for (const auto& [id, at] : times) {
    results::Statement statement(database, "UPDATE runs SET started_at = ? WHERE id = ?");
    statement.bind(at, id);
    statement.execute();
  }
  results::seal_everything(database, results::kSchemaVersion);
}

}  // namespace nanobench::reports
