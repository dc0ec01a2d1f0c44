/// The progress of a stored plan: its lines with the runs that answer them, counts by state, and the remaining time.
/// The functions are pure and thread-safe; the classes are not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/watch/watch_state.h"
#include "results/store.h"

namespace nanobench::reports {

/// A line of the plan with what is known about it.
struct WatchedLine {
  std::int64_t position = 0;
  std::string cell;
  std::uint64_t seed = 0;
  std::optional<results::RunGlance> run;   ///< its run now, or evidence that the runner will reuse
  std::optional<std::string> disturbance;  ///< reason why the run's times are doubtful
};

enum class LineState { kToDo, kQueued, kRunning, kReused, kTrained, kFailed };

/// The runner's place in the plan: it processes lines in ascending order of position.
struct RunnerPlace {
  bool is_at_work = false;
  std::optional<std::int64_t> position;  ///< position of its newest line; it will repeat failed lines after it
};

/// `plan_id`: the plan that the line belongs to. A running row counts only while the runner is at work.
LineState state_of(const WatchedLine& line, std::int64_t plan_id, const RunnerPlace& place);

LineCounts count_lines(const std::vector<LineState>& states);

/// One entry for each of `labels`, in their order.
std::vector<WatchedCell> watched_cells(const std::vector<std::string>& labels, const std::vector<WatchedLine>& lines,
                                       const std::vector<LineState>& states);

/// Runs to do by cell, including queued ones.
std::map<std::string, std::size_t> runs_to_do(const std::vector<WatchedLine>& lines,
                                              const std::vector<LineState>& states);

/// A run in progress.
struct CurrentRun {
  std::string cell;
  double elapsed_s = 0.0;
  std::optional<double> remaining_s;  ///< from its own pace, if known
};

/// Estimates the seconds that the rest of a suite will take from its finished runs. It has no clock of its own.
class TimeLeft {
 public:
  void add_finished(const std::string& cell, double seconds);
  /// What is expected of a run of the cell before one has finished.
  void expect(const std::string& cell, double seconds);

  /// The time of one run of the cell: the mean of the cell's finished runs, else what was expected of it, else the mean
  /// of all; nullopt if nothing is known.
  std::optional<double> expected_s(const std::string& cell) const;

  /// The time until the end of the last run. `later` counts the runs that have not started, by cell. Before any run has
  /// finished, each counts like the current one; nullopt if its time is unknown too.
  std::optional<double> remaining_s(const std::map<std::string, std::size_t>& later,
                                    const std::optional<CurrentRun>& current) const;

  /// The same if several runs take turns, and each one's seconds are those of its own turns.
  std::optional<double> remaining_in_turns_s(const std::map<std::string, std::size_t>& later,
                                             const std::vector<CurrentRun>& current) const;

  /// The same if several runs are in progress and the same number will be from now on. Never less than the longest of
  /// them. nullopt while none is running, because the wait in a queue is unknown.
  std::optional<double> remaining_at_once_s(const std::map<std::string, std::size_t>& later,
                                            const std::vector<CurrentRun>& current) const;

 private:
  std::optional<double> rest_of(const CurrentRun& current) const;

  struct Total {
    double seconds = 0.0;
    std::size_t runs = 0;
  };
  std::map<std::string, Total> by_cell_;
  std::map<std::string, double> beforehand_;
  Total all_;
};

/// The lines of one stored plan and their runs, kept up to date. A run that ended never changes, so it is read once.
/// Each call costs a pass over the plan's lines and a read of each new run.
class PlanLines {
 public:
  /// Throws Error{kNotFound}.
  PlanLines(const results::Store& store, std::int64_t plan_id);

  void update(const results::Store& store);

  const results::PlanRecord& plan() const { return plan_; }
  const std::vector<WatchedLine>& lines() const { return lines_; }  ///< ascending positions
  std::vector<std::string> labels() const;                          ///< labels of the cells
  /// The times of the plan's own runs.
  const TimeLeft& times() const { return times_; }
  /// The line whose run began last, among the plan's own runs; nullptr if there is none yet.
  const WatchedLine* newest() const;
  /// The start of the first run of newest()'s owner; empty if there is none yet.
  std::string session_start() const;

 private:
  void find_stored_runs(const results::Store& store);
  void read_run(const results::Store& store, WatchedLine& line, std::int64_t run_id);

  results::PlanRecord plan_;
  std::vector<WatchedLine> lines_;
  TimeLeft times_;
};

/// Failed and disturbed runs, last line of the plan first.
std::vector<WatchWarning> line_warnings(const std::vector<WatchedLine>& lines, const std::vector<LineState>& states);

}  // namespace nanobench::reports
