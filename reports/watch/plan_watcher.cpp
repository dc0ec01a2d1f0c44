#include "reports/watch/plan_watcher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/process/command.h"
#include "results/metric.h"
#include "results/provenance.h"

namespace nanobench::reports {
namespace {

using results::Facts;

constexpr std::size_t kReadings = 10;  // at one reading per second: shares over about ten seconds
constexpr const char* kStart = "start/";
constexpr const char* kEnd = "end/";

std::optional<double> number(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? std::nullopt : std::optional(std::strtod(found->second.c_str(), nullptr));
}

}  // namespace

WatchedMachine MachineWatch::read(const Facts& start) {
  const std::string end = kEnd;
  const Facts now = results::glance_facts(end);
  WatchedMachine machine;
  machine.processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.load_1m = number(now, end + "load_1m");
  machine.total_bytes = number(now, end + "memory_total_bytes");
  machine.available_bytes = number(now, end + "memory_available_bytes");
  Facts both = readings_.empty() ? start : readings_.front();
  both.insert(now.begin(), now.end());
  machine.busy_share = results::busy_share(both);
  machine.steal_share = results::steal_share(both);
  Facts reading;
  for (const auto& [name, value] : now) reading[kStart + name.substr(end.size())] = value;
  readings_.push_back(std::move(reading));
  if (readings_.size() > kReadings) readings_.pop_front();
  return machine;
}

namespace {

using core::Error;
using core::ErrorCode;
using results::Owner;
using results::RunningRun;
using results::Store;

/// A process that cannot be observed from here counts as alive while its last heartbeat is this recent; it writes every
/// ten seconds.
constexpr double kLongSilence = 120;

bool is_at_work(RunnerState state) {
  return state == RunnerState::kRunning || state == RunnerState::kBetween || state == RunnerState::kQueued;
}

[[noreturn]] void fail_no_plan(const std::filesystem::path& file, const std::optional<std::string>& suite) {
  throw Error(ErrorCode::kNotFound, "database " + file.string() + " holds no plan" +
                                        (suite ? " of the suite " + *suite : "") +
                                        "; `nanobench run SUITE` makes one, and --wait waits for it");
}

/// The plan's oldest row with a live owner.
const RunningRun* living_row(const std::vector<RunningRun>& running, std::int64_t plan_id) {
  const auto found = std::find_if(running.begin(), running.end(),
                                  [&](const RunningRun& run) { return run.plan_id == plan_id && !run.is_owner_gone; });
  return found == running.end() ? nullptr : &*found;
}

}  // namespace

PlanWatcher::PlanWatcher(std::filesystem::path file, WatchSelection selection)
    : file_(std::move(file)), selection_(std::move(selection)) {}

WatchState PlanWatcher::read(double now_s) {
  const Store store(file_, results::OpenMode::kGlance);
  if (const FileMark mark = mark_of_file(); mark != mark_) {
    mark_ = mark;
    plan_.reset();
    follower_.reset();
    slurm_.reset();
  }
  const RunningRuns running = store.running();
  if (const std::int64_t id = choose_plan(store, running); !plan_ || plan_->plan().id != id) {
    plan_.reset();
    plan_.emplace(store, id);
    slurm_.emplace(file_, plan_->plan());
  }
  const results::PlanRecord& plan = plan_->plan();
  if (selection_.suite && plan.suite != *selection_.suite) {
    throw Error(ErrorCode::kInvalidArgument, "plan " + std::to_string(plan.id) + " is of the suite " + plan.suite +
                                                 ", not " + *selection_.suite + "; leave one of the two out");
  }
  plan_->update(store);
  WatchState state{.plan_id = plan.id, .suite = plan.suite, .title = plan.title, .scale = plan.scale};
  state.data_name = plan.data_name;
  state.runner = runner_of(running, now_s);
  if (const std::optional<SlurmView> view = slurm_->look(plan_->lines(), now_s))
    show_slurm(*view, now_s, state);
  else
    show_runner(store, running, now_s, state);
  is_at_work_ = is_at_work(state.runner.state);
  return state;
}

void PlanWatcher::show_slurm(const SlurmView& view, double now_s, WatchState& state) const {
  state.slurm = view.slurm;
  state.node_runs = view.runs;
  state.is_owner_alive = view.slurm.is_submitter_alive.value_or(false);
  state.runner.state = state_of_slurm(view, is_plan_over());
  state.runner.owner = view.slurm.submitter;
  state.runner.silent_s = std::nullopt;
  for (const WatchedRun& run : view.runs) {
    if (run.silent_s) state.runner.silent_s = std::min(*run.silent_s, state.runner.silent_s.value_or(*run.silent_s));
  }
  state.lines = count_lines(view.states);
  state.cells = watched_cells(plan_->labels(), view.lines, view.states);
  state.warnings = line_warnings(view.lines, view.states);
  if (view.submitted_s) state.elapsed_s = std::max(now_s - *view.submitted_s, 0.0);
  std::vector<CurrentRun> current;
  for (const WatchedRun& run : view.runs) {
    const bool is_heard = run.silent_s.value_or(0.0) < kLongNodeSilence;
    if (is_heard) current.push_back({run.cell, run.elapsed_s, run.remaining_s});
    if (!is_heard)
      state.warnings.insert(state.warnings.begin(), WatchWarning{.kind = WatchWarning::Kind::kSilent,
                                                                 .cell = run.cell,
                                                                 .seed = run.seed,
                                                                 .host = run.host,
                                                                 .silent_s = *run.silent_s});
  }
  state.remaining_s = plan_->times().remaining_at_once_s(runs_to_do(view.lines, view.states), current);
}

void PlanWatcher::show_runner(const Store& store, const RunningRuns& running, double now_s, WatchState& state) {
  is_at_work_ = is_at_work(state.runner.state);
  state.is_owner_alive = state.runner.owner && results::is_alive(*state.runner.owner).value_or(false);
  const std::vector<LineState> states = line_states(running, state.runner);
  state.lines = count_lines(states);
  state.elapsed_s = elapsed_s(state.runner, now_s);
  state.cells = watched_cells(plan_->labels(), plan_->lines(), states);
  state.warnings = line_warnings(plan_->lines(), states);
  follow_run(store, running, now_s, state);
  if (!is_at_work_) return;
  const std::map<std::string, std::size_t> later = runs_to_do(plan_->lines(), states);
  if (!state.run) {
    state.remaining_s = plan_->times().remaining_s(later, std::nullopt);
    return;
  }
  const CurrentRun shown = {state.run->cell, state.run->elapsed_s, state.run->remaining_s};
  std::vector<std::string> running_cells;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i] == LineState::kRunning) running_cells.push_back(plan_->lines()[i].cell);
  }
  if (running_cells.size() < 2) {
    state.remaining_s = plan_->times().remaining_s(later, shown);
  } else if (store.run_facts(state.run->id).contains(results::kJobProcessors)) {
    state.remaining_s = plan_->times().remaining_at_once_s(later, rests_of(running_cells, *state.run, 1));
  } else {
    state.remaining_s =
        plan_->times().remaining_in_turns_s(later, rests_of(running_cells, *state.run, running_cells.size()));
  }
}

