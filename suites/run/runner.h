/// Runs a plan: one engine process (group) per run, its events into the store, its end classified. A failed run is a
/// row with a reason, and the plan goes on. Prints nothing: a RunnerObserver is told.
///
/// One call at a time per process (it owns SIGINT and SIGTERM while it runs). Killed at any moment it loses at most the
/// current run: the same plan run again continues, each run exactly once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/run_event.h"
#include "results/store.h"
#include "suites/design/plan.h"

namespace nanobench::suites {

/// Told what happens, in the order of happening, on the caller's thread. Methods must be quick: they delay the reading
/// of events, never the engine's clock.
class RunnerObserver {
 public:
  virtual ~RunnerObserver() = default;
  /// Before the first run. `reusable` has one entry per planned run: true when a finished identical run is stored.
  virtual void on_plan(const Plan& /*plan*/, std::int64_t /*plan_id*/, const std::vector<bool>& /*reusable*/) {}
  virtual void on_run_started(const Plan& /*plan*/, const PlannedRun& /*run*/, std::int64_t /*run_id*/) {}
  virtual void on_event(const Plan& /*plan*/, const PlannedRun& /*run*/, const core::RunEvent& /*event*/) {}
  /// Also for reused runs (`is_reused`, no on_run_started before). record.result is set.
  virtual void on_run_finished(const Plan& /*plan*/, const PlannedRun& /*run*/, const results::RunRecord& /*record*/,
                               bool /*is_reused*/) {}
  /// About twice a second while a run says nothing: for clocks on a display.
  virtual void on_tick() {}
  /// One sentence for people: retries, another runner at work, an interruption.
  virtual void on_message(const std::string& /*text*/) {}
};

struct RunnerOptions {
  bool is_fresh = false;           ///< run again what is finished already
  bool is_own_evidence = false;    ///< only runs made for the plan count: an unfinished plan is continued, after a
                                   ///< finished one a new one begins
  bool is_machine_shared = false;  ///< run beside other runners of this machine: losses count, times do not
  std::vector<std::string> argv;   ///< stored with the plan
  double grace_seconds = 10;       ///< between asking a process to stop and killing it (after a second SIGINT: none)
  double wait_poll_seconds = 0.5;  ///< how often to look whether another runner finished a run that we need
};

struct SuiteRunResult {
  std::int64_t plan_id = 0;
  int completed = 0;            ///< new rows: completed
  int diverged = 0;             ///< new rows: diverged
  int reused = 0;               ///< finished before, or by another runner meanwhile
  int failed = 0;               ///< new rows: crashed, timed_out, out_of_memory, unsupported
  bool is_interrupted = false;  ///< exit 130; `run` again continues
  bool is_whole() const { return failed == 0 && !is_interrupted; }
};

/// Throws Error when the store or the file system fails (full disk, read-only): what is stored stays, nothing is half
/// written, the engine is stopped.
SuiteRunResult run_plan(const Plan& plan, results::Store& store, const RunnerOptions& options,
                        RunnerObserver& observer);

/// Several plans of equally many runs in turn: the first run of each, then the second of each in the opposite order,
/// and so on, so that a drift of the machine looks like none of them. One result for each plan. Throws as run_plan, and
/// Error{kInternal} for plans of different lengths.
std::vector<SuiteRunResult> run_in_turn(const std::vector<const Plan*>& plans, results::Store& store,
                                        const RunnerOptions& options, RunnerObserver& observer);

}  // namespace nanobench::suites
