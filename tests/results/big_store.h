/// A store with many long runs, made quickly: for tests of what queries cost, and for measuring it.
#pragma once

#include <cmath>
#include <string>

#include "results/identity.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "results/store.h"

namespace nanobench::results {

struct BigStore {
  int cells = 20;
  int seeds = 5;  ///< of each cell
  int steps = 1500;
  int val_every = 125;
  int untimed_steps = 10;

  int runs() const { return cells * seeds; }
};

inline NewRun big_store_run(int cell, int seed) {
  NewRun run;
  run.suite = "big";
  run.cell = "cell" + std::to_string(cell);
  run.scale = "nano";
  run.seed = static_cast<std::uint64_t>(seed);
  run.digest = "big/" + run.cell + "/" + std::to_string(seed);
  run.config = R"({"data": {"sequence_length": 1024, "sequences_per_step": 8}, "filler": ")" + std::string(3000, 'x') +
               "\"}";  // a real configuration is as long
  run.config_digest = "config" + std::to_string(cell);
  run.data_name = "synthetic";
  run.data_digest = "data";
  run.dtype = "float32";
  run.threads = 2;
  run.engine = "mock";
  run.engine_version = "1";
  run.hardware = "x86_64 | test | 2 cores";
  return run;
}

inline NewPlan big_store_plan(const BigStore& size) {
  NewPlan plan;
  plan.suite = "big";
  plan.title = "Many runs";
  plan.design = results::Design::kSweep;
  plan.scale = "nano";
  plan.data_name = "synthetic";
  for (int cell = 0; cell < size.cells; ++cell) {
    const NewRun run = big_store_run(cell, 0);
    plan.cells.push_back({run.cell, std::nullopt, {"setting " + std::to_string(cell)}, {}, run.config_digest});
  }
  for (int i = 0; i < size.runs(); ++i) {
    const NewRun run = big_store_run(i % size.cells, i / size.cells);
    plan.lines.push_back({i, run.cell, run.seed, run.digest, std::nullopt});
  }
  plan.digest = plan_digest(plan);
  return plan;
}

/// Losses and times of one run; deterministic.
inline RunBatch big_store_batch(const BigStore& size, int cell, int seed) {
  RunBatch batch;
  double clock_ms = 0;
  for (int step = 0; step <= size.steps; ++step) {
    const double loss = 3.3 + 7.0 * std::exp(-6.0 * step / size.steps) + 0.001 * cell + 0.0001 * seed;
    if (step == size.steps || step % size.val_every == 0) {
      batch.samples[kValLoss].push_back({step, loss});
      if (clock_ms > 0) batch.samples[kValClockMs].push_back({step, clock_ms});
    }
    if (step == size.steps) break;
    const double ms = 100.0 + cell + (step * 37 % 11);
    batch.samples[kTrainLoss].push_back({step, loss});
    batch.samples[kStepMs].push_back({step, ms});
    if (step < size.untimed_steps) continue;
    clock_ms += ms;
    batch.samples[kClockMs].push_back({step, clock_ms});
  }
  batch.facts = {{"start/load_1m", "1.0"}, {"end/load_1m", "2.0"}, {"start/time", utc_now()}};
  return batch;
}

/// Adds what is not there yet; returns the plan's id. `cpu`: fact of the first run's environment; empty: it has none.
inline std::int64_t fill_big_store(Store& store, const BigStore& size, const std::string& cpu = "",
                                   const Owner& owner = this_process()) {
  const std::int64_t plan_id = store.ensure_plan(big_store_plan(size));
  for (int i = 0; i < size.runs(); ++i) {
    NewRun run = big_store_run(i % size.cells, i / size.cells);
    run.plan_id = plan_id;
    run.position = i;
    const RunClaim claim = store.claim_run(run, owner);
    if (!std::holds_alternative<Claimed>(claim)) continue;
    const std::int64_t id = std::get<Claimed>(claim).run_id;
    if (i == 0 && !cpu.empty()) store.set_environment(id, {{"cpu", cpu}});
    RunBatch batch = big_store_batch(size, i % size.cells, i / size.cells);
    RunResult result;
    result.outcome = core::RunOutcome::kCompleted;
    result.final_val_loss = batch.samples[kValLoss].back().value;
    result.train_ms = batch.samples[kClockMs].back().value;
    result.steps = size.steps;
    result.timed_steps = size.steps - size.untimed_steps;
    result.peak_bytes = 100'000'000;
    result.exit_code = 0;
    store.finish_run(id, result, batch);
  }
  return plan_id;
}

}  // namespace nanobench::results
