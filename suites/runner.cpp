#include "suites/runner.h"

#include <poll.h>

#include "core/base/error.h"
#include "results/provenance.h"
#include "suites/interrupt.h"
#include "suites/run_session.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::RunOutcome;
using results::RunRecord;

/// The state of one run_plan call.
class PlanRunner {
 public:
  PlanRunner(const Plan& plan, results::Store& store, const RunnerOptions& options, RunnerObserver& observer)
      : plan_(plan), store_(store), options_(options), observer_(observer) {}

  SuiteRunResult run() {
    begin();
    for (const PlannedRun& run : plan_.runs) {
      if (!process(run)) break;
    }
    if (interrupts_.count() > 0) {
      result_.is_interrupted = true;
      observer_.on_message("interrupted; the same command continues where this one stopped");
    }
    return result_;
  }

 private:
  void begin() {
    if (const std::int64_t count = store_.release_dead_runs(); count > 0) {
      observer_.on_message(std::to_string(count) + (count == 1 ? " run was" : " runs were") +
                           " left behind by a process that is gone; what this suite needs of it is run again");
    }
    result_.plan_id = store_.ensure_plan(stored_plan(plan_, options_.argv), options_.is_fresh);
    std::vector<bool> reusable;
    for (const PlannedRun& run : plan_.runs)
      reusable.push_back(!options_.is_fresh && store_.find_evidence(run.digest).has_value());
    observer_.on_plan(plan_, result_.plan_id, reusable);
  }

  /// Until the run is answered. False: stop here.
  bool process(const PlannedRun& run) {
    results::NewRun row = stored_run(plan_, run);
    row.plan_id = result_.plan_id;
    bool is_first_look = true;
    while (interrupts_.count() == 0) {
      const results::Claim claim = store_.claim_run(row, owner_, options_.is_fresh, !options_.is_machine_shared);
      if (const auto* claimed = std::get_if<results::Claimed>(&claim)) {
        execute(run, claimed->run_id);
        return true;
      }
      if (const auto* done = std::get_if<results::AlreadyDone>(&claim)) {
        ++result_.reused;
        observer_.on_run_finished(plan_, run, done->run, true);
        return true;
      }
      const RunRecord& other = std::get<results::AlreadyRunning>(claim).run;
      if (is_first_look) say_waiting(other);
      is_first_look = false;
      pause();
    }
    return false;
  }

  void say_waiting(const RunRecord& other) {
    observer_.on_message("waiting: process " + std::to_string(other.owner.pid) + " on " + other.owner.host +
                         " is running " + other.cell + " (seed " + std::to_string(other.seed) +
                         "), and timed runs have the machine to themselves");
  }

  void pause() {
    pollfd fd = {interrupts_.fd(), POLLIN, 0};
    poll(&fd, 1, static_cast<int>(options_.wait_poll_seconds * 1000));
    interrupts_.drain();
    observer_.on_tick();
  }

  void execute(const PlannedRun& run, std::int64_t run_id) {
    observer_.on_run_started(plan_, run, run_id);
    try {
      RunSession(plan_, run, run_id, store_, options_, interrupts_, observer_).execute();
    } catch (const std::exception& error) {
      give_up(run_id, error.what());
      throw;
    }
    const RunRecord record = store_.run(run_id);
    count(*record.result);
    observer_.on_run_finished(plan_, run, record, false);
  }

  /// After an error of ours the row must not look as if it were running. If even that cannot be written, the next
  /// runner finds that our process is gone.
  void give_up(std::int64_t run_id, const std::string& why) noexcept {
    try {
      results::RunResult result;
      result.outcome = RunOutcome::kInterrupted;
      result.message = "the runner had to stop: " + why;
      store_.finish_run(run_id, result);
    } catch (...) {
    }
  }

  void count(const results::RunResult& result) {
    switch (result.outcome) {
      case RunOutcome::kCompleted: ++result_.completed; return;
      case RunOutcome::kDiverged: ++result_.diverged; return;
      case RunOutcome::kInterrupted:
        if (interrupts_.count() > 0) return;
        ++result_.failed;
        return;
      default: ++result_.failed;
    }
  }

  const Plan& plan_;
  results::Store& store_;
  const RunnerOptions& options_;
  RunnerObserver& observer_;
  InterruptGuard interrupts_;
  const results::Owner owner_ = results::this_process();
  SuiteRunResult result_;
};

}  // namespace

SuiteRunResult run_plan(const Plan& plan, results::Store& store, const RunnerOptions& options,
                        RunnerObserver& observer) {
  return PlanRunner(plan, store, options, observer).run();
}

}  // namespace nanobench::suites
