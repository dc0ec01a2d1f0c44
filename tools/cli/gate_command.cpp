// `nanobench gate SUITE`: a candidate against a baseline; the exit code is the answer.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <tuple>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "reports/comparison/conditions.h"
#include "reports/gate/gate.h"
#include "reports/kinds/ci_output.h"
#include "reports/kinds/kinds.h"
#include "suites/run/runner.h"
#include "tools/cli/engine_run.h"
#include "tools/cli/gate_looks.h"
#include "tools/cli/gate_noise.h"
#include "tools/cli/gate_options.h"
#include "tools/cli/gate_run.h"
#include "tools/cli/instructions.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/suite_run.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
using reports::Arm;

constexpr const char* kGateFooter =
    "Examples:\n"
    "  nanobench gate smoke_gate --baseline-engine old/nanobench-train   both run in turn on this machine: the best "
    "way\n"
    "  nanobench gate smoke_gate --baseline main                         against a stored baseline (nanobench "
    "baseline)\n"
    "  nanobench gate smoke_gate --baseline baseline.json --only loss,cost\n"
    "  nanobench gate smoke_gate --baseline-engine old/nanobench-train --only cost --instructions\n"
    "  nanobench gate my_trainer.json --baseline-folder ../base          a trainer of your own, both checkouts in "
    "turn\n"
    "  nanobench gate my_trainer.json --baseline-folder ../base --forecast   runs nothing: how likely is a pass?\n"
    "  nanobench gate speedrun_history --seeds 5 --margin time=0.03 --markdown gate.md --junit gate.xml\n"
    "\n"
    "Without --baseline, the gate takes the stored baseline of the merge base or its nearest ancestor, or else the "
    "newest\n"
    "accepted one.\n"
    "Exit codes: 0 pass: no metric is worse by more than its margin, 1 regression, 2 usage, 3 inconclusive, 4 a cell\n"
    "failed or evidence is missing, 5 no baseline, or not comparable with it, 130 interrupted (the same command\n"
    "continues).";

/// Tells the chance to pass before the first run.
reports::PassForecast forecast(const GateOptions& options, const reports::GatePolicy& policy,
                               const suites::Plan& candidate, bool is_interleaved, const results::Store& store) {
  const reports::GateSize size{.n = static_cast<int>(candidate.suite.seeds.size()),
                               .cells = static_cast<int>(candidate.matrix.cells.size())};
  return tell_forecast(
      options, reports::forecast_pass(noise_of_plan(candidate, is_interleaved, store), policy, size, policy.alpha),
      candidate);
}

Arms run_both(const GateOptions& options, const suites::Suite& suite, const reports::GatePolicy& policy,
              results::Store& store, const Session& session) {
  const BothPlans plans = plan_both(options, suite);
  std::optional<reports::PassForecast> before = forecast(options, policy, plans.candidate, true, store);
  if (options.is_forecast) {
    return {.forecast = std::move(before),
            .seed_s = seed_seconds(store, {&plans.baseline, &plans.candidate}),
            .calibrate_command = calibrate_command(suite, options.suite, plans.candidate.threads)};
  }
  const Counts counts = count_both(options, plans.baseline, plans.candidate);
  Arms arms = run_both(options, plans, counts, store,
                       {.is_fresh = options.run.is_fresh, .is_own_evidence = true, .argv = session.argv});
  arms.forecast = std::move(before);
  return arms;
}

bool share_runs(const results::PlanRecord& candidate, const results::PlanRecord& baseline) {
  return std::any_of(candidate.lines.begin(), candidate.lines.end(), [&](const results::PlanLine& line) {
    return line.run_id && std::any_of(baseline.lines.begin(), baseline.lines.end(),
                                      [&](const results::PlanLine& other) { return other.run_id == line.run_id; });
  });
}

std::string no_stored_results(const results::Store& store, const suites::Suite& suite) {
  return store.file().string() + " holds no results of the suite " + suite.name + "; leave --stored out to run it";
}