/// What is left of runs in progress, by what their cells are expected to take and by how far `run` is: those that take
/// turns are equally far, and those beside each other about so. A run of which nothing is expected has the pace of
/// `run`, of whose seconds `sharing` runs have each a part.
std::vector<CurrentRun> PlanWatcher::rests_of(const std::vector<std::string>& cells, const WatchedRun& run,
                                              std::size_t sharing) const {
  const bool has_share = run.total_steps && *run.total_steps > 0;
  const double share =
      has_share ? std::min(1.0, static_cast<double>(run.step) / static_cast<double>(*run.total_steps)) : 0.0;
  std::vector<CurrentRun> rests;
  for (const std::string& cell : cells) {
    const std::optional<double> whole = has_share ? plan_->times().expected_s(cell) : std::nullopt;
    CurrentRun& rest = rests.emplace_back(CurrentRun{.cell = cell});
    if (whole) {
      rest.elapsed_s = *whole * share;
      rest.remaining_s = *whole - rest.elapsed_s;
    } else if (run.remaining_s) {
      rest.elapsed_s = run.elapsed_s / static_cast<double>(sharing);
      rest.remaining_s = *run.remaining_s / static_cast<double>(sharing);
    }
  }
  return rests;
}

PlanWatcher::FileMark PlanWatcher::mark_of_file() const {
  struct stat facts = {};
  if (stat(file_.c_str(), &facts) != 0) return {};
  return {static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino)};
}

/// A plan stays chosen while a process is working on it. After that, another plan that a process is working on, or a
/// new plan, replaces it.
std::int64_t PlanWatcher::choose_plan(const Store& store, const RunningRuns& running) {
  if (selection_.plan_id) return *selection_.plan_id;
  if (plan_ && is_at_work_) {
    const bool is_over = std::all_of(plan_->lines().begin(), plan_->lines().end(),
                                     [](const WatchedLine& line) { return line.run && line.run->outcome; });
    if (!is_over || living_row(running, plan_->plan().id) != nullptr) return plan_->plan().id;
  }
  const std::optional<std::int64_t> newest = store.newest_plan_id(selection_.suite);
  for (auto run = running.rbegin(); run != running.rend(); ++run) {
    if (run->is_owner_gone || !run->plan_id || (selection_.suite && run->suite != *selection_.suite)) continue;
    newest_at_choice_ = newest;
    return *run->plan_id;
  }
  if (!newest) fail_no_plan(file_, selection_.suite);
  if (const std::optional<std::int64_t> id = plan_in_slurm(store)) {
    newest_at_choice_ = newest;
    return *id;
  }
  if (plan_ && newest_at_choice_ == newest) return plan_->plan().id;
  newest_at_choice_ = newest;
  return *newest;
}

