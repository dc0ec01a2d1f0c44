// `nanobench plan SUITE`: what a suite will cost and what it can show, before anything is spent.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <numeric>
#include <vector>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/process/command.h"
#include "reports/forecast/forecast.h"
#include "reports/forecast/run_cost.h"
#include "reports/kinds/kinds.h"
#include "suites/design/pilot_plan.h"
#include "suites/design/plan.h"
#include "tools/cli/engine_run.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/cli/suite_run.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

constexpr std::int64_t kUntimedSteps = 2;  // caches are cold and memory is new
constexpr std::int64_t kTimedSteps = 4;

struct PlanOptions {
  std::string suite;
  SuiteSettings settings;
  SuiteRunOptions run;
  reports::DetectionRules rules;
  bool has_no_calibration = false;
};

constexpr const char* kPlanFooter =
    "Examples:\n"
    "  nanobench plan speedrun_history --seeds 3                 runs, time, memory, the smallest effect it can find\n"
    "  nanobench plan leave_one_out --detect 0.002 --power 90%   how many seeds find 0.002 nats\n"
    "  nanobench plan leave_one_out --detect 1%                  how many seeds find 1 % of the step time\n"
    "  nanobench plan leave_one_out --seeds 5 --no-calibration --json\n"
    "\n"
    "Times come from stored runs of the same configuration, or of the same scale by FLOP/s. Without such runs, a few\n"
    "steps of the cheapest cell are trained now and not stored. The noise comes from stored runs of this suite, of an\n"
    "a_a plan, or of any suite with several seeds at this scale.";

/// What the events of a short run contain.
struct Observed {
  std::vector<double> step_ms;
  double peak_bytes = 0.0;

  void on_event(const core::RunEvent& event) {
    if (const auto* step = std::get_if<core::StepEvent>(&event); step != nullptr && step->train_ms)
      step_ms.push_back(step->step_ms);
    if (const auto* finished = std::get_if<core::FinishedEvent>(&event))
      peak_bytes = std::max(peak_bytes, static_cast<double>(finished->peak_bytes));
  }
};

core::RunSpec short_spec(const suites::Plan& plan, const suites::PlannedRun& run) {
  core::RunSpec spec = run.spec;
  spec.run_id = "calibration";
  suites::compress_schedule(spec.config, kUntimedSteps, kTimedSteps, plan.cell_of(run).label);
  return spec;
}

reports::PastRun past_run(const Observed& observed, const core::TrainConfig& config, double wall_s) {
  const double sum = std::accumulate(observed.step_ms.begin(), observed.step_ms.end(), 0.0);
  return {.config_digest = config.digest(),
          .step_ms = sum / static_cast<double>(observed.step_ms.size()),
          .wall_s = wall_s,
          .peak_bytes = observed.peak_bytes,
          .timed_steps = static_cast<std::int64_t>(observed.step_ms.size()),
          .work = reports::work_of(config)};
}

struct CalibrationStep {
  std::optional<reports::PastRun> run;  ///< absent if it did not complete
  std::string failure;                  ///< why, one sentence
  bool is_interrupted = false;
};

/// A few steps of `plan.runs[position]` in the foreground, by the plan's engine, with the schedule compressed into
/// them. Stores nothing; Ctrl-C ends it. Throws Error if the engine cannot be started.
CalibrationStep run_calibration_step(const suites::Plan& plan, std::size_t position) {
  const core::RunSpec spec = short_spec(plan, plan.runs.at(position));
  Observed observed;
  const auto started = std::chrono::steady_clock::now();
  const ForegroundResult result =
      run_in_foreground(plan.engine.command, spec,
                        {.on_event = [&](const core::RunEvent& event) { observed.on_event(event); },
                         .on_tick = [] {},
                         .on_output = [](const std::string&) {}});
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  CalibrationStep step;
  const core::RunOutcome outcome = result.classification.outcome;
  step.is_interrupted = outcome == core::RunOutcome::kInterrupted;
  if (outcome == core::RunOutcome::kCompleted && !observed.step_ms.empty()) {
    step.run = past_run(observed, spec.config, wall_s);
  } else {
    step.failure =
        "the calibration run ended as " + enum_name(outcome) + ": " + printable(result.classification.message);
  }
  return step;
}

