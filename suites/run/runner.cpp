#include "suites/run/runner.h"

#include <algorithm>
#include <map>
#include <memory>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "results/provenance.h"
#include "suites/run/interrupt.h"
#include "suites/run/run_session.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::RunOutcome;
using results::RunRecord;

std::optional<RunRecord> evidence_of(const results::Store& store, const results::PlanLine& line) {
  if (!line.run_id) return std::nullopt;
  RunRecord run = store.run(*line.run_id);
  return run.is_evidence() ? std::optional<RunRecord>(std::move(run)) : std::nullopt;
}

bool is_finished(const results::Store& store, const results::PlanRecord& plan) {
  return std::all_of(plan.lines.begin(), plan.lines.end(),
                     [&](const results::PlanLine& line) { return evidence_of(store, line).has_value(); });
}

/// A plan with its own evidence is stored under a digest of its place among the plans that run in turn. With another
/// counterpart, or run alone, it is a different plan.
std::string digest_in_turn(const std::vector<const Plan*>& plans, std::size_t place) {
  std::string text = "turn " + std::to_string(place);
  for (const Plan* plan : plans) text += " " + plan->digest;
  return core::digest_of(text);
}

/// The plans' ids in the store: either all plans are continued or all are new.
std::vector<std::int64_t> enter_plans(const std::vector<const Plan*>& plans, results::Store& store,
                                      const RunnerOptions& options) {
  std::vector<results::NewPlan> rows;
  bool is_new = true;
  for (std::size_t place = 0; place < plans.size(); ++place) {
    results::NewPlan& row = rows.emplace_back(stored_plan(*plans[place], options.argv));
    if (!options.is_own_evidence) continue;
    row.digest = digest_in_turn(plans, place);
    const std::optional<results::PlanRecord> last = store.find_plan(row.digest);
    is_new = is_new && last && is_finished(store, *last);
  }
  return store.ensure_plans(rows, options.is_own_evidence ? is_new : options.is_fresh);
}

/// One plan in progress.
class PlanRunner {
 public:
  PlanRunner(const Plan& plan, std::int64_t plan_id, results::Store& store, const RunnerOptions& options,
             RunnerObserver& observer, InterruptGuard& interrupts)
      : plan_(plan), store_(store), options_(options), observer_(observer), interrupts_(interrupts) {
    result_.plan_id = plan_id;
  }

  void begin() {
    find_answers();
    std::vector<bool> reusable;
    for (const PlannedRun& run : plan_.runs) {
      const bool is_stored = !options_.is_own_evidence && !options_.is_fresh && store_.find_evidence(run.digest);
      reusable.push_back(is_stored || answers_.contains(run.position));
    }
    observer_.on_plan(plan_, result_.plan_id, reusable);
  }

  std::size_t size() const { return plan_.runs.size(); }

  /// Processes run `index` until it has an answer. Returns false to stop.
  bool process(std::size_t index) {
    const PlannedRun& run = plan_.runs[index];
    if (const auto answer = answers_.find(run.position); answer != answers_.end()) {
      ++result_.reused;
      observer_.on_run_finished(plan_, run, answer->second, true);
      return interrupts_.count() == 0;
    }
    results::NewRun row = stored_run(plan_, run);
    row.plan_id = result_.plan_id;
    bool is_first_look = true;
    while (interrupts_.count() == 0) {
      const results::RunClaim claim =
          store_.claim_run(row, owner_, options_.is_fresh || options_.is_own_evidence, !options_.is_machine_shared);
      if (const auto* claimed = std::get_if<results::Claimed>(&claim)) {
        execute(run, claimed->run_id);
        return true;
      }
      if (const auto* done = std::get_if<results::AlreadyDone>(&claim)) {
        ++result_.reused;
        observer_.on_run_finished(plan_, run, done->run, true);
        return true;
      }
      const RunRecord& other = std::get<results::AlreadyRunning>(claim).run;
      if (is_first_look) say_waiting(other);
      is_first_look = false;
      pause();
    }
    return false;
  }

