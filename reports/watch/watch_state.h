/// The state of a watched suite at one moment: plain values, made by PlanWatcher, shown by the terminal and by
/// watch_report(). Names and reasons are as stored: whoever prints them escapes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/stats/summary.h"
#include "results/records.h"

namespace nanobench::reports {

/// What the plan's runner is doing.
enum class RunnerState {
  kRunning,   ///< a process trains one of its runs
  kBetween,   ///< the process is alive, but trains none of its runs now
  kQueued,    ///< Slurm has its runs, and none of the remaining ones has begun
  kStopped,   ///< its user stopped it
  kGone,      ///< the process ended before the plan did
  kSilent,    ///< on another host or in another container, and silent for long
  kEnded,     ///< every run has ended
  kNotBegun,  ///< no run has begun
};
/// "running", "between", ...: stable, for machines.
const char* to_string(RunnerState state);

struct WatchedRunner {
  RunnerState state = RunnerState::kNotBegun;
  std::optional<results::Owner> owner;        ///< of the newest run; absent before there is one
  std::optional<double> silent_s;             ///< since its last sign of life
  std::optional<std::int64_t> other_plan;     ///< the plan that a living process works on instead
  std::optional<results::Owner> other_owner;  ///< that process
  std::string command;                        ///< the plan's command; it also continues the plan
};

enum class CellState {
  kWaiting,
  kQueued,  ///< a run of it is in Slurm's queue
  kRunning,
  kDone,
  kFailed,    ///< a run of it failed, and none is running
  kDiverged,  ///< all runs ended, one with a loss that is not finite
};
const char* to_string(CellState state);

struct WatchedCell {
  std::string label;
  int planned = 0;   ///< runs
  int finished = 0;  ///< with evidence, reused ones included
  int failed = 0;
  Summary val_loss;  ///< final ones of the completed runs
  Summary step_ms;   ///< medians of the completed runs
  CellState state = CellState::kWaiting;
  std::string reason;  ///< "seed 2 crashed: ..."; empty unless failed or diverged
};

/// The lines of the plan by state; a line is one replicate. They add up to `all`.
struct LineCounts {
  int all = 0;
  int trained = 0;  ///< with evidence from a run of this plan
  int reused = 0;   ///< with evidence from another plan, also where the runner has not reached the line yet
  int failed = 0;
  int running = 0;
  int queued = 0;  ///< submitted to Slurm, and not begun
  int to_do = 0;
};

/// A run in progress.
struct WatchedRun {
  std::int64_t id = 0;  ///< 0: on a Slurm node, without a number yet
  std::string cell;
  std::uint64_t seed = 0;
  double elapsed_s = 0.0;
  std::int64_t step = 0;                      ///< steps done that are stored; the runner stores once a second
  std::optional<std::int64_t> total_steps;    ///< absent for an external trainer
  std::vector<results::Sample> train_losses;  ///< ascending steps
  std::vector<results::Sample> val_losses;
  std::optional<double> step_ms;  ///< mean of the last steps
  std::optional<double> remaining_s;
  std::string host;                ///< its node; empty for a local run, or before the node has reported
  std::optional<double> silent_s;  ///< since the node's last report
};

/// The Slurm jobs of the plan's runs, while they are in progress.
struct WatchedSlurm {
  std::vector<std::string> job_ids;
  std::string queue;                        ///< "1 task running, 2 waiting (Priority)", at the last query
  std::optional<results::Owner> submitter;  ///< collects the results
  std::optional<bool> is_submitter_alive;   ///< absent: it cannot be seen from here
  int uncollected = 0;                      ///< results in the shared folder; counted as trained or failed
};

/// This machine, where the runner is on it.
struct WatchedMachine {
  std::optional<double> load_1m;
  int processors = 0;
  std::optional<double> busy_share;   ///< of the processors' time
  std::optional<double> steal_share;  ///< of the processors' time too
  std::optional<double> available_bytes, total_bytes;
};

struct WatchState {
  std::int64_t plan_id = 0;
  std::string suite, title, scale, data_name;
  WatchedRunner runner;
  LineCounts lines;
  std::optional<double> elapsed_s;    ///< since the newest runner's first run began; until its last sign of life
  std::optional<double> remaining_s;  ///< of a running suite
  std::vector<WatchedCell> cells;     ///< in the suite's order
  std::optional<WatchedRun> run;      ///< the current run of a local runner
  std::optional<WatchedSlurm> slurm;
  std::vector<WatchedRun> node_runs;  ///< the current runs of Slurm nodes
  std::optional<WatchedMachine> machine;
  std::vector<std::string> warnings;  ///< the newest first: disturbed runs, the engine's warnings
  bool is_owner_alive = false;        ///< the newest runner's process; false where it cannot be seen from here
  std::string problem;                ///< why the database cannot be read now; empty otherwise

  bool has_ended() const { return runner.state == RunnerState::kEnded; }
};

}  // namespace nanobench::reports
