#include "reports/watch/plan_progress.h"

#include <algorithm>

namespace nanobench::reports {
namespace {

using core::RunOutcome;

/// What is collected of one cell before it becomes a row.
struct CellTally {
  BySeed val_losses, step_ms;
  std::vector<std::string> failures, divergences;
  int running = 0;
  int queued = 0;
};

std::string end_of(const WatchedLine& line) {
  const std::string message = line.run->message.empty() ? "" : ": " + line.run->message;
  return "seed " + std::to_string(line.seed) + " " + enum_name(*line.run->outcome) + message;
}

void add_evidence(CellTally& tally, const WatchedLine& line) {
  if (!line.run || !line.run->is_evidence()) return;
  if (line.run->outcome == RunOutcome::kDiverged) {
    tally.divergences.push_back(end_of(line));
    return;
  }
  if (line.run->final_val_loss) tally.val_losses[line.seed] = *line.run->final_val_loss;
  if (line.run->median_step_ms) tally.step_ms[line.seed] = *line.run->median_step_ms;
}

/// The first of them; how many more there are.
std::string reason_of(const std::vector<std::string>& ends) {
  if (ends.size() < 2) return ends.empty() ? "" : ends.front();
  return ends.front() + " (and " + std::to_string(ends.size() - 1) + " more)";
}

void finish_cell(WatchedCell& cell, const CellTally& tally) {
  cell.val_loss = summarise(tally.val_losses);
  cell.step_ms = summarise(tally.step_ms);
  cell.failed = static_cast<int>(tally.failures.size());
  if (!tally.failures.empty()) {
    cell.state = CellState::kFailed;
    cell.reason = reason_of(tally.failures);
  } else if (!tally.divergences.empty()) {
    cell.state = CellState::kDiverged;
    cell.reason = reason_of(tally.divergences);
  } else if (cell.planned > 0 && cell.finished == cell.planned) {
    cell.state = CellState::kDone;
  } else if (tally.queued > 0) {
    cell.state = CellState::kQueued;
  }
  if (tally.running > 0) cell.state = CellState::kRunning;
}

}  // namespace

const char* to_string(RunnerState state) {
  switch (state) {
    case RunnerState::kRunning: return "running";
    case RunnerState::kBetween: return "between";
    case RunnerState::kQueued: return "queued";
    case RunnerState::kStopped: return "stopped";
    case RunnerState::kGone: return "gone";
    case RunnerState::kSilent: return "silent";
    case RunnerState::kEnded: return "ended";
    case RunnerState::kNotBegun: return "not_begun";
  }
  return "";
}

const char* to_string(CellState state) {
  switch (state) {
    case CellState::kWaiting: return "waiting";
    case CellState::kQueued: return "queued";
    case CellState::kRunning: return "running";
    case CellState::kDone: return "done";
    case CellState::kFailed: return "failed";
    case CellState::kDiverged: return "diverged";
  }
  return "";
}

LineState state_of(const WatchedLine& line, std::int64_t plan_id, const RunnerPlace& place) {
  if (!line.run) return LineState::kToDo;
  if (line.run->is_evidence()) return line.run->plan_id == plan_id ? LineState::kTrained : LineState::kReused;
  if (!line.run->outcome) return place.is_at_work ? LineState::kRunning : LineState::kToDo;
  const bool is_ahead = place.is_at_work && place.position && line.position > *place.position;
  return is_ahead || *line.run->outcome == RunOutcome::kInterrupted ? LineState::kToDo : LineState::kFailed;
}

LineCounts count_lines(const std::vector<LineState>& states) {
  LineCounts counts;
  counts.all = static_cast<int>(states.size());
  for (const LineState state : states) {
    switch (state) {
      case LineState::kToDo: ++counts.to_do; break;
      case LineState::kQueued: ++counts.queued; break;
      case LineState::kRunning: ++counts.running; break;
      case LineState::kReused: ++counts.reused; break;
      case LineState::kTrained: ++counts.trained; break;
      case LineState::kFailed: ++counts.failed; break;
    }
  }
  return counts;
}

std::vector<WatchedCell> watched_cells(const std::vector<std::string>& labels, const std::vector<WatchedLine>& lines,
                                       const std::vector<LineState>& states) {
  std::vector<WatchedCell> cells(labels.size());
  std::vector<CellTally> tallies(labels.size());
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    cells[i].label = labels[i];
    index.emplace(labels[i], i);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto found = index.find(lines[i].cell);
    if (found == index.end()) continue;
    WatchedCell& cell = cells[found->second];
    CellTally& tally = tallies[found->second];
    ++cell.planned;
    if (states[i] == LineState::kReused || states[i] == LineState::kTrained) ++cell.finished;
    if (states[i] == LineState::kRunning) ++tally.running;
    if (states[i] == LineState::kQueued) ++tally.queued;
    if (states[i] == LineState::kFailed) tally.failures.push_back(end_of(lines[i]));
    add_evidence(tally, lines[i]);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) finish_cell(cells[i], tallies[i]);
  return cells;
}

std::map<std::string, std::size_t> runs_to_do(const std::vector<WatchedLine>& lines,
                                              const std::vector<LineState>& states) {
  std::map<std::string, std::size_t> later;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (states[i] == LineState::kToDo || states[i] == LineState::kQueued) ++later[lines[i].cell];
  }
  return later;
}

}  // namespace nanobench::reports