/// The command that makes the planned runs: this one as `run`, without what belongs to planning.
std::string run_words(const std::vector<std::string>& argv) {
  std::vector<std::string> words =
      core::without_options({argv.begin() + 1, argv.end()}, {"--detect", "--detect-time", "--power", "--alpha"},
                            {"--no-calibration", "--json", "--notes"});
  words.front() = "run";
  return shell_words(words);
}

/// The run, and the number of seeds that was asked for.
std::vector<reports::NextStep> next_steps(const std::vector<std::string>& argv, const reports::Forecast& forecast) {
  std::vector<reports::NextStep> steps;
  if (const int runs = forecast.totals.to_run(); runs > 0) {
    const std::string time = forecast.totals.is_whole ? ", about " + format_duration(forecast.totals.wall_s) : "";
    steps.push_back({.command = run_words(argv), .gain = counted(runs, "run") + time});
  } else {
    steps.push_back({.command = run_words(argv), .gain = "its report; every run is stored already"});
  }
  return steps;
}

int plan(const PlanOptions& options, const Session& session) {
  reports::check_rules(options.rules);
  const suites::Suite suite = load_suite(options.suite, options.settings);
  const std::unique_ptr<results::Store> store = stored_results(options.run.database);
  const suites::Plan planned = plan_suite(suite, options.run);
  reports::ForecastOptions settings{
      .is_fresh = options.run.is_fresh, .rules = options.rules, .calibration = std::nullopt};
  reports::Forecast forecast = reports::forecast(planned, store.get(), settings);
  const std::optional<std::size_t> position = reports::run_to_calibrate(planned, forecast);
  std::string failure;
  if (position && !options.has_no_calibration) {
    if (!options.run.is_quiet) {
      tell_on_stderr("no stored run shows how long these take: training a few steps of " +
                     planned.cell_of(planned.runs[*position]).label);
    }
    const CalibrationStep step = run_calibration_step(planned, *position);
    if (step.is_interrupted) {
      tell_on_stderr("interrupted: nothing was planned or stored; --no-calibration plans without training");
      return core::kExitInterrupted;
    }
    failure = step.failure;
    settings.calibration = step.run;
    forecast = reports::forecast(planned, store.get(), settings);
  }
  reports::Document document = reports::plan_report(planned, forecast);
  if (!failure.empty()) document.warnings.push_back("No estimate of time and memory: " + failure + ".");
  document.next = next_steps(session.argv, forecast);
  print(document, options.run.is_json, notes_of(options.run.has_notes));
  return core::kExitSuccess;
}

void add_rules(CLI::App& command, reports::DetectionRules& rules) {
  const auto detect = [&rules](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const DetectableSize size = parse_detectable(text, "--detect");
      (size.is_share ? rules.time : rules.loss) = size.value;
    }
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--detect", detect,
          "Print how many seeds find this effect on the loss (0.002: nats per token) or on the step time (1%); may be "
          "repeated")
      ->type_name("NATS|P%")
      ->allow_extra_args(false);
  add_share_option(command, "--detect-time", [&rules](double share) { rules.time = share; },
                   "The same for the step time", {1e-6, 10.0});
  add_share_option(command, "--power", [&rules](double share) { rules.power = share; },
                   "Probability of finding an effect that is there (default: 80%)", {0.01, 0.999});
  add_share_option(command, "--alpha", [&rules](double share) { rules.alpha = share; },
                   "Significance level of the two-sided test (default: 5%)", {0.0, 1.0});
}

}  // namespace

void add_plan_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("plan", "Print what a suite will cost and what it can show");
  const auto options = std::make_shared<PlanOptions>();
  command->add_option("SUITE", options->suite, "Suite file, or the name of a built-in suite")->required();
  add_rules(*command, options->rules);
  add_suite_settings(*command, options->settings);
  command->add_flag("--no-calibration", options->has_no_calibration, "Train nothing, even if times remain unknown");
  add_suite_run_options(*command, options->run);
  command->get_option("--fresh")->description("Plan as if no finished run could be reused");
  command->footer(kPlanFooter);
  command->callback([options, &session] { session.exit_code = plan(*options, session); });
}

}  // namespace nanobench::tools
