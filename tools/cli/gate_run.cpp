#include "tools/cli/gate_run.h"

#include <cstdlib>
#include <iostream>
#include <tuple>
#include <utility>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/kinds/ci_output.h"
#include "reports/kinds/kinds.h"
#include "tools/cli/engine_run.h"
#include "tools/cli/gate_noise.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
using reports::Arm;

/// The baseline has its own runs, even if both sides are the same program.
suites::Plan baseline_plan(const GateOptions& options, const suites::Suite& suite) {
  suites::Suite other = suite;
  if (!options.baseline_suite.empty()) {
    other = load_suite(options.baseline_suite, options.settings);
    other.seeds = suite.seeds;
    other.order_seed = suite.order_seed;
  }
  if (!options.baseline_folder.empty()) suites::move_to_folder(*other.external, full_path(options.baseline_folder));
  std::optional<suites::Engine> engine;
  if (!options.baseline_engine.empty())
    engine = suites::native_engine(options.baseline_engine, use_of(suite, options.run));
  return plan_suite(other, options.run, {.engine = engine, .arm = 1});
}

void set_instructions(Arm& arm, const std::string& label, const InstructionCount& count) {
  for (reports::ArmCell& cell : arm.cells) {
    if (cell.label == label) cell.instructions = count.count;
  }
}

void write_outputs(const GateOptions& options, const reports::GateResult& result) {
  if (!options.markdown_file.empty())
    core::write_file_atomically(options.markdown_file, reports::gate_markdown(result));
  if (!options.junit_file.empty()) core::write_file_atomically(options.junit_file, reports::gate_junit(result));
  const char* const actions = std::getenv("GITHUB_ACTIONS");
  // GitHub reads workflow commands from both streams; stdout is reserved for data.
  if (options.has_annotations || (actions != nullptr && std::string(actions) == "true"))
    std::cerr << reports::gate_annotations(result) << std::flush;
}

}  // namespace

BothPlans plan_both(const GateOptions& options, const suites::Suite& suite) {
  BothPlans plans{.baseline = baseline_plan(options, suite),
                  .candidate = plan_suite(suite, options.run, {.engine = std::nullopt, .arm = 2})};
  if (plans.baseline.runs.size() == plans.candidate.runs.size()) return plans;
  throw Error(ErrorCode::kInvalidArgument, "the suites have " + std::to_string(plans.baseline.runs.size()) + " and " +
                                               std::to_string(plans.candidate.runs.size()) +
                                               " runs; running in turn needs the same cells in both");
}

Counts count_both(const GateOptions& options, const suites::Plan& baseline, const suites::Plan& candidate) {
  Counts counts;
  if (!options.counts_instructions) return counts;
  if (!has_valgrind()) {
    counts.notes.emplace_back("Instructions were not counted: valgrind is not installed.");
    return counts;
  }
  if (!options.run.is_quiet) write_to_stderr("counting the baseline's instructions under valgrind, about a minute\n");
  counts.baseline = count_instructions(baseline, "baseline");
  if (!options.run.is_quiet) write_to_stderr("counting the candidate's instructions\n");
  counts.candidate = count_instructions(candidate, "candidate");
  for (const std::string& problem : {counts.baseline.problem, counts.candidate.problem}) {
    if (!problem.empty()) counts.notes.push_back("Instructions were not counted: " + problem + ".");
  }
  return counts;
}

Arms run_both(const GateOptions& options, const BothPlans& plans, const Counts& counts, results::Store& store,
              const suites::RunnerOptions& runner) {
  const auto& [baseline, candidate] = plans;
  const std::vector<suites::SuiteRunResult> results = run_in_turn({&baseline, &candidate}, store, runner, options.run);
  Arms arms{.is_interleaved = true, .is_interrupted = results.front().is_interrupted};
  for (const suites::SuiteRunResult& result : results) arms.plan_ids.push_back(result.plan_id);
  std::tie(arms.baseline, arms.candidate) =
      reports::read_arms(store, store.plan(results[0].plan_id), store.plan(results[1].plan_id));
  set_instructions(*arms.baseline, baseline.matrix.cells.front().label, counts.baseline);
  set_instructions(*arms.candidate, candidate.matrix.cells.front().label, counts.candidate);
  arms.notes = counts.notes;
  return arms;
}

reports::GateSetting setting_of(const GateOptions& options, const Arms& arms) {
  return {.is_interleaved = arms.is_interleaved, .allows_other_configs = !options.baseline_suite.empty()};
}

reports::PassForecast tell_forecast(const GateOptions& options, reports::PassForecast forecast,
                                    const suites::Plan& candidate) {
  if (!options.run.is_quiet && !options.is_forecast) {
    const std::string warning = reports::forecast_warning(forecast);
    const std::string advice = calibrate_command(candidate.suite, options.suite, candidate.threads);
    write_to_stderr((warning.empty() ? forecast_text(forecast, advice) : "warning: " + warning) + "\n\n");
  }
  return forecast;
}

int print_forecast(const GateOptions& options, const reports::PassForecast& forecast) {
  print(reports::pass_forecast_report(options.suite, forecast), options.run.is_json, notes_of(options.run.has_notes));
  return core::kExitSuccess;
}

namespace {

/// More seeds where they may decide, and the runs behind the answer.
std::vector<reports::NextStep> steps_after(const GateOptions& options, reports::GateAnswer answer) {
  std::vector<reports::NextStep> steps;
  if (answer == reports::GateAnswer::kInconclusive && !options.until.is_asked && !options.until.budget_s) {
    std::vector<std::string> words = typed_words();
    words.erase(words.begin());
    words.emplace_back("--until-decided");
    steps.push_back({.command = shell_words(words), .gain = "adds seeds until every check is decided"});
  }
  if (answer == reports::GateAnswer::kPass)
    steps.push_back({.command = "baseline save NAME", .gain = "keeps these results, for later gates to compare with"});
  steps.push_back({.command = "report --open", .gain = "the page of the candidate's runs"});
  return steps;
}

}  // namespace

int finish_gate(const GateOptions& options, reports::GateResult result, std::vector<std::string> notes) {
  notes.insert(notes.end(), result.notes.begin(), result.notes.end());
  result.notes = std::move(notes);
  reports::Document document = reports::gate_report(result);
  document.next = steps_after(options, result.answer);
  print(document, options.run.is_json, notes_of(options.run.has_notes));
  write_outputs(options, result);
  return reports::exit_code(result.answer);
}

}  // namespace nanobench::tools