  SuiteRunResult finish() {
    result_.is_interrupted = interrupts_.count() > 0;
    return result_;
  }

 private:
  /// Finds the existing answers of a plan that is continued.
  void find_answers() {
    if (!options_.is_own_evidence) return;
    for (const results::PlanLine& line : store_.plan(result_.plan_id).lines) {
      if (std::optional<RunRecord> run = evidence_of(store_, line))
        answers_.emplace(static_cast<std::size_t>(line.position), std::move(*run));
    }
  }

  void say_waiting(const RunRecord& other) {
    observer_.on_message("waiting: process " + std::to_string(other.owner.pid) + " on " + other.owner.host +
                         " is running " + other.cell + " (seed " + std::to_string(other.seed) +
                         "), and timed runs have the machine to themselves");
  }

  void pause() {
    interrupts_.wait(options_.wait_poll_seconds);
    observer_.on_tick();
  }

  void execute(const PlannedRun& run, std::int64_t run_id) {
    observer_.on_run_started(plan_, run, run_id);
    try {
      RunSession(plan_, run, run_id, store_, options_, interrupts_, observer_).execute();
    } catch (const std::exception& error) {
      give_up(run_id, error.what());
      throw;
    }
    const RunRecord record = store_.run(run_id);
    count(*record.result);
    observer_.on_run_finished(plan_, run, record, false);
  }

  /// After an error of our own, the row must not look as if it were running. If even that cannot be written, the next
  /// runner notices that our process has ended.
  void give_up(std::int64_t run_id, const std::string& why) noexcept {
    try {
      results::RunResult result;
      result.outcome = RunOutcome::kInterrupted;
      result.message = "the runner had to stop: " + why;
      store_.finish_run(run_id, result);
    } catch (...) {
    }
  }

  void count(const results::RunResult& result) {
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

  const Plan& plan_;
  results::Store& store_;
  const RunnerOptions& options_;
  RunnerObserver& observer_;
  InterruptGuard& interrupts_;
  std::map<std::size_t, RunRecord> answers_;  ///< by position
  const results::Owner owner_ = results::this_process();
  SuiteRunResult result_;
};

}  // namespace

SuiteRunResult run_plan(const Plan& plan, results::Store& store, const RunnerOptions& options,
                        RunnerObserver& observer) {
  return run_in_turn({&plan}, store, options, observer).front();
}

std::vector<SuiteRunResult> run_in_turn(const std::vector<const Plan*>& plans, results::Store& store,
                                        const RunnerOptions& options, RunnerObserver& observer) {
  InterruptGuard interrupts;
  for (const Plan* plan : plans)
    NB_CHECK(plan->runs.size() == plans.front()->runs.size(), "plans of different lengths cannot run in turn");
  if (const std::int64_t count = store.release_dead_runs(); count > 0) {
    observer.on_message(std::to_string(count) + (count == 1 ? " run was" : " runs were") +
                        " left behind by a process that is gone; what this suite needs of it is run again");
  }
  const std::vector<std::int64_t> ids = enter_plans(plans, store, options);
  std::vector<std::unique_ptr<PlanRunner>> runners;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    runners.push_back(std::make_unique<PlanRunner>(*plans[i], ids[i], store, options, observer, interrupts));
    runners.back()->begin();
  }
  bool goes_on = true;
  for (std::size_t i = 0; goes_on && i < runners.front()->size(); ++i) {
    for (std::size_t turn = 0; goes_on && turn < runners.size(); ++turn)
      goes_on = runners[i % 2 == 0 ? turn : runners.size() - 1 - turn]->process(i);
  }
  if (interrupts.count() > 0) observer.on_message("interrupted; the same command continues where this one stopped");
  std::vector<SuiteRunResult> results;
  for (const auto& runner : runners) results.push_back(runner->finish());
  return results;
}

}  // namespace nanobench::suites
