#include "suites/run/runner.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
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

/// Of the first `max_seeds` seeds, or of all.
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

bool is_in_path(const std::string& program, const std::string& path) {
  const std::vector<std::string_view> folders = split_at(path, ':');
  return std::any_of(folders.begin(), folders.end(), [&](std::string_view folder) {
    return access((std::filesystem::path(folder.empty() ? "." : folder) / program).c_str(), X_OK) == 0;
  });
}

/// The first word of the trainer's command that names no file, or one that cannot be executed; empty if all are there.
/// Only of what is certain: the program, and the script of `python3 train.py`.
std::string missing_word(const core::Json& external) {
  const std::vector<std::string> command = external.at("command").get<std::vector<std::string>>();
  const std::filesystem::path folder = external.at("folder").get<std::string>();
  const bool has_own_tree = external.contains("source");  // its files come with the run
  const std::string& program = command.front();
  if (program.find('/') == std::string::npos) {
    const core::Json env = external.value("env", core::Json::object());
    const char* const own = std::getenv("PATH");
    if (!is_in_path(program, env.value("PATH", std::string(own == nullptr ? "/usr/bin:/bin" : own)))) return program;
  } else if (!has_own_tree && access((folder / program).c_str(), X_OK) != 0) {
    return program;
  }
  const bool is_python = std::filesystem::path(program).filename().string().starts_with("python");
  const bool has_script = command.size() > 1 && command[1].ends_with(".py") && !command[1].starts_with('-');
  const bool is_there = !is_python || !has_script || has_own_tree || access((folder / command[1]).c_str(), R_OK) == 0;
  return is_there ? "" : command[1];
}

void check_programs(const Plan& plan) {
  for (const Cell& cell : plan.matrix.cells) {
    if (cell.external.is_null()) continue;
    const std::string missing = missing_word(cell.external);
    if (missing.empty()) continue;
    throw core::Error(core::ErrorCode::kUnavailable, "the trainer's command of " + cell.label + " names " + missing +
                                                         ", which is not in its folder " +
                                                         cell.external.at("folder").get<std::string>() +
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
