// `nanobench calibrate`: one configuration against itself, for the noise of this machine.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>

#include "core/base/error.h"
#include "reports/gate/calibration.h"
#include "reports/kinds/kinds.h"
#include "results/provenance.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/cli/suite_run.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

struct CalibrateOptions {
  std::string suite;
  SuiteSettings settings;
  SuiteRunOptions run;
  int pairs = 6;
  double power = 0.8;
  bool is_stored = false;
};

constexpr const char* kDefaultRecord = "record17";
constexpr const char* kCalibrateFooter =
    "Examples:\n"
    "  nanobench calibrate --scale smoke --pairs 6          record 17 against itself\n"
    "  nanobench calibrate suites/leave_one_out.json        its base, at its scale\n"
    "  nanobench calibrate my_trainer.json --pairs 6        a trainer of your own (docs/external.md)\n"
    "  nanobench calibrate --stored                         what the last calibration showed\n"
    "\n"
    "Runs the configuration twice with each seed, in shuffled order. Prints the spread of the loss over seeds, the "
    "noise\n"
    "of the step time, the drift over the session, and the margins that a gate needs for a given number of runs;\n"
    "`nanobench gate --calibrated` uses these. Exit codes: 0 success, 2 usage, 4 a run failed, 130 interrupted.";

/// The suite whose base is measured.
suites::Suite asked_suite(const CalibrateOptions& options) {
  if (!options.suite.empty()) return suites::read_suite_file(find_suite(options.suite));
  suites::Suite suite;
  suite.base_record = kDefaultRecord;
  suite.source = "calibration";
  return suite;
}

/// The base of a suite (or its first record) as an a_a.
suites::Suite calibration_suite(const CalibrateOptions& options) {
  suites::Suite suite = asked_suite(options);
  suite.name = calibration_name(suite);
  if (suite.base_record.empty() && !suite.records.empty()) suite.base_record = suite.records.front();
  suite.records.clear();
  suite.features.clear();
  suite.axes.clear();
  suite.title = "One configuration against itself";
  suite.design = suites::Design::kAA;
  suite.arms = 2;
  suite.seeds.clear();
  for (int seed = 1; seed <= options.pairs; ++seed) suite.seeds.push_back(static_cast<std::uint64_t>(seed));
  return suites::with_overrides(suite, overrides_of(options.settings));
}

/// The newest calibration of the named suite, or of any.
std::optional<results::PlanRecord> last_calibration(const results::Store& store, const CalibrateOptions& options) {
  if (!options.suite.empty()) return store.newest_plan(calibration_name(asked_suite(options)));
  for (const results::PlanName& plan : store.newest_plan_names(std::numeric_limits<std::int64_t>::max())) {
    if (is_calibration(plan.suite)) return store.plan(plan.id);
  }
  return std::nullopt;
}

int print_calibration(const results::Store& store, const results::PlanRecord& plan, const CalibrateOptions& options) {
  const reports::Calibration calibration = reports::calibrate(reports::noise_runs(store, plan));
  std::string machine = "unknown";
  for (const results::PlanLine& line : plan.lines) {
    if (!line.run_id) continue;
    const results::RunRecord run = store.run(*line.run_id);
    machine = run.hardware + ", " + std::to_string(run.threads) + (run.threads == 1 ? " thread" : " threads");
    break;
  }
  reports::Document document = reports::calibration_report(plan, machine, calibration, options.power);
  document.next = {{.command = "gate SUITE --calibrated", .gain = "judges a change by these margins (docs/ci.md)"}};
  print(document, options.run.is_json, notes_of(options.run.has_notes));
  return core::kExitSuccess;
}

int calibrate(const CalibrateOptions& options, const Session& session) {
  if (options.pairs < 2) throw Error(ErrorCode::kInvalidArgument, "--pairs: expected 2 or more");
  if (options.is_stored) {
    const results::Store store(database_file(options.run.database), results::OpenMode::kReadOnly);
    const auto plan = last_calibration(store, options);
    if (!plan) throw Error(ErrorCode::kNotFound, store.file().string() + " holds no calibration; leave --stored out");
    return print_calibration(store, *plan, options);
  }
  const suites::Plan plan = plan_suite(calibration_suite(options), options.run);
  results::Store store(database_file(options.run.database));
  const suites::SuiteRunResult result =
      run_plan(plan, store, {.is_own_evidence = true, .argv = session.argv}, options.run);
  if (result.is_interrupted) return report_interruption(store, {result.plan_id}, session.argv);
  print_calibration(store, store.plan(result.plan_id), options);
  return result.is_whole() ? core::kExitSuccess : core::kExitIncomplete;
}

}  // namespace

void add_calibrate_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("calibrate", "Measure this machine's noise: one configuration against itself");
  const auto options = std::make_shared<CalibrateOptions>();
  command->add_option("SUITE", options->suite, "Suite whose base is measured (default: record 17 at scale nano)");
  command->add_option("--pairs", options->pairs, "Number of seeds, each run twice (default: 6)")->type_name("N");
  add_share_option(*command, "--power", [options](double share) { options->power = share; },
                   "Power that the derived margins give each check (default: 80%)", {0.06, 0.999});
  command->add_flag("--stored", options->is_stored, "Run nothing; print the last calibration");
  add_suite_settings(*command, options->settings);
  add_suite_run_options(*command, options->run);
  command->footer(kCalibrateFooter);
  command->callback([options, &session] { session.exit_code = calibrate(*options, session); });
}

}  // namespace nanobench::tools
