/// Reads the progress of a plan repeatedly while a runner writes. Each reading opens the file, queries it and closes
/// it. Nothing is held in between, so the runner and its reader never block each other, and a replaced file is noticed
/// at the next reading. Writes nothing. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/watch/plan_progress.h"
#include "reports/watch/run_follower.h"
#include "reports/watch/slurm_watch.h"
#include "reports/watch/watch_state.h"
#include "results/host_load.h"
#include "results/store.h"

namespace nanobench::reports {

/// How busy this machine was over the last seconds, from /proc.
class MachineWatch {
 public:
  /// Shares cover the last readings. The first reading covers the time since `start`: facts of a run on this machine
  /// with the prefix "start/"; without them the shares are absent.
  WatchedMachine read(const results::Facts& start);

 private:
  std::deque<results::Facts> readings_;  ///< with the prefix "start/"; the newest last
};

struct WatchSelection {
  std::optional<std::string> suite;
  std::optional<std::int64_t> plan_id;  ///< absent: the newest plan that a process works on, else the newest
};

class PlanWatcher {
 public:
  PlanWatcher(std::filesystem::path file, WatchSelection selection);

  /// `now_s`: seconds since 1970. Throws Error like Store's constructor, kNotFound if there is no such plan, and
  /// kInvalidArgument if the chosen plan belongs to another suite.
  WatchState read(double now_s);

 private:
  using FileMark = std::pair<std::uint64_t, std::uint64_t>;  ///< device and inode number of the file
  using RunningRuns = std::vector<results::RunningRun>;

  FileMark mark_of_file() const;
  std::int64_t choose_plan(const results::Store& store, const RunningRuns& running);
  /// The newest plan that Slurm has runs of.
  std::optional<std::int64_t> plan_in_slurm(const results::Store& store) const;
  WatchedRunner runner_of(const RunningRuns& running, double now_s) const;
  bool is_plan_over() const;  ///< every line has a stored run that will not be repeated
  RunnerState state_of_runner(const RunningRuns& running, const WatchedRunner& runner) const;
  /// For a plan with runs in Slurm: the nodes' files replace the runner's rows.
  void show_slurm(const SlurmView& view, double now_s, WatchState& state) const;
  /// For a plan that runs here.
  void show_runner(const results::Store& store, const RunningRuns& running, double now_s, WatchState& state);
  std::vector<CurrentRun> rests_of(const std::vector<std::string>& cells, const WatchedRun& run,
                                   std::size_t sharing) const;
  std::vector<LineState> line_states(const RunningRuns& running, const WatchedRunner& runner) const;
  void follow_run(const results::Store& store, const RunningRuns& running, double now_s, WatchState& state);
  std::optional<double> elapsed_s(const WatchedRunner& runner, double now_s) const;

  std::filesystem::path file_;
  WatchSelection selection_;
  FileMark mark_ = {};
  std::optional<PlanLines> plan_;
  std::optional<std::int64_t> newest_at_choice_;  ///< the newest plan when plan_ was chosen
  bool is_at_work_ = false;                       ///< whether the runner was at work at the last reading
  std::optional<RunFollower> follower_;
  std::optional<SlurmWatch> slurm_;  ///< view of plan_'s Slurm side
  MachineWatch machine_;
};

}  // namespace nanobench::reports
