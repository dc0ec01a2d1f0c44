#include "reports/watch/plan_progress.h"

#include <algorithm>

#include "reports/watch/run_follower.h"
#include "results/host_load.h"
#include "results/provenance.h"

namespace nanobench::reports {
namespace {

using core::RunOutcome;

/// What is collected for one cell before it becomes a row.
struct CellTally {
  BySeed val_losses, step_ms;
  std::vector<WatchedEnd> failures, divergences;
  int running = 0;
  int queued = 0;
};

WatchedEnd end_of(const WatchedLine& line) {
  return {.seed = line.seed, .outcome = *line.run->outcome, .message = line.run->message};
}

void add_evidence(CellTally& tally, const WatchedLine& line) {
  if (!line.run || !line.run->is_evidence()) return;
  if (line.run->outcome == RunOutcome::kDiverged) {
    tally.divergences.push_back(end_of(line));
    return;
  }
  if (line.run->final_val_loss) tally.val_losses[line.seed] = *line.run->final_val_loss;
  if (line.run->mean_step_ms) tally.step_ms[line.seed] = *line.run->mean_step_ms;
}

/// The first of them, and how many more there are. REQUIRES one.
WatchedEnd first_of(const std::vector<WatchedEnd>& ends) {
  WatchedEnd end = ends.front();
  end.others = static_cast<int>(ends.size()) - 1;
  return end;
}

void finish_cell(WatchedCell& cell, const CellTally& tally) {
  cell.val_loss = summarise(tally.val_losses);
  cell.step_ms = summarise(tally.step_ms);
  cell.failed = static_cast<int>(tally.failures.size());
  if (!tally.failures.empty()) {
    cell.state = CellState::kFailed;
    cell.end = first_of(tally.failures);
  } else if (!tally.divergences.empty()) {
    cell.state = CellState::kDiverged;
    cell.end = first_of(tally.divergences);
  } else if (cell.planned > 0 && cell.finished == cell.planned) {
    cell.state = CellState::kDone;
  } else if (tally.queued > 0) {
    cell.state = CellState::kQueued;
  }
  if (tally.running > 0) cell.state = CellState::kRunning;
}

}  // namespace

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

namespace {

using core::RunOutcome;
using results::Owner;
using results::RunGlance;

/// Whether the plan's command reuses runs of other plans. `gate` and `calibrate` always measure.
bool takes_stored_runs(const std::vector<std::string>& argv) {
  const bool is_suite_run = argv.size() > 1 && (argv[1] == "run" || argv[1] == "ablate");
  return is_suite_run && std::find(argv.begin(), argv.end(), "--fresh") == argv.end();
}

bool is_same_process(const Owner& a, const Owner& b) {
  return a.boot_id == b.boot_id && a.pid_namespace == b.pid_namespace && a.pid == b.pid &&
         a.pid_started == b.pid_started;
}

}  // namespace

PlanLines::PlanLines(const results::Store& store, std::int64_t plan_id) : plan_(store.plan(plan_id)) {
  for (const results::PlanLine& line : plan_.lines) {
    lines_.push_back({.position = line.position, .cell = line.cell, .seed = line.seed, .run = {}, .disturbance = {}});
  }
  if (takes_stored_runs(plan_.argv)) find_stored_runs(store);
}

/// The evidence that the runner will reuse when it reaches the line.
void PlanLines::find_stored_runs(const results::Store& store) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (plan_.lines[i].run_id) continue;
    if (const auto id = store.find_evidence(plan_.lines[i].digest)) read_run(store, lines_[i], *id);
  }
}

void PlanLines::update(const results::Store& store) {
  for (const auto& [cell, seconds] : store.expected_seconds(plan_.id)) times_.expect(cell, seconds);
  std::size_t i = 0;
  for (const results::PlanAnswer& answer : store.answers(plan_.id)) {
    while (i < lines_.size() && lines_[i].position < answer.position) ++i;
    if (i == lines_.size()) return;
    WatchedLine& line = lines_[i];
    if (!answer.run_id || line.position != answer.position) continue;
    const bool is_known = line.run && line.run->id == *answer.run_id && line.run->outcome;
    if (!is_known) read_run(store, line, *answer.run_id);
  }
}

void PlanLines::read_run(const results::Store& store, WatchedLine& line, std::int64_t run_id) {
  line.run = store.glance(run_id);
  line.disturbance = std::nullopt;
  if (!line.run || !line.run->outcome || *line.run->outcome == RunOutcome::kInterrupted) return;
  const results::Facts facts = store.run_facts(run_id);
  if (line.run->outcome == RunOutcome::kCompleted) line.disturbance = results::disturbance(facts, line.run->threads);
  if (line.run->plan_id != plan_.id || !line.run->finished_at) return;
  if (const auto took_s = results::used_seconds(facts, line.run->started_at, *line.run->finished_at))
    times_.add_finished(line.cell, *took_s);
}

