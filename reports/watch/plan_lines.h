/// The lines of one stored plan and the runs that answer them, kept up to date. A run that ended never changes, so it
/// is read once; a call costs a walk over the plan's lines and the runs that are new. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/watch/plan_progress.h"
#include "reports/watch/time_left.h"
#include "results/store.h"

namespace nanobench::reports {

class PlanLines {
 public:
  /// Throws Error{kNotFound}.
  PlanLines(const results::Store& store, std::int64_t plan_id);

  void update(const results::Store& store);

  const results::PlanRecord& plan() const { return plan_; }
  const std::vector<WatchedLine>& lines() const { return lines_; }  ///< ascending positions
  std::vector<std::string> labels() const;                          ///< of the cells
  /// What the plan's own runs took.
  const TimeLeft& times() const { return times_; }
  /// The line whose run began last, of those that were made for this plan; nullptr before there is one.
  const WatchedLine* newest() const;
  /// When the first of its runs began that the owner of newest() made; empty before there is one.
  std::string session_start() const;

 private:
  void find_stored_runs(const results::Store& store);
  void read_run(const results::Store& store, WatchedLine& line, std::int64_t run_id);

  results::PlanRecord plan_;
  std::vector<WatchedLine> lines_;
  TimeLeft times_;
};

/// Failed and disturbed runs, the last of the plan first.
std::vector<std::string> line_warnings(const std::vector<WatchedLine>& lines, const std::vector<LineState>& states);

}  // namespace nanobench::reports
