/// How far a stored plan is: its lines and the runs that answer them, counted. Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/watch/watch_state.h"

namespace nanobench::reports {

/// A line of the plan with what is known of it.
struct WatchedLine {
  std::int64_t position = 0;
  std::string cell;
  std::uint64_t seed = 0;
  std::optional<results::RunGlance> run;   ///< that answers it now, or evidence that the runner will take
  std::optional<std::string> disturbance;  ///< why the run's times are doubtful
};

enum class LineState { kToDo, kQueued, kRunning, kReused, kTrained, kFailed };

/// How far the runner is: it goes through the lines in ascending positions.
struct RunnerPlace {
  bool is_at_work = false;
  std::optional<std::int64_t> position;  ///< of its newest line; a failed line behind it will be run again
};

/// `plan_id`: whose line it is. A running row counts only while the runner is at work.
LineState state_of(const WatchedLine& line, std::int64_t plan_id, const RunnerPlace& place);

LineCounts count_lines(const std::vector<LineState>& states);

/// One entry for each of `labels`, in their order.
std::vector<WatchedCell> watched_cells(const std::vector<std::string>& labels, const std::vector<WatchedLine>& lines,
                                       const std::vector<LineState>& states);

/// By cell: runs to do, queued ones among them.
std::map<std::string, std::size_t> runs_to_do(const std::vector<WatchedLine>& lines,
                                              const std::vector<LineState>& states);

}  // namespace nanobench::reports
