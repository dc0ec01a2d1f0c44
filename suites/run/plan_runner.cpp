#include "suites/run/plan_runner.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "suites/design/external_suite.h"
#include "suites/run/warmup.h"

namespace nanobench::suites {

using core::RunOutcome;
using results::RunRecord;

std::optional<RunRecord> evidence_of(const results::Store& store, const results::PlanLine& line) {
  if (!line.run_id) return std::nullopt;
  RunRecord run = store.run(*line.run_id);
  return run.is_evidence() ? std::optional<RunRecord>(std::move(run)) : std::nullopt;
}

namespace {

/// How the run failed, without the numbers of steps and processes that the text names.
std::string kind_of_failure(const results::RunResult& result) {
  return without_digits(enum_name(result.outcome) + ": " + result.message);
}

}  // namespace

PlanRunner::PlanRunner(const Plan& plan, std::optional<std::int64_t> plan_id, results::Store& store,
                       const RunnerOptions& options, RunnerObserver& observer, InterruptGuard& interrupts)
    : plan_(plan), store_(store), options_(options), observer_(observer), interrupts_(interrupts), plan_id_(plan_id) {
  result_.plan_id = plan_id.value_or(0);
  given_up_ = options_.left_out;
}

void PlanRunner::begin() {
  OutdatedRuns outdated;
  find_answers(outdated);
  for (const PlannedRun& run : plan_.runs) {
    const bool may_be_stored = !options_.is_own_evidence && may_reuse(plan_, run, options_);
    const bool is_stored = may_be_stored && store_.find_evidence(run.digest, needed_evidence(run, is_timed()));
    if (may_be_stored && !is_stored) outdated.look_for(store_, run, is_timed());
    has_answer_.push_back(is_stored || answers_.contains(run.position));
  }
  for (const std::string& sentence : outdated.sentences()) observer_.on_message(sentence);
  observer_.on_plan(plan_, result_.plan_id, has_answer_);
}

/// Finds the existing answers of a plan that is continued.
void PlanRunner::find_answers(OutdatedRuns& outdated) {
  if (!options_.is_own_evidence) return;
  std::map<std::size_t, const PlannedRun*> planned;
  for (const PlannedRun& run : plan_.runs) planned[run.position] = &run;
  for (const results::PlanLine& line : store_.plan(result_.plan_id).lines) {
    const auto position = static_cast<std::size_t>(line.position);
    std::optional<RunRecord> run = evidence_of(store_, line);
    if (!run || (planned.contains(position) && outdated.take(store_, *planned[position], run->id))) continue;
    answers_.emplace(position, *std::move(run));
  }
}

std::optional<std::int64_t> PlanRunner::claim(std::size_t index) {
  prepare_caches(index);
  bool is_first_look = true;
  while (interrupts_.count() == 0) {
    const ClaimAnswer answer = try_claim(index);
    if (answer.kind == ClaimAnswer::Kind::kClaimed) return answer.run_id;
    if (answer.kind == ClaimAnswer::Kind::kAnswered) return std::nullopt;
    if (is_first_look) say_waiting(*answer.other);
    is_first_look = false;
    interrupts_.wait(options_.wait_poll_seconds);
    observer_.on_tick();
  }
  return std::nullopt;
}

void PlanRunner::prepare_caches(std::size_t index, const EnginePlace& place) {
  const PlannedRun& run = plan_.runs[index];
  if (options_.is_machine_shared || !is_to_do(index)) return;  // without times, warmth does not matter
  if (given_up_.contains(plan_.cell_of(run).label)) return;
  if (warm_up(plan_, run, place, store_, options_, observer_, interrupts_))
    cold_.erase(run.cell);
  else
    cold_.insert(run.cell);
}

ClaimAnswer PlanRunner::try_claim(std::size_t index) {
  const PlannedRun& run = plan_.runs[index];
  const auto reuse = [&](const RunRecord& record) {
    ++result_.reused;
    observer_.on_run_finished(plan_, run, record, true);
    return ClaimAnswer{};
  };
  if (const auto answer = answers_.find(run.position); answer != answers_.end()) return reuse(answer->second);
  if (const std::string& cell = plan_.cell_of(run).label; given_up_.contains(cell)) {
    ++result_.left_out;
    observer_.on_run_left_out(plan_, run);
    return {};
  }
  results::NewRun row = stored_run(plan_, run);
  row.plan_id = plan_id_;
  const results::RunClaim claim =
      store_.claim_run(row, owner_, !may_reuse(plan_, run, options_) || options_.is_own_evidence,
                       !options_.is_machine_shared, needed_evidence(run, is_timed()));
  if (const auto* claimed = std::get_if<results::Claimed>(&claim)) {
    for (const std::int64_t id : claimed->damaged) {
      observer_.on_message("run " + std::to_string(id) +
                           " was changed after it ended, so it is measured again; `nanobench db check` lists what is "
                           "wrong");
    }
    return {.kind = ClaimAnswer::Kind::kClaimed, .run_id = claimed->run_id};
  }
  if (const auto* done = std::get_if<results::AlreadyDone>(&claim)) return reuse(done->run);
  return {.kind = ClaimAnswer::Kind::kBusy, .other = std::get<results::AlreadyRunning>(claim).run};
}

void PlanRunner::say_waiting(const RunRecord& other) {
  observer_.on_message("waiting: process " + std::to_string(other.owner.pid) + " on " + other.owner.host +
                       " is running " + other.cell + " (seed " + std::to_string(other.seed) +
                       "), and timed runs have the machine to themselves");
}

std::unique_ptr<RunSession> PlanRunner::start(std::size_t index, std::int64_t run_id, const EnginePlace& place) {
  const PlannedRun& run = plan_.runs[index];
  check_trainer(plan_, run);
  observer_.on_run_started(plan_, run, run_id);
  EnginePlace own = place;
  own.is_cold = cold_.contains(run.cell);
  return std::make_unique<RunSession>(plan_, run, run_id, store_, options_, interrupts_, observer_, own);
}

void PlanRunner::run_alone(std::size_t index, const EnginePlace& place) {
  const std::optional<std::int64_t> run_id = claim(index);
  if (!run_id) return;
  try {
    const std::unique_ptr<RunSession> session = start(index, *run_id, place);
    while (!session->run_until_turn()) {
    }
  } catch (const std::exception& error) {
    give_up(*run_id, error.what());
    throw;
  }
  end(index, *run_id);
}

RunRecord PlanRunner::end(std::size_t index, std::int64_t run_id) {
  const RunRecord record = store_.run(run_id);
  count(*record.result);
  const RunOutcome outcome = record.result->outcome;
  if (!record.is_evidence() && outcome != RunOutcome::kInterrupted) add_failure(record.cell, *record.result);
  observer_.on_run_finished(plan_, plan_.runs[index], record, false);
  return record;
}

void PlanRunner::add_failure(const std::string& cell, const results::RunResult& result) {
  const std::string kind = kind_of_failure(result);
  const bool is_again = std::exchange(failures_[cell], kind) == kind;
  if (fails_as_a_whole(kind) || !is_again || !given_up_.insert(cell).second) return;
  const auto others = std::count_if(plan_.runs.begin(), plan_.runs.end(),
                                    [&](const PlannedRun& run) { return plan_.cell_of(run).label == cell; });
  if (others > 2) observer_.on_message(cell + " failed twice in the same way: its other runs are left out");
}

/// Trainers have no pilots. If the first cell, with which others are compared, and another one fail alike before any
/// run has a result, all will.
bool PlanRunner::fails_as_a_whole(const std::string& kind) {
  const bool has_result = result_.completed + result_.diverged + result_.reused > 0;
  const auto base = failures_.find(plan_.matrix.cells.front().label);
  const bool is_like_base = base != failures_.end() && base->second == kind;
  const auto alike =
      std::count_if(failures_.begin(), failures_.end(), [&](const auto& failure) { return failure.second == kind; });
  if (!plan_.suite.external || has_result || !is_like_base || alike < 2) return false;
  for (const Cell& cell : plan_.matrix.cells) given_up_.insert(cell.label);
  observer_.on_message(base->first +
                       " and another cell failed in the same way, and no run has a result: all others are left out");
  return true;
}

void PlanRunner::say_without_turns() {
  if (!std::exchange(has_said_without_turns_, true))
    observer_.on_message("the engine " + plan_.engine.name +
                         " takes no turns: each run has the machine from start to end");
}

void PlanRunner::give_up(std::int64_t run_id, const char* why) noexcept {
  try {
    results::RunResult result;
    result.outcome = RunOutcome::kInterrupted;
    result.message = std::string("the runner had to stop: ") + why;
    store_.finish_run(run_id, result);
  } catch (...) {
  }
}

void PlanRunner::count(const results::RunResult& result) {
  switch (result.outcome) {
    case RunOutcome::kCompleted: ++result_.completed; return;
    case RunOutcome::kDiverged: ++result_.diverged; return;
    case RunOutcome::kInterrupted:
      if (interrupts_.count() > 0) return;
      ++result_.failed;
      return;
    default: ++result_.failed;
  }
}

SuiteRunResult PlanRunner::finish() {
  result_.is_interrupted = interrupts_.count() > 0;
  return result_;
}

}  // namespace nanobench::suites
