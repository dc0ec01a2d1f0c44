#include "suites/design/pilot_plan.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "results/identity.h"

namespace nanobench::suites {
namespace {

constexpr std::int64_t kUntimedSteps = 1;  // cold
constexpr std::int64_t kTimedSteps = 3;

void shorten(core::TrainConfig& config) {
  compress_schedule(config, kUntimedSteps, kTimedSteps, "pilot");
}

}  // namespace

void compress_schedule(core::TrainConfig& config, std::int64_t untimed_steps, std::int64_t timed_steps,
                       const std::string& source) {
  const std::int64_t all = untimed_steps + timed_steps;
  config.schedule.num_steps = config.run.stop_after = config.run.val_every = all;
  config.schedule.learning_rate.warmup_steps = std::min(config.schedule.learning_rate.warmup_steps, all - 1);
  config.run.untimed_steps = untimed_steps;
  config.run.warmup_iterations = 0;
  config.run.gradient_steps.clear();
  config.data.val_sequences = config.data.ranks * config.data.loader.sequences_per_read;
  config.init.file.reset();
  core::check_train_config(config, source);
}

bool has_pilot(const PlannedRun& run) {
  if (!run.spec.mock.is_null() || !run.spec.external.is_null() || run.spec.operation) return false;
  if (run.spec.config.run.stop_after <= kUntimedSteps + kTimedSteps) return false;
  try {
    core::TrainConfig config = run.spec.config;
    shorten(config);
    return true;
  } catch (const core::Error& error) {
    rethrow_internal(error);
    return false;
  }
}

Plan pilot_plan(const Plan& plan, const std::vector<std::size_t>& runs) {
  Plan pilots;
  pilots.suite = plan.suite;
  pilots.suite.name = kPilotSuite;
  pilots.data = plan.data;
  pilots.engine = plan.engine;
  pilots.hardware = plan.hardware;
  pilots.threads = plan.threads;
  for (const std::size_t index : runs) {
    Cell cell = plan.cell_of(plan.runs[index]);
    cell.arm = 0;
    shorten(cell.config);
    PlannedRun run = plan.runs[index];
    run.position = run.cell = pilots.matrix.cells.size();
    run.seed = run.spec.seed = 1;  // one pilot of a configuration, whatever seeds are asked for
    run.spec.config = cell.config;
    run.spec.evaluations.clear();
    pilots.matrix.cells.push_back(std::move(cell));
    run.digest = results::run_digest(stored_run(pilots, run));
    pilots.runs.push_back(std::move(run));
  }
  return pilots;
}

}  // namespace nanobench::suites
