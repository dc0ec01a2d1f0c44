#include "suites/run/pilot.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "results/metric.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

/// The first run to do of each cell without a finished one. Nothing, where a pilot would save nothing: in a screening,
/// whose cells have a run each, only the base shows whether anything can be run.
std::vector<std::size_t> runs_to_try(const PlanRunner& runner) {
  std::set<std::size_t> known;
  std::size_t to_do = 0;
  for (std::size_t i = 0; i < runner.size(); ++i) {
    if (runner.is_to_do(i))
      ++to_do;
    else
      known.insert(runner.plan().runs[i].cell);
  }
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < runner.size(); ++i) {
    const PlannedRun& run = runner.plan().runs[i];
    const bool is_wanted = runner.plan().suite.design != Design::kScreening || run.cell == 0;
    if (is_wanted && runner.is_to_do(i) && has_pilot(run) && known.insert(run.cell).second) runs.push_back(i);
  }
  return to_do > 1 ? runs : std::vector<std::size_t>{};
}

/// Keeps how pilots end; shows what matters of them.
class PilotObserver : public RunnerObserver {
 public:
  PilotObserver(const Plan& plan, results::Store& store, RunnerObserver& observer)
      : plan_(plan), store_(store), observer_(observer) {}

  void on_run_started(const Plan& pilots, const PlannedRun& run, std::int64_t run_id) override {
    const Cell& cell = *std::find_if(plan_.matrix.cells.begin(), plan_.matrix.cells.end(),
                                     [&](const Cell& one) { return one.label == pilots.cell_of(run).label; });
    store_.add_batch(run_id, {.facts = {{results::kPilotOf, config_digest(cell)}}});
  }
  void on_run_finished(const Plan& /*plan*/, const PlannedRun& /*run*/, const results::RunRecord& record,
                       bool /*is_reused*/) override {
    peak_bytes = std::max(peak_bytes, record.result->peak_bytes);
    if (!record.is_evidence() && record.result->outcome != core::RunOutcome::kInterrupted)
      failures.emplace(record.cell, *record.result);
  }
  void on_tick() override { observer_.on_tick(); }
  void on_message(const std::string& text) override { observer_.on_message(text); }

  std::map<std::string, results::RunResult> failures;  ///< by cell
  std::optional<std::int64_t> peak_bytes;

 private:
  const Plan& plan_;
  results::Store& store_;
  RunnerObserver& observer_;
};

/// Whether no cell can be run, as far as the pilots tell.
bool are_hopeless(const Plan& plan, const std::map<std::string, results::RunResult>& failures) {
  const std::size_t tried = plan.suite.design == Design::kScreening ? 1 : plan.matrix.cells.size();
  return failures.size() == tried;
}

std::string failure_text(const std::string& cell, const results::RunResult& result) {
  return cell + " ended as " + enum_name(result.outcome) + (result.message.empty() ? "" : ": " + result.message);
}

}  // namespace

void run_pilots(PlanRunner& runner, results::Store& store, const RunnerOptions& options, RunnerObserver& observer,
                InterruptGuard& interrupts) {
  const Plan& plan = runner.plan();
  const std::vector<std::size_t> runs = runs_to_try(runner);
  const Plan pilots = pilot_plan(plan, runs);
  PilotObserver ends(plan, store, observer);
  const RunnerOptions own{.is_machine_shared = options.is_machine_shared,
                          .grace_seconds = options.grace_seconds,
                          .wait_poll_seconds = options.wait_poll_seconds};
  PlanRunner trial(pilots, std::nullopt, store, own, ends, interrupts);
  trial.begin();
  for (std::size_t i = 0; i < trial.size() && interrupts.count() == 0; ++i) {
    observer.on_pilot(plan, pilots.cell_of(pilots.runs[i]).label);
    trial.run_alone(i);
  }
  runner.add_peak(ends.peak_bytes);
  if (ends.failures.empty() || interrupts.count() > 0) return;
  if (are_hopeless(plan, ends.failures)) {
    const auto& [cell, result] = *ends.failures.begin();
    throw Error(ErrorCode::kUnavailable,
                "nothing was run, because no cell can be: the first steps of " + failure_text(cell, result));
  }
  for (const auto& [cell, result] : ends.failures) {
    observer.on_message("the first steps of " + failure_text(cell, result));
    runner.add_failure(cell, result);
  }
}

}  // namespace nanobench::suites
