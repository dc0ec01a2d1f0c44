// `nanobench plan SUITE`: what a suite will cost and what it can show, before anything is spent.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "core/base/exit_codes.h"
#include "reports/forecast/forecast.h"
#include "reports/kinds/kinds.h"
#include "suites/design/plan.h"
#include "tools/cli/calibration_step.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/session.h"
#include "tools/cli/suite_run.h"
#include "tools/terminal/status_lines.h"

namespace nanobench::tools {
namespace {

struct PlanOptions {
  std::string suite;
  SuiteSettings settings;
  SuiteRunOptions run;
  reports::DetectionRules rules;
  bool has_no_calibration = false;
};

constexpr const char* kFooter =
    "Examples:\n"
    "  nanobench plan speedrun_history --seeds 3                 runs, time, memory, the smallest effect it can find\n"
    "  nanobench plan leave_one_out --detect 0.002 --power 0.8   how many seeds find 0.002 nats\n"
    "  nanobench plan leave_one_out --detect-time 0.01           how many seeds find 1 % of the step time\n"
    "  nanobench plan leave_one_out --seeds 5 --no-calibration --json\n"
    "\n"
    "Times come from stored runs of the same configuration, else of the same scale by FLOP/s, else from a few steps\n"
    "of the cheapest cell, which are trained now and not stored. The noise comes from stored runs: of this suite,\n"
    "of an a_a plan, or of any suite with several seeds at this scale.";

/// nullptr when there is no database yet: a plan makes none.
std::unique_ptr<results::Store> open_store(const std::string& database) {
  const std::filesystem::path file = database_file(database);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return nullptr;
  return std::make_unique<results::Store>(file, results::OpenMode::kReadOnly);
}

int plan(const PlanOptions& options) {
  reports::check_rules(options.rules);
  const suites::Suite suite =
      suites::with_overrides(suites::read_suite_file(find_suite(options.suite)), overrides_of(options.settings));
  const std::unique_ptr<results::Store> store = open_store(options.run.database);
  const suites::Plan planned = plan_suite(suite, options.run);
  reports::ForecastOptions settings{
      .is_fresh = options.run.is_fresh, .rules = options.rules, .calibration = std::nullopt};
  reports::Forecast forecast = reports::forecast(planned, store.get(), settings);
  const std::optional<std::size_t> position = reports::run_to_calibrate(planned, forecast);
  std::string failure;
  if (position && !options.has_no_calibration) {
    if (!options.run.is_quiet) {
      write_to_stderr("no stored run tells how long these take: training a few steps of " +
                      planned.cell_of(planned.runs[*position]).label + " to see\n");
    }
    const CalibrationStep step = run_calibration_step(planned, *position);
    if (step.is_interrupted) return core::kExitInterrupted;
    failure = step.failure;
    settings.calibration = step.run;
    forecast = reports::forecast(planned, store.get(), settings);
  }
  reports::Document document = reports::plan_report(planned, forecast);
  if (!failure.empty()) document.warnings.push_back("No estimate of time and memory: " + failure + ".");
  print(document, options.run.is_json, notes_of(options.run.has_notes));
  return core::kExitSuccess;
}

void add_rules(CLI::App& command, reports::DetectionRules& rules) {
  command.add_option("--detect", rules.loss, "How many seeds find this effect on the loss, in nats per token")
      ->type_name("NATS");
  command.add_option("--detect-time", rules.time, "How many seeds find this effect on the step time (0.01: 1 %)")
      ->type_name("FRACTION");
  command.add_option("--power", rules.power, "With which probability an effect is to be found")
      ->type_name("P")
      ->capture_default_str();
  command.add_option("--alpha", rules.alpha, "Of the two-sided test")->type_name("P")->capture_default_str();
}

}  // namespace

void add_plan_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("plan", "What a suite will cost and what it can show; trains next to nothing");
  const auto options = std::make_shared<PlanOptions>();
  command->add_option("SUITE", options->suite, "Suite file, or the name of one that comes along")->required();
  add_rules(*command, options->rules);
  add_suite_settings(*command, options->settings);
  command->add_flag("--no-calibration", options->has_no_calibration, "Train nothing, even if times stay unknown");
  add_suite_run_options(*command, options->run);
  command->get_option("--fresh")->description("As if nothing finished could be reused");
  command->footer(kFooter);
  command->callback([options, &session] { session.exit_code = plan(*options); });
}

}  // namespace nanobench::tools