std::optional<std::int64_t> PlanWatcher::plan_in_slurm(const Store& store) const {
  if (!suites::has_plan_folders(file_)) return std::nullopt;
  const results::PlanRecord* newest = nullptr;
  const std::vector<results::PlanRecord> plans = store.plans(selection_.suite);
  for (const results::PlanRecord& plan : plans) {
    const auto folder = suites::find_plan_folder(file_, plan.suite, plan.digest);
    if (!folder || !suites::glance_at(*folder, plan.digest, plan.created_at, plan.lines.size())) continue;
    if (newest == nullptr || plan.created_at >= newest->created_at) newest = &plan;
  }
  return newest == nullptr ? std::nullopt : std::optional(newest->id);
}

WatchedRunner PlanWatcher::runner_of(const RunningRuns& running, double now_s) const {
  WatchedRunner runner;
  runner.command = shell_words(core::without_options(plan_->plan().argv, {}, {"--fresh"}));  // it would begin anew
  if (const WatchedLine* newest = plan_->newest()) {
    runner.owner = newest->run->owner;
    runner.silent_s = seconds_between(newest->run->heartbeat_at, now_s);
    if (newest->run->finished_at) runner.silent_s = seconds_between(*newest->run->finished_at, now_s);
  }
  for (const RunningRun& run : running) {
    if (run.is_owner_gone || run.plan_id == plan_->plan().id) continue;
    runner.other_plan = run.plan_id;
    runner.other_owner = run.owner;
  }
  runner.state = state_of_runner(running, runner);
  return runner;
}

RunnerState PlanWatcher::state_of_runner(const RunningRuns& running, const WatchedRunner& runner) const {
  if (living_row(running, plan_->plan().id) != nullptr) return RunnerState::kRunning;
  if (is_plan_over()) return RunnerState::kEnded;
  const WatchedLine* newest = plan_->newest();
  if (newest == nullptr) return RunnerState::kNotBegun;
  const std::optional<bool> is_living = results::is_alive(*runner.owner);
  if (is_living.value_or(false)) return RunnerState::kBetween;
  if (newest->run->outcome == core::RunOutcome::kInterrupted) return RunnerState::kStopped;
  if (is_living) return RunnerState::kGone;
  return runner.silent_s.value_or(kLongSilence) < kLongSilence ? RunnerState::kBetween : RunnerState::kSilent;
}

bool PlanWatcher::is_plan_over() const {
  const std::vector<WatchedLine>& lines = plan_->lines();
  return std::all_of(lines.begin(), lines.end(), [](const WatchedLine& line) {
    return line.run && line.run->outcome && *line.run->outcome != core::RunOutcome::kInterrupted;
  });
}

std::vector<LineState> PlanWatcher::line_states(const RunningRuns& running, const WatchedRunner& runner) const {
  RunnerPlace place{.is_at_work = is_at_work(runner.state)};
  if (const WatchedLine* newest = plan_->newest()) place.position = newest->position;
  const std::int64_t plan_id = plan_->plan().id;
  std::vector<LineState> states;
  for (const WatchedLine& line : plan_->lines()) {
    LineState state = state_of(line, plan_id, place);
    const auto is_row = [&](const RunningRun& run) { return run.id == line.run->id && !run.is_owner_gone; };
    // A row left behind by a dead process while another one is working on the plan.
    if (state == LineState::kRunning && std::none_of(running.begin(), running.end(), is_row)) state = LineState::kToDo;
    states.push_back(state);
  }
  return states;
}

void PlanWatcher::follow_run(const Store& store, const RunningRuns& running, double now_s, WatchState& state) {
  const RunningRun* row = living_row(running, state.plan_id);
  const std::optional<results::RunGlance> glance = row == nullptr ? std::nullopt : store.glance(row->id);
  if (!glance) {
    follower_.reset();
  } else {
    if (!follower_ || follower_->id() != row->id) follower_.emplace(store, row->id);
    state.run = follower_->read(store, *glance, now_s);
    const std::vector<WatchWarning> warnings = follower_->warnings(store);
    state.warnings.insert(state.warnings.begin(), warnings.begin(), warnings.end());
  }
  // This machine's load is irrelevant if the runner is on another machine.
  if (is_at_work_ && state.runner.owner && results::is_alive(*state.runner.owner))
    state.machine = machine_.read(follower_ ? follower_->start_facts() : results::Facts());
}

std::optional<double> PlanWatcher::elapsed_s(const WatchedRunner& runner, double now_s) const {
  if (!runner.silent_s) return std::nullopt;
  return seconds_between(plan_->session_start(), is_at_work(runner.state) ? now_s : now_s - *runner.silent_s);
}

}  // namespace nanobench::reports
