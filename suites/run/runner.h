/// Runs a plan: starts one engine process (group) per run, stores its events and classifies its end. A failed run
/// becomes a row with a reason, and the plan goes on. Prints nothing; notifies a RunnerObserver.
///
/// One call at a time per process (it owns SIGINT and SIGTERM while it runs). A kill at any moment loses at most the
/// current run: running the same plan again continues it, each run exactly once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/protocol/run_event.h"
#include "results/store.h"
#include "results/weights.h"
#include "suites/design/plan.h"

namespace nanobench::suites {

/// Seconds by the label of a cell.
using CellSeconds = std::map<std::string, double>;

/// Notified of events in the order in which they happen, on the caller's thread. Methods must be quick: they delay the
/// reading of events, but never the engine's clock.
class RunnerObserver {
 public:
  virtual ~RunnerObserver() = default;
  /// Before the first run. `reusable` has one entry per planned run: true if a finished identical run is stored.
  virtual void on_plan(const Plan& /*plan*/, std::int64_t /*plan_id*/, const std::vector<bool>& /*reusable*/) {}
  virtual void on_run_started(const Plan& /*plan*/, const PlannedRun& /*run*/, std::int64_t /*run_id*/) {}
  /// Before the first run: the first steps of a cell are tried now, or are known to work.
  virtual void on_pilot(const Plan& /*plan*/, const std::string& /*cell*/) {}
  /// Before the first run of a cell: its command runs, and does not count.
  virtual void on_warmup(const Plan& /*plan*/, const std::string& /*cell*/) {}
  /// Before the first run: the seconds that a run of each cell is expected to take, where that is known.
  virtual void on_expected(const Plan& /*plan*/, const CellSeconds& /*seconds*/) {}
  /// Its engine may compute from now on, until it says that it waits (core::TurnEvent).
  virtual void on_turn(const Plan& /*plan*/, const PlannedRun& /*run*/) {}
  virtual void on_event(const Plan& /*plan*/, const PlannedRun& /*run*/, const core::RunEvent& /*event*/) {}
  /// Also called for reused runs (`is_reused`, without an earlier on_run_started). record.result is set.
  virtual void on_run_finished(const Plan& /*plan*/, const PlannedRun& /*run*/, const results::RunRecord& /*record*/,
                               bool /*is_reused*/) {}
  /// The run will not be made, because runs of its cell fail.
  virtual void on_run_left_out(const Plan& /*plan*/, const PlannedRun& /*run*/) {}
  /// Called about twice a second while a run sends nothing, for clocks on a display.
  virtual void on_tick() {}
  /// One sentence for people: retries, another runner at work, an interruption.
  virtual void on_message(const std::string& /*text*/) {}
};

/// How the runs of one seed share the machine.
enum class TimesChoice {
  kTurns,  ///< resident at once, as many as memory allows; each takes its steps in turns
  kRuns    ///< one run after the other
};
NB_ENUM_NAMES(TimesChoice, {TimesChoice::kTurns, "turns"}, {TimesChoice::kRuns, "runs"});

struct RunnerOptions {
  bool is_fresh = false;         ///< repeat runs that are already finished
  std::size_t kept_seeds = 0;    ///< first ones of the plan whose runs this command has made: they count
  bool is_own_evidence = false;  ///< only runs made for the plan count: continues an unfinished plan, and starts a new
                                 ///< one after a finished one
  /// Engines that take no turns run one after the other, as do runs of one identity; on a shared machine, all do.
  TimesChoice times = TimesChoice::kRuns;
  std::optional<std::size_t> max_seeds{};  ///< only the runs of the plans' first seeds; the others stay to be done
  int jobs = 1;                            ///< runs at once, each on processors of its own; above 1 they give no times
  bool is_machine_shared = false;          ///< other runners share this machine: losses count, times do not
  bool has_pilots = false;                 ///< tries the first steps of every cell before the first run
  std::set<std::string> left_out{};        ///< labels of cells that are known to fail: their runs are left out
  std::optional<results::KeepWeights> keep_weights{};  ///< absent: runs keep none, and cannot be continued
  bool keeps_logs = true;  ///< keeps what failed runs printed, beside the store (results/run_log.h)
  /// Called once before the first run, after the pilots: what a run of each cell is expected to take.
  std::function<CellSeconds(const Plan&)> expected_seconds;
  std::vector<std::string> argv;   ///< stored with the plan
  double grace_seconds = 10;       ///< from asking a process to stop to killing it (after a second SIGINT: none)
  double wait_poll_seconds = 0.5;  ///< interval between checks whether another runner finished a run that we need
};

struct SuiteRunResult {
  std::int64_t plan_id = 0;
  int completed = 0;            ///< new rows: completed
  int diverged = 0;             ///< new rows: diverged
  int reused = 0;               ///< finished earlier, or by another runner meanwhile
  int left_out = 0;             ///< not run, because their cell fails
  int failed = 0;               ///< new rows: crashed, timed_out, out_of_memory, unsupported
  bool is_interrupted = false;  ///< exit 130; `run` again continues
  bool is_whole() const { return failed == 0 && left_out == 0 && !is_interrupted; }
};

/// Whether a finished run of this identity counts: not with is_fresh, nor of a trainer of which no source is known, but
/// for the first `kept_seeds` seeds.
bool may_reuse(const Plan& plan, const PlannedRun& run, const RunnerOptions& options);

/// Throws Error{kInvalidArgument} if there are too few processors for so many runs of so many threads at once.
void check_jobs(int jobs, int threads);

/// Throws Error if the store or the file system fails (full disk, read-only). Stored data stays, nothing is half
/// written, and the engine is stopped. Throws Error{kUnavailable} before the first run if every pilot fails.
SuiteRunResult run_plan(const Plan& plan, results::Store& store, const RunnerOptions& options,
                        RunnerObserver& observer);

/// Several plans of equally many runs in turn: the first run of each, then the second of each in the opposite order,
/// and so on, so that a drift of the machine does not look like a difference between them. Returns one result per plan.
/// Throws like run_plan, and Error{kInternal} for plans of different lengths.
std::vector<SuiteRunResult> run_in_turn(const std::vector<const Plan*>& plans, results::Store& store,
                                        const RunnerOptions& options, RunnerObserver& observer);

}  // namespace nanobench::suites