Arms with_stored_baseline(const GateOptions& options, const suites::Suite& suite, const reports::GatePolicy& policy,
                          results::Store& store, const Session& session) {
  Arms arms;
  const FoundBaseline found =
      find_baseline(store, {.name = options.baseline,
                            .branch = options.branch,
                            .suite = suite.name,
                            .folder = suite.external ? suite.external->folder : std::filesystem::path()});
  arms.baseline = found.arm;
  arms.missing = found.how;
  if (!found.arm) return arms;
  std::int64_t plan_id = 0;
  if (options.is_stored) {
    const auto newest = store.newest_plan(suite.name);
    if (!newest) throw Error(ErrorCode::kNotFound, no_stored_results(store, suite));
    plan_id = newest->id;
  } else {
    const suites::Plan candidate = plan_suite(suite, options.run, {});
    arms.forecast = forecast(options, policy, candidate, false, store);
    if (options.is_forecast) {
      arms.seed_s = seed_seconds(store, {&candidate});
      arms.calibrate_command = calibrate_command(suite, options.suite, candidate.threads);
      return arms;
    }
    const suites::SuiteRunResult result =
        run_plan(candidate, store, {.is_fresh = options.run.is_fresh, .argv = session.argv}, options.run);
    arms.is_interrupted = result.is_interrupted;
    plan_id = result.plan_id;
    arms.plan_ids = {plan_id};
  }
  const results::PlanRecord plan = store.plan(plan_id);
  arms.candidate = reports::read_arm(store, plan, "candidate");
  arms.notes.push_back("Compared with " + found.how + ".");
  if (found.plan_id && share_runs(plan, store.plan(*found.plan_id))) {
    arms.notes.emplace_back(
        "The candidate's runs are the baseline's, because program, configuration and data are the same. --fresh "
        "measures again.");
  }
  return arms;
}

void check_folder(const GateOptions& options, const suites::Suite& suite) {
  if (options.baseline_folder.empty()) return;
  if (!suite.external) {
    throw Error(ErrorCode::kInvalidArgument, "--baseline-folder is for suites around a trainer of your own, and " +
                                                 suite.name + " has another engine; use --baseline-engine");
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(options.baseline_folder, ignored)) return;
  throw Error(ErrorCode::kNotFound, "--baseline-folder " + options.baseline_folder +
                                        ": there is no such folder; name the folder that replaces " +
                                        suite.external->folder.string());
}

/// Called before anything is run.
void check_choices(const GateOptions& options, const suites::Suite& suite, bool is_in_turn) {
  const bool is_native = !suite.external && suite.mock.is_null();
  if (!options.baseline_engine.empty() && !is_native) {
    throw Error(ErrorCode::kInvalidArgument, "--baseline-engine names a nanobench-train, and the suite " + suite.name +
                                                 " has another engine; use " +
                                                 (suite.external ? "--baseline-folder or " : "") + "--baseline-suite");
  }
  check_folder(options, suite);
  if (options.counts_instructions && !is_in_turn) {
    throw Error(ErrorCode::kInvalidArgument,
                "--instructions counts both sides in turn; add --baseline-engine or --baseline-suite");
  }
  if (options.until.is_sequential() && !is_in_turn) {
    throw Error(ErrorCode::kInvalidArgument,
                "--until-decided and --budget add seeds to both sides; add --baseline-engine, --baseline-suite or "
                "--baseline-folder");
  }
  if (options.is_forecast && options.is_stored)
    throw Error(ErrorCode::kInvalidArgument, "--forecast is about runs to be made, and --stored makes none");
  if (options.counts_instructions && !is_native)
    throw Error(ErrorCode::kInvalidArgument, "--instructions needs a suite whose engine is nanobench-train");
}

/// Conditions of the runs that are judged.
reports::Conditions conditions_of(const GateOptions& options, const suites::Suite& suite, const results::Store& store) {
  if (!options.is_stored) return reports::conditions_of(plan_suite(suite, options.run, {}));
  const auto newest = store.newest_plan(suite.name);
  const auto conditions = newest ? reports::conditions_of(store, *newest) : std::nullopt;
  if (conditions) return *conditions;
  throw Error(ErrorCode::kNotFound, no_stored_results(store, suite));
}

/// Cells of the suite: their paired losses and times share one spread.
int cells_of(const GateOptions& options, const suites::Suite& suite) {
  return static_cast<int>(matrix_of(with_trainer_revision(suite), options.run.catalogue).cells.size());
}

/// Throws Error without a calibration.
CalibratedPolicy calibrated(const GateOptions& options, const reports::GatePolicy& policy, const results::Store& store,
                            const suites::Suite& suite, bool is_interleaved) {
  const GateOutline outline{.suite = suite,
                            .name = options.suite,
                            .conditions = conditions_of(options, suite, store),
                            .size = {.n = static_cast<int>(suite.seeds.size()), .cells = cells_of(options, suite)},
                            .is_interleaved = is_interleaved};
  return calibrated_policy(outline, policy, store);
}

