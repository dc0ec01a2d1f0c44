#include "suites/run/runner.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/hardware/processors.h"
#include "results/identity.h"
#include "suites/design/external_suite.h"
#include "suites/run/interrupt.h"
#include "suites/run/pilot.h"
#include "suites/run/plan_runner.h"
#include "suites/run/side_by_side.h"
#include "suites/run/trainer_process.h"
#include "suites/run/turn_block.h"

namespace nanobench::suites {
namespace {

bool is_finished(const results::Store& store, const results::PlanRecord& plan) {
  return std::all_of(plan.lines.begin(), plan.lines.end(),
                     [&](const results::PlanLine& line) { return evidence_of(store, line).has_value(); });
}

/// The plans' ids in the store: either all plans are continued or all are new.
std::vector<std::int64_t> enter_plans(const std::vector<const Plan*>& plans, results::Store& store,
                                      const RunnerOptions& options) {
  std::vector<results::NewPlan> rows;
  bool is_new = true;
  std::vector<std::string> digests;
  for (const Plan* plan : plans) digests.push_back(plan->digest);
  for (std::size_t place = 0; place < plans.size(); ++place) {
    results::NewPlan& row = rows.emplace_back(stored_plan(*plans[place], options.argv));
    if (!options.is_own_evidence) continue;
    row.digest = results::digest_in_turn(digests, place);
    const std::optional<results::PlanRecord> last = store.find_plan(row.digest);
    is_new = is_new && last && is_finished(store, *last);
  }
  return store.ensure_plans(rows, options.is_fresh || (options.is_own_evidence && is_new));
}

using Runners = std::vector<std::unique_ptr<PlanRunner>>;

/// Run `index` of each plan, in the opposite order for every second index.
std::vector<BlockRun> runs_at(const Runners& runners, std::size_t index) {
  std::vector<BlockRun> runs;
  for (const auto& runner : runners) runs.push_back({runner.get(), index});
  if (index % 2 == 1) std::reverse(runs.begin(), runs.end());
  return runs;
}

/// The runs of the first `max_seeds` seeds, or of all.
std::vector<BlockRun> all_runs(const Runners& runners, const std::optional<std::size_t>& max_seeds) {
  std::vector<BlockRun> runs;
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < runners.front()->size(); ++i) {
    seeds.insert(runners.front()->seed(i));
    if (max_seeds && seeds.size() > *max_seeds) break;
    const std::vector<BlockRun> some = runs_at(runners, i);
    runs.insert(runs.end(), some.begin(), some.end());
  }
  return runs;
}

void run_one_by_one(const std::vector<BlockRun>& runs, const InterruptGuard& interrupts) {
  for (const BlockRun& run : runs) {
    if (interrupts.count() > 0) return;
    run.plan->run_alone(run.index);
  }
}

/// Runs of one identity cannot be in progress at once: the arms of an engine against itself.
bool has_twins(const std::vector<BlockRun>& block) {
  std::set<std::string> digests;
  for (const BlockRun& run : block) digests.insert(run.plan->digest(run.index));
  return digests.size() < block.size();
}

/// A block holds the runs of one seed, of all plans.
void run_blocks(const Runners& runners, bool takes_turns, const RunnerOptions& options,
                const InterruptGuard& interrupts) {
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < runners.front()->size() && interrupts.count() == 0;) {
    if (options.max_seeds && blocks++ == *options.max_seeds) return;
    const std::uint64_t seed = runners.front()->seed(i);
    std::vector<BlockRun> block;
    for (; i < runners.front()->size() && runners.front()->seed(i) == seed; ++i) {
      const std::vector<BlockRun> some = runs_at(runners, i);
      block.insert(block.end(), some.begin(), some.end());
    }
    if (takes_turns && !has_twins(block)) {
      run_in_turns(block, seed, interrupts);
    } else {
      run_one_by_one(block, interrupts);
    }
  }
}

/// Before the first run. With seats, which may have programs of their own, a missing one shows in the runs.
void check_programs(const Plan& plan) {
  if (!plan.suite.external || !plan.suite.external->seats.empty()) return;
  for (const Cell& cell : plan.matrix.cells) {
    const TrainerSettings settings = read_trainer_settings(cell.external);
    const std::string missing = missing_word(settings);
    if (missing.empty()) continue;
    throw core::Error(core::ErrorCode::kUnavailable, "the trainer's command of " + cell.label + " names " + missing +
                                                         ", which is not in its folder " + settings.folder +
                                                         " or in $PATH, or cannot be executed; nothing was run");
  }
}

/// Pilots, and what a run is expected to take.
void prepare(PlanRunner& runner, results::Store& store, const RunnerOptions& options, RunnerObserver& observer,
             InterruptGuard& interrupts) {
  if (!runner.has_work()) return;
  check_programs(runner.plan());
  if (options.has_pilots) run_pilots(runner, store, options, observer, interrupts);
  if (!options.expected_seconds || interrupts.count() > 0) return;
  const CellSeconds seconds = options.expected_seconds(runner.plan());
  store.set_expected_seconds(runner.plan_id(), seconds);
  observer.on_expected(runner.plan(), seconds);
}

}  // namespace

bool may_reuse(const Plan& plan, const PlannedRun& run, const RunnerOptions& options) {
  const std::vector<std::uint64_t>& seeds = plan.suite.seeds;
  const auto kept = seeds.begin() + static_cast<std::ptrdiff_t>(std::min(options.kept_seeds, seeds.size()));
  if (std::find(seeds.begin(), kept, run.seed) != kept) return true;
  return !options.is_fresh && (run.spec.external.is_null() || has_known_sources(run.spec.external));
}

void check_jobs(int jobs, int threads) {
  const int processors = core::available_processors();
  if (jobs * threads <= processors) return;
  throw core::Error(core::ErrorCode::kInvalidArgument, "--jobs " + std::to_string(jobs) + " with " +
                                                           counted(threads, "thread") + " each needs " +
                                                           counted(jobs * threads, "processor") + ", and there are " +
                                                           std::to_string(processors) + "; use fewer of either");
}

SuiteRunResult run_plan(const Plan& plan, results::Store& store, const RunnerOptions& options,
                        RunnerObserver& observer) {
  return run_in_turn({&plan}, store, options, observer).front();
}

std::vector<SuiteRunResult> run_in_turn(const std::vector<const Plan*>& plans, results::Store& store,
                                        const RunnerOptions& options, RunnerObserver& observer) {
  InterruptGuard interrupts;
  for (const Plan* plan : plans)
    NB_CHECK(plan->runs.size() == plans.front()->runs.size(), "plans of different lengths cannot run in turn");
  if (options.jobs > 1) check_jobs(options.jobs, plans.front()->threads);
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
  for (const auto& runner : runners) prepare(*runner, store, options, observer, interrupts);
  const Seats seats = plans.front()->suite.external ? plans.front()->suite.external->seats : Seats{};
  if (!seats.empty()) {
    run_on_seats(all_runs(runners, options.max_seeds), seats, interrupts, observer);
  } else if (options.jobs > 1) {
    run_side_by_side(all_runs(runners, options.max_seeds), options.jobs, interrupts, observer);
  } else {
    run_blocks(runners, options.times == TimesChoice::kTurns && !options.is_machine_shared, options, interrupts);
  }
  std::vector<SuiteRunResult> results;
  for (const auto& runner : runners) results.push_back(runner->finish());
  return results;
}

}  // namespace nanobench::suites
