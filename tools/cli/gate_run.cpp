#include "tools/cli/gate_run.h"

#include <cstdlib>
#include <iostream>
#include <tuple>
#include <utility>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/process/command.h"
#include "reports/forecast/run_cost.h"
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

bool runs_both(const GateOptions& options) {
  return !options.baseline_engine.empty() || !options.baseline_suite.empty() || !options.baseline_folder.empty();
}

std::optional<double> seed_seconds(const results::Store& store, const std::vector<const suites::Plan*>& plans) {
  double sum = 0.0;
  for (const suites::Plan* const plan : plans) {
    const std::optional<double> seconds = reports::seed_seconds(store, *plan);
    if (!seconds) return std::nullopt;
    sum += *seconds;
  }
  return sum;
}

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
  arms.seed_s = seed_seconds(store, {&baseline, &candidate});
  return arms;
}

reports::GateSetting setting_of(const GateOptions& options, const Arms& arms) {
  return {.is_interleaved = arms.is_interleaved, .allows_other_configs = !options.baseline_suite.empty()};
}

reports::PassForecast tell_forecast(const GateOptions& options, reports::PassForecast forecast,
                                    const suites::Plan& candidate) {
  if (!options.run.is_quiet && !options.is_forecast) {
    const std::string warning = reports::forecast_warning(forecast);
    const std::string advice = "nanobench " + calibrate_command(candidate.suite, options.suite, candidate.threads);
    tell_on_stderr((warning.empty() ? forecast_text(forecast, advice) : "warning: " + warning) + "\n");
  }
  return forecast;
}

namespace {

/// The words of this command after the program's name.
std::vector<std::string> own_words() {
  std::vector<std::string> words = typed_words();
  words.erase(words.begin());
  return words;
}

/// The gate itself, with the seeds that it takes, and where its chance is unknown, the noise first.
std::vector<reports::NextStep> steps_before(const Arms& arms) {
  std::vector<reports::NextStep> steps;
  const auto price = [&](int seeds) {
    return reports::price_text(arms.seed_s ? std::optional(seeds * *arms.seed_s) : std::nullopt,
                               arms.forecast->has_looks ? "up to" : "about");
  };
  if (!arms.forecast->chance)
    steps.push_back({.command = arms.calibrate_command, .gain = "measures the noise that decides the chance"});
  steps.push_back({.command = shell_words(core::without_options(own_words(), {}, {"--forecast"})),
                   .gain = price(arms.forecast->size.n) + "makes the runs and judges them"});
  if (!arms.forecast->is_low() || !arms.forecast->seeds) return steps;
  std::vector<std::string> more = core::without_options(own_words(), {"--seeds"}, {"--forecast"});
  more.insert(more.end(), {"--seeds", std::to_string(*arms.forecast->seeds)});
  steps.push_back({.command = shell_words(more),
                   .gain = price(*arms.forecast->seeds) + "the same with a chance of " +
                           format_percent(reports::PassForecast::kAimedChance, 0)});
  return steps;
}

/// More seeds where they may decide, and the runs behind the answer.
std::vector<reports::NextStep> steps_after(const GateOptions& options, reports::GateAnswer answer,
                                           const std::optional<double>& seed_s) {
  std::vector<reports::NextStep> steps;
  const bool may_add = runs_both(options) && !options.until.is_sequential();
  if (answer == reports::GateAnswer::kInconclusive && may_add) {
    std::vector<std::string> words = own_words();
    words.emplace_back("--until-decided");
    const std::string price = seed_s ? "about " + format_duration(*seed_s) + " a seed; " : "";
    steps.push_back({.command = shell_words(words), .gain = price + "adds seeds until every check is decided"});
  }
  if (answer == reports::GateAnswer::kPass)
    steps.push_back({.command = "baseline save NAME", .gain = "keeps these results, for later gates to compare with"});
  steps.push_back({.command = "report --open", .gain = "the page of the candidate's runs"});
  return steps;
}

}  // namespace

int print_forecast(const GateOptions& options, const Arms& arms) {
  reports::Document document = reports::pass_forecast_report(options.suite, *arms.forecast);
  document.next = steps_before(arms);
  print(document, options.run.is_json, notes_of(options.run.has_notes));
  return core::kExitSuccess;
}

int finish_gate(const GateOptions& options, reports::GateResult result, std::vector<std::string> notes,
                const std::optional<double>& seed_s) {
  notes.insert(notes.end(), result.notes.begin(), result.notes.end());
  result.notes = std::move(notes);
  reports::Document document = reports::gate_report(result);
  document.next = steps_after(options, result.answer, seed_s);
  print(document, options.run.is_json, notes_of(options.run.has_notes));
  write_outputs(options, result);
  return reports::exit_code(result.answer);
}

}  // namespace nanobench::tools
