#include "suites/run/warmup.h"

#include <algorithm>
#include <optional>

#include "results/identity.h"
#include "results/provenance.h"
#include "suites/run/plan_runner.h"

namespace nanobench::suites {
namespace {

/// The run of the cell with the smallest seed, made a warm-up: the same command, and an identity of its own.
Plan warmup_plan(const Plan& plan, std::size_t cell, std::int64_t number) {
  Plan warmups = plan;
  warmups.suite.name = kWarmupSuite;
  warmups.matrix = {.cells = {plan.matrix.cells[cell]}, .contrasts = {}, .messages = {}};
  warmups.runs.clear();
  for (const PlannedRun& run : plan.runs) {
    if (run.cell != cell) continue;
    if (warmups.runs.empty() || run.seed < warmups.runs.front().seed) warmups.runs = {run};
  }
  PlannedRun& run = warmups.runs.front();
  run.position = run.cell = 0;
  for (core::Json* settings : {&run.spec.external, &warmups.matrix.cells.front().external}) {
    settings->erase("warmup");  // it has none itself
    // Caches lie in the folder, and two checkouts of the same files have one each.
    (*settings)["warmup_run"] = {{"number", number}, {"folder", settings->at("folder")}};
  }
  run.digest = results::run_digest(stored_run(warmups, run));
  return warmups;
}

/// Keeps how the warm-up ends, and shows none of its events.
class WarmupObserver : public RunnerObserver {
 public:
  explicit WarmupObserver(RunnerObserver& observer) : observer_(observer) {}

  void on_run_finished(const Plan& /*plan*/, const PlannedRun& /*run*/, const results::RunRecord& record,
                       bool /*is_reused*/) override {
    if (record.is_evidence()) return;
    failure = enum_name(record.result->outcome) + (record.result->message.empty() ? "" : ": " + record.result->message);
  }
  void on_tick() override { observer_.on_tick(); }
  void on_message(const std::string& text) override { observer_.on_message(text); }

  std::optional<std::string> failure;

 private:
  RunnerObserver& observer_;
};

bool was_made_here(const results::Store& store, const std::string& digest) {
  const std::optional<std::int64_t> id = store.find_evidence(digest);
  return id && store.run(*id).owner == results::this_process();
}

}  // namespace

bool warm_up(const Plan& plan, const PlannedRun& run, const EnginePlace& place, results::Store& store,
             const RunnerOptions& options, RunnerObserver& observer, InterruptGuard& interrupts) {
  const std::int64_t count = run.spec.external.is_null() ? 0 : run.spec.external.value("warmup", std::int64_t{0});
  const std::string& label = plan.cell_of(run).label;
  for (std::int64_t number = 1; number <= count && interrupts.count() == 0; ++number) {
    const Plan warmups = warmup_plan(plan, run.cell, number);
    if (was_made_here(store, warmups.runs.front().digest)) continue;
    observer.on_warmup(plan, label);
    const RunnerOptions own{.is_fresh = true,
                            .is_machine_shared = options.is_machine_shared,
                            .grace_seconds = options.grace_seconds,
                            .wait_poll_seconds = options.wait_poll_seconds};
    WarmupObserver end(observer);
    PlanRunner runner(warmups, std::nullopt, store, own, end, interrupts);
    runner.begin();
    runner.run_alone(0, place);
    if (!end.failure || interrupts.count() > 0) continue;
    observer.on_message("the warm-up of " + label + " ended as " + *end.failure +
                        "; what runs next may find no compiled kernels, and keeps no times");
    return false;
  }
  return true;
}

}  // namespace nanobench::suites