std::vector<std::string> PlanLines::labels() const {
  std::vector<std::string> labels;
  for (const results::PlanCell& cell : plan_.cells) labels.push_back(cell.label);
  return labels;
}

const WatchedLine* PlanLines::newest() const {
  const WatchedLine* newest = nullptr;
  for (const WatchedLine& line : lines_) {
    if (!line.run || line.run->plan_id != plan_.id) continue;
    if (newest == nullptr || line.run->started_at >= newest->run->started_at) newest = &line;
  }
  return newest;
}

std::string PlanLines::session_start() const {
  const WatchedLine* last = newest();
  if (last == nullptr) return "";
  std::string start = last->run->started_at;
  for (const WatchedLine& line : lines_) {
    if (!line.run || line.run->plan_id != plan_.id || !is_same_process(line.run->owner, last->run->owner)) continue;
    start = std::min(start, line.run->started_at);
  }
  return start;
}

std::vector<WatchWarning> line_warnings(const std::vector<WatchedLine>& lines, const std::vector<LineState>& states) {
  std::vector<WatchWarning> warnings;
  for (std::size_t i = lines.size(); i-- > 0;) {
    const WatchedLine& line = lines[i];
    const bool has_ended = states[i] == LineState::kFailed || (line.run && line.run->outcome == RunOutcome::kDiverged);
    if (!has_ended && !line.disturbance) continue;
    WatchWarning& warning = warnings.emplace_back(
        WatchWarning{.kind = has_ended ? WatchWarning::Kind::kEnded : WatchWarning::Kind::kDisturbed,
                     .run_id = line.run->id,
                     .cell = line.cell,
                     .seed = line.seed,
                     .message = has_ended ? line.run->message : *line.disturbance});
    if (has_ended) warning.outcome = *line.run->outcome;
  }
  return warnings;
}

void TimeLeft::add_finished(const std::string& cell, double seconds) {
  for (Total* total : {&by_cell_[cell], &all_}) {
    total->seconds += seconds;
    ++total->runs;
  }
}

void TimeLeft::expect(const std::string& cell, double seconds) {
  beforehand_[cell] = seconds;
}

std::optional<double> TimeLeft::expected_s(const std::string& cell) const {
  const auto known = by_cell_.find(cell);
  const auto beforehand = beforehand_.find(cell);
  if (known == by_cell_.end() && beforehand != beforehand_.end()) return beforehand->second;
  if (all_.runs == 0) return std::nullopt;
  const Total& total = known == by_cell_.end() ? all_ : known->second;
  return total.seconds / static_cast<double>(total.runs);
}

std::optional<double> TimeLeft::rest_of(const CurrentRun& current) const {
  if (current.remaining_s) return current.remaining_s;
  const std::optional<double> expected = expected_s(current.cell);
  return expected ? std::optional(std::max(*expected - current.elapsed_s, 0.0)) : std::nullopt;
}

std::optional<double> TimeLeft::remaining_s(const std::map<std::string, std::size_t>& later,
                                            const std::optional<CurrentRun>& current) const {
  return remaining_in_turns_s(later, current ? std::vector<CurrentRun>{*current} : std::vector<CurrentRun>{});
}

std::optional<double> TimeLeft::remaining_in_turns_s(const std::map<std::string, std::size_t>& later,
                                                     const std::vector<CurrentRun>& current) const {
  double sum = 0.0, whole = 0.0;
  for (const CurrentRun& run : current) {
    const std::optional<double> rest = rest_of(run);
    if (!rest) return std::nullopt;
    sum += *rest;
    whole += run.elapsed_s + *rest;
  }
  std::optional<double> like_current;  // duration of a run as long as none has ended
  if (!current.empty()) like_current = whole / static_cast<double>(current.size());
  for (const auto& [cell, runs] : later) {
    if (runs == 0) continue;
    std::optional<double> each = expected_s(cell);
    if (!each) each = like_current;
    if (!each) return std::nullopt;
    sum += *each * static_cast<double>(runs);
  }
  return sum;
}

std::optional<double> TimeLeft::remaining_at_once_s(const std::map<std::string, std::size_t>& later,
                                                    const std::vector<CurrentRun>& current) const {
  double sum = 0.0, longest = 0.0, whole = 0.0;
  for (const CurrentRun& run : current) {
    const std::optional<double> rest = rest_of(run);
    if (!rest) return std::nullopt;
    sum += *rest;
    longest = std::max(longest, *rest);
    whole += run.elapsed_s + *rest;
  }
  if (current.empty()) return std::nullopt;
  const auto count = static_cast<double>(current.size());
  for (const auto& [cell, runs] : later) sum += expected_s(cell).value_or(whole / count) * static_cast<double>(runs);
  return std::max(longest, sum / count);
}

}  // namespace nanobench::reports
