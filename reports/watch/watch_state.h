/// The state of a watched suite at one moment: plain values, made by PlanWatcher, shown by the terminal and by
/// watch_report(). Names and reasons are as stored: the code that prints them must escape them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "reports/stats/summary.h"
#include "results/records.h"

namespace nanobench::reports {

/// What the plan's runner is doing.
enum class RunnerState {
  kRunning,   ///< a process is training one of its runs
  kBetween,   ///< the process is alive, but is training none of its runs
  kQueued,    ///< Slurm has its runs, and none of the remaining ones has started
  kStopped,   ///< its user stopped it
  kGone,      ///< the process ended before the plan did
  kSilent,    ///< on another host or in another container, and silent for a long time
  kEnded,     ///< every run has ended
  kNotBegun,  ///< no run has started
};
NB_ENUM_NAMES(RunnerState, {RunnerState::kRunning, "running"}, {RunnerState::kBetween, "between"},
              {RunnerState::kQueued, "queued"}, {RunnerState::kStopped, "stopped"}, {RunnerState::kGone, "gone"},
              {RunnerState::kSilent, "silent"}, {RunnerState::kEnded, "ended"}, {RunnerState::kNotBegun, "not_begun"});

struct WatchedRunner {
  RunnerState state = RunnerState::kNotBegun;
  std::optional<results::Owner> owner;        ///< owner of the newest run; absent before there is one
  std::optional<double> silent_s;             ///< seconds since its last heartbeat
  std::optional<std::int64_t> other_plan;     ///< the plan that a live process is working on instead
  std::optional<results::Owner> other_owner;  ///< that process
  std::string command;                        ///< the plan's command; it also continues the plan
};

enum class CellState {
  kWaiting,
  kQueued,  ///< one of its runs is in Slurm's queue
  kRunning,
  kDone,
  kFailed,    ///< one of its runs failed, and none is running
  kDiverged,  ///< all runs ended, one of them with a loss that is not finite
};
NB_ENUM_NAMES(CellState, {CellState::kWaiting, "waiting"}, {CellState::kQueued, "queued"},
              {CellState::kRunning, "running"}, {CellState::kDone, "done"}, {CellState::kFailed, "failed"},
              {CellState::kDiverged, "diverged"});

/// How a run ended without a loss.
struct WatchedEnd {
  std::uint64_t seed = 0;
  core::RunOutcome outcome = core::RunOutcome::kCrashed;
  std::string message = {};
  int others = 0;  ///< further runs of the cell that failed, or that diverged

  bool operator==(const WatchedEnd&) const = default;
};

struct WatchedCell {
  std::string label;
  int planned = 0;   ///< runs
  int finished = 0;  ///< runs with evidence, including reused ones
  int failed = 0;
  Summary val_loss;  ///< final losses of the completed runs
  Summary step_ms;   ///< training clocks over timed steps of the completed runs
  CellState state = CellState::kWaiting;
  std::optional<WatchedEnd> end = {};  ///< of the first run that failed, or else diverged; absent without one
};

/// The lines of the plan by state; a line is one replicate. The counts add up to `all`.
struct LineCounts {
  int all = 0;
  int trained = 0;  ///< with evidence from a run of this plan
  int reused = 0;   ///< with evidence from another plan, even if the runner has not reached the line yet
  int failed = 0;
  int running = 0;
  int queued = 0;  ///< submitted to Slurm, but not started
  int to_do = 0;
};

/// A run in progress.
struct WatchedRun {
  std::int64_t id = 0;  ///< 0: on a Slurm node, without an id yet
  std::string cell;
  std::uint64_t seed = 0;
  double elapsed_s = 0.0;
  std::int64_t step = 0;                      ///< completed steps in the store; the runner writes once a second
  std::optional<std::int64_t> total_steps;    ///< absent for an external trainer
  std::vector<results::Sample> train_losses;  ///< ascending steps
  std::vector<results::Sample> val_losses;
  std::optional<double> step_ms;  ///< mean of the last steps
  std::optional<double> remaining_s;
  std::string host;                ///< its node; empty for a local run, or before the node reports
  std::optional<double> silent_s;  ///< seconds since the node's last report
};

/// The Slurm jobs of the plan's runs, while they are in progress.
struct WatchedSlurm {
  std::vector<std::string> job_ids;
  std::string queue;                        ///< "1 task running, 2 waiting (Priority)", at the last query
  std::optional<results::Owner> submitter;  ///< process that collects the results
  std::optional<bool> is_submitter_alive;   ///< absent: cannot be determined from here
  int uncollected = 0;                      ///< results in the shared folder; counted as trained or failed
};

/// This machine, if the runner is on it.
struct WatchedMachine {
  std::optional<double> load_1m;
  int processors = 0;
  std::optional<double> busy_share;   ///< share of the processors' time
  std::optional<double> steal_share;  ///< share of the processors' time
  std::optional<double> available_bytes, total_bytes;
};

/// What is amiss with a run.
struct WatchWarning {
  enum class Kind {
    kEnded,      ///< without a loss, as `outcome` and `message` say
    kDisturbed,  ///< its times are doubtful, as `message` says
    kSilent,     ///< `host`, its node, has not reported for `silent_s`
    kEngine,     ///< its engine warns of `message`
  };
  Kind kind = Kind::kEngine;
  std::int64_t run_id = 0;  ///< 0: without an id yet
  std::string cell = {};
  std::uint64_t seed = 0;
  core::RunOutcome outcome = core::RunOutcome::kCrashed;
  std::string message = {};
  std::string host = {};  ///< empty: not known yet
  double silent_s = 0.0;

  bool operator==(const WatchWarning&) const = default;
};

struct WatchState {
  std::int64_t plan_id = 0;
  std::string suite, title, scale, data_name;
  WatchedRunner runner;
  LineCounts lines;
  std::optional<double> elapsed_s;    ///< from the start of the newest runner's first run to its last heartbeat
  std::optional<double> remaining_s;  ///< for a running suite
  std::vector<WatchedCell> cells;     ///< in the suite's order
  std::optional<WatchedRun> run;      ///< the current run of a local runner
  std::optional<WatchedSlurm> slurm;
  std::vector<WatchedRun> node_runs;  ///< the current runs of Slurm nodes
  std::optional<WatchedMachine> machine;
  std::vector<WatchWarning> warnings;  ///< newest first
  bool is_owner_alive = false;         ///< the newest runner's process is alive; false if that cannot be determined
  std::string problem;                 ///< why the database cannot be read now; empty otherwise

  bool has_ended() const { return runner.state == RunnerState::kEnded; }
};

}  // namespace nanobench::reports
