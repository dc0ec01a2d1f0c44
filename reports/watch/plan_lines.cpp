#include "reports/watch/plan_lines.h"

#include <algorithm>

#include "reports/watch/run_follower.h"
#include "results/host_load.h"
#include "results/provenance.h"

namespace nanobench::reports {
namespace {

using core::RunOutcome;
using results::Owner;
using results::RunGlance;

/// Whether the command that made the plan takes runs that other plans left. `gate` and `calibrate` measure anew.
bool takes_stored_runs(const std::vector<std::string>& argv) {
  const bool is_suite_run = argv.size() > 1 && (argv[1] == "run" || argv[1] == "ablate");
  return is_suite_run && std::find(argv.begin(), argv.end(), "--fresh") == argv.end();
}

bool is_same_process(const Owner& a, const Owner& b) {
  return a.boot_id == b.boot_id && a.pid_namespace == b.pid_namespace && a.pid == b.pid &&
         a.pid_started == b.pid_started;
}

std::string name_of(const WatchedLine& line) {
  const std::string name = line.cell + " seed " + std::to_string(line.seed);
  return line.run->id == 0 ? name : "run " + std::to_string(line.run->id) + " (" + name + ")";
}

}  // namespace

PlanLines::PlanLines(const results::Store& store, std::int64_t plan_id) : plan_(store.plan(plan_id)) {
  for (const results::PlanLine& line : plan_.lines) {
    lines_.push_back({.position = line.position, .cell = line.cell, .seed = line.seed, .run = {}, .disturbance = {}});
  }
  if (takes_stored_runs(plan_.argv)) find_stored_runs(store);
}

/// What the runner will find finished when it comes to the line.
void PlanLines::find_stored_runs(const results::Store& store) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (plan_.lines[i].run_id) continue;
    if (const auto id = store.find_evidence(plan_.lines[i].digest)) read_run(store, lines_[i], *id);
  }
}

void PlanLines::update(const results::Store& store) {
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
  if (line.run->outcome == RunOutcome::kCompleted)
    line.disturbance = results::disturbance(store.run_facts(run_id), line.run->threads);
  if (line.run->plan_id != plan_.id || !line.run->finished_at) return;
  const auto end_s = results::seconds_since_epoch(*line.run->finished_at);
  const auto took_s = end_s ? seconds_between(line.run->started_at, *end_s) : std::nullopt;
  if (took_s) times_.add_finished(line.cell, *took_s);
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

std::vector<std::string> line_warnings(const std::vector<WatchedLine>& lines, const std::vector<LineState>& states) {
  std::vector<std::string> warnings;
  for (std::size_t i = lines.size(); i-- > 0;) {
    const WatchedLine& line = lines[i];
    if (states[i] == LineState::kFailed || (line.run && line.run->outcome == RunOutcome::kDiverged)) {
      const std::string message = line.run->message.empty() ? "" : ": " + line.run->message;
      warnings.push_back(name_of(line) + " " + enum_name(*line.run->outcome) + message);
    } else if (line.disturbance) {
      warnings.push_back(name_of(line) + " was disturbed, its times are doubtful: " + *line.disturbance);
    }
  }
  return warnings;
}

}  // namespace nanobench::reports