int run_gate(const GateOptions& options, const Session& session) {
  const suites::Suite suite = load_suite(options.suite, options.settings);
  const bool is_in_turn = runs_both(options);
  check_choices(options, suite, is_in_turn);
  results::Store store(database_file(options.run.database));
  reports::GatePolicy policy = policy_of(options.policy);
  std::vector<std::string> notes;
  if (options.is_calibrated) {
    CalibratedPolicy with_margins = calibrated(options, policy, store, suite, is_in_turn);
    policy = with_margins.policy;
    notes.push_back(std::move(with_margins.note));
  }
  if (options.until.is_sequential()) return run_gate_until_decided(options, suite, policy, store, session, notes);
  const Arms arms = is_in_turn ? run_both(options, suite, policy, store, session)
                               : with_stored_baseline(options, suite, policy, store, session);
  if (arms.is_interrupted) return report_interruption(store, arms.plan_ids, session.argv);
  if (options.is_forecast && arms.forecast) return print_forecast(options, arms);
  if (!arms.baseline) {
    std::cerr << "nanobench: " << arms.missing << "\n";
    return reports::exit_code(reports::GateAnswer::kNotComparable);
  }
  notes.insert(notes.end(), arms.notes.begin(), arms.notes.end());
  reports::GateResult result = evaluate_gate(*arms.baseline, *arms.candidate, policy, setting_of(options, arms));
  result.forecast = arms.forecast;
  return finish_gate(options, std::move(result), std::move(notes), arms.seed_s);
}

void add_baseline_options(CLI::App& command, GateOptions& options) {
  CLI::Option* const name =
      command.add_option("--baseline", options.baseline, "Stored baseline, baseline file (JSON) or database")
          ->type_name("NAME|FILE");
  command.add_option("--branch", options.branch, "Branch of the merge base (default: origin's main branch, or main)")
      ->type_name("REF");
  CLI::Option* const engine = command
                                  .add_option("--baseline-engine", options.baseline_engine,
                                              "The baseline's nanobench-train; both run in turn on this machine")
                                  ->type_name("PROGRAM");
  CLI::Option* const suite = command
                                 .add_option("--baseline-suite", options.baseline_suite,
                                             "Suite with cells of the same names as the baseline, run in turn")
                                 ->type_name("SUITE");
  CLI::Option* const folder = command
                                  .add_option("--baseline-folder", options.baseline_folder,
                                              "Other checkout of a trainer of your own, run in turn with this one")
                                  ->type_name("DIR");
  folder->excludes(engine)->excludes(suite);
  name->excludes(engine)->excludes(suite)->excludes(folder);
  command.add_flag("--stored", options.is_stored, "Run nothing; the newest stored results are the candidate")
      ->excludes(engine)
      ->excludes(suite)
      ->excludes(folder);
  command.add_flag("--instructions", options.counts_instructions,
                   "Also count the instructions of two steps under valgrind, about a minute a side");
}

}  // namespace

void add_gate_command(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("gate", "Compare a candidate with a baseline; the exit code is the answer, for CI");
  const auto options = std::make_shared<GateOptions>();
  command->add_option("SUITE", options->suite, "Suite file, or the name of a built-in suite")->required();
  add_baseline_options(*command, *options);
  add_gate_policy_options(*command, options->policy);
  add_until_decided_options(*command, options->until);
  command->get_option("--until-decided")
      ->description("Add seeds to both sides until the gate has an answer, by a sequential rule");
  command->get_option("--budget")->description("The same within this time (90s, 10min, 2h)");
  command->add_flag("--forecast", options->is_forecast,
                    "Run nothing; print the chance that an unchanged candidate passes, and what raises it");
  command->add_flag("--calibrated", options->is_calibrated,
                    "Widen the margins to what this machine's noise requires (nanobench calibrate)");
  add_suite_settings(*command, options->settings);
  command->add_option("--markdown", options->markdown_file, "Write a report for a job summary or a comment")
      ->type_name("FILE");
  command->add_option("--junit", options->junit_file, "Write the checks as JUnit XML")->type_name("FILE");
  command->add_flag("--annotations", options->has_annotations,
                    "Print GitHub annotations on standard error (default under GitHub Actions)");
  add_suite_run_options(*command, options->run);
  command->footer(kGateFooter);
  command->callback([options, &session] { session.exit_code = run_gate(*options, session); });
}

}  // namespace nanobench::tools
