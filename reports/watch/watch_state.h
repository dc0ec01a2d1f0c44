/// What a person who watches a suite wants to know, at one moment: plain values, made by PlanWatcher, shown by
/// tools/terminal/watch_view.h and kinds/watch_report.h. Names and reasons are as stored: whoever prints them makes
/// them harmless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/stats/summary.h"
#include "results/records.h"

namespace nanobench::reports {

/// Who works on the plan.
enum class RunnerState {
  kRunning,   ///< a process trains one of its runs
  kBetween,   ///< the process lives and trains none of them now
  kQueued,    ///< Slurm has its runs, and has begun none of those that are left
  kStopped,   ///< its user stopped it
  kGone,      ///< the process ended before the plan did
  kSilent,    ///< out of sight (another host or container), and not heard of for long
  kEnded,     ///< every run has ended
  kNotBegun,  ///< no run has begun
};
/// "running", "between", ...: stable, for machines.
const char* to_string(RunnerState state);

struct WatchedRunner {
  RunnerState state = RunnerState::kNotBegun;
  std::optional<results::Owner> owner;        ///< of the newest run; absent before there is one
  std::optional<double> silent_s;             ///< since its last sign of life
  std::optional<std::int64_t> other_plan;     ///< what a living process works on instead
  std::optional<results::Owner> other_owner;  ///< that process
  std::string command;                        ///< made the plan; the same continues it
};

enum class CellState {
  kWaiting,
  kQueued,  ///< a run of it is in Slurm's queue
  kRunning,
  kDone,
  kFailed,    ///< a run of it failed, and none is on its way
  kDiverged,  ///< all ended; a loss of one was not finite
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

/// How many lines of the plan are what; a line is one run. They add up to `all`.
struct LineCounts {
  int all = 0;
  int trained = 0;  ///< with evidence that was made for this plan
  int reused = 0;   ///< with evidence that another plan made, also where the runner has not come to it yet
  int failed = 0;
  int running = 0;
  int queued = 0;  ///< handed over to Slurm, and not begun
  int to_do = 0;
};

/// A run on its way.
struct WatchedRun {
  std::int64_t id = 0;  ///< 0: on a node of Slurm, which has no number yet
  std::string cell;
  std::uint64_t seed = 0;
  double elapsed_s = 0.0;
  std::int64_t step = 0;                      ///< steps done that are stored; the runner stores once a second
  std::optional<std::int64_t> total_steps;    ///< absent for an external trainer
  std::vector<results::Sample> train_losses;  ///< ascending steps
  std::vector<results::Sample> val_losses;
  std::optional<double> step_ms;  ///< mean of the last steps
  std::optional<double> remaining_s;
  std::string host;                ///< its node; empty for a run of the runner's own, or before the node has spoken
  std::optional<double> silent_s;  ///< since the node's last word
};

/// Jobs of Slurm that the plan's runs were handed over in, while they are on their way.
struct WatchedSlurm {
  std::vector<std::string> job_ids;
  std::string queue;                        ///< "1 task running, 2 waiting (Priority)", when it was last asked
  std::optional<results::Owner> submitter;  ///< collects the results
  std::optional<bool> is_submitter_alive;   ///< absent: out of sight
  int uncollected = 0;                      ///< results that lie in the shared folder; counted as trained or failed
};

/// The machine that asks, where the runner is on it.
struct WatchedMachine {
  std::optional<double> load_1m;
  int processors = 0;
  std::optional<double> busy_share;   ///< of the processors' time
  std::optional<double> steal_share;  ///< of the same
  std::optional<double> available_bytes, total_bytes;
};

struct WatchState {
  std::int64_t plan_id = 0;
  std::string suite, title, scale, data_name;
  WatchedRunner runner;
  LineCounts lines;
  std::optional<double> elapsed_s;    ///< since the newest runner's first run began; until its last sign of life
  std::optional<double> remaining_s;  ///< of a suite that runs
  std::vector<WatchedCell> cells;     ///< in the suite's order
  std::optional<WatchedRun> run;      ///< of a runner that trains one after the other
  std::optional<WatchedSlurm> slurm;
  std::vector<WatchedRun> node_runs;  ///< those that Slurm's nodes are at
  std::optional<WatchedMachine> machine;
  std::vector<std::string> warnings;  ///< the newest first: disturbed runs, what the engine warned of
  bool is_owner_alive = false;        ///< the newest runner's process, as far as can be told: false when out of sight
  std::string problem;                ///< why the database cannot be read now; empty: it can

  bool has_ended() const { return runner.state == RunnerState::kEnded; }
};

}  // namespace nanobench::reports
