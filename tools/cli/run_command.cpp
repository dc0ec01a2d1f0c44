// `nanobench run SUITE`: plan, run what is missing, show it, report it.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "reports/comparison.h"
#include "reports/kinds/comparison_report.h"
#include "reports/text.h"
#include "results/provenance.h"
#include "suites/plan.h"
#include "suites/runner.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/session.h"
#include "tools/terminal/suite_progress.h"

namespace nanobench::tools {
namespace {

struct RunOptions {
  std::string suite;
  std::string scale;
  std::string seeds;
  std::string data;
  std::string database;
  std::string catalogue;
  std::optional<int> threads;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> processes;
  bool is_fresh = false;
  bool is_json = false;
  bool is_quiet = false;
};

constexpr const char* kFooter =
    "Examples:\n"
    "  nanobench run suites/speedrun_history.json\n"
    "  nanobench run speedrun_history --scale smoke               seconds, to see that everything works\n"
    "  nanobench run speedrun_history --seeds 3                   three seeds: a spread for every number\n"
    "  nanobench run speedrun_history --data text:book.txt        train on your own text\n"
    "  nanobench run speedrun_history --processes 2               data-parallel over two processes\n"
    "  nanobench run speedrun_history --json >history.json\n"
    "\n"
    "Finished identical runs are reused; the same command continues after an interruption. Ctrl-C once finishes the\n"
    "current step, stores and stops; twice stops now.";

suites::Suite load_suite(const RunOptions& options) {
  suites::SuiteOverrides overrides;
  if (!options.scale.empty()) overrides.scale = options.scale;
  if (!options.seeds.empty()) overrides.seeds = parse_seeds(options.seeds);
  if (!options.data.empty()) overrides.data = options.data;
  overrides.threads = options.threads;
  overrides.ranks = options.ranks;
  overrides.processes = options.processes;
  return suites::with_overrides(suites::read_suite_file(find_suite(options.suite)), overrides);
}

suites::Engine engine_for(const suites::Suite& suite) {
  if (!suite.mock.is_null()) return suites::mock_engine({own_program().string(), "mock-engine"});
  return suites::native_engine(engine_program());
}

suites::Plan make_plan(const suites::Suite& suite, const RunOptions& options) {
  suites::Matrix matrix = suites::make_matrix(suite, load_catalogue(options.catalogue));
  const suites::Engine engine = engine_for(suite);  // before the data, which may take a while to make
  if (!options.is_quiet && suite.data == "synthetic") {
    write_to_stderr("preparing the generated data in " + cache_folder().string() + "\n");
  }
  const core::DataSet data = suites::prepare_data(suite, matrix, cache_folder());
  return suites::make_plan(suite, matrix, data, engine, results::machine_info());
}

std::string figures_of(const results::Store& store, const results::RunRecord& run) {
  const reports::RunMeasure measure = reports::measure_run(store, run);
  std::string text;
  if (measure.val_loss) text += "val loss " + reports::format_fixed(*measure.val_loss, 4);
  if (measure.step_ms) text += "  " + reports::format_significant(*measure.step_ms, 4) + " ms/step";
  if (measure.tokens_per_s) {
    text += "  " + reports::format_count(static_cast<std::int64_t>(*measure.tokens_per_s)) + " tok/s";
  }
  if (measure.peak_bytes) text += "  " + reports::format_bytes(*measure.peak_bytes);
  return text;
}

int run_suite(const RunOptions& options, const Session& session) {
  const suites::Suite suite = load_suite(options);
  const suites::Plan plan = make_plan(suite, options);
  results::Store store(database_file(options.database));
  SuiteProgress progress(stderr_display(), [&](const results::RunRecord& run) { return figures_of(store, run); });
  suites::RunnerObserver silent;
  suites::RunnerObserver& observer = options.is_quiet ? silent : progress;
  const suites::SuiteRunResult result =
      suites::run_plan(plan, store, {.is_fresh = options.is_fresh, .argv = session.argv}, observer);
  progress.finish();
  const reports::ComparisonOptions comparison{.published_step_ms =
                                                  reports::published_step_ms(load_catalogue(options.catalogue))};
  if (!options.is_quiet) write_to_stderr("\n");
  print(reports::comparison_report(store, store.plan(result.plan_id), comparison), options.is_json);
  if (!options.is_quiet)
    write_to_stderr("\nstored in " + store.file().string() + " as plan " + std::to_string(result.plan_id) + "\n");
  if (result.is_interrupted) return kExitInterrupted;
  return result.is_whole() ? kExitSuccess : kExitIncomplete;
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("run", "Run a suite: train every cell, measure, store, report");
  const auto options = std::make_shared<RunOptions>();
  command->add_option("SUITE", options->suite, "Suite file, or the name of one that comes along")->required();
  command->add_option("--scale", options->scale, "Instead of the suite's: smoke, nano, mini, official_short, official")
      ->type_name("NAME");
  command->add_option("--seeds", options->seeds, "How many seeds (3: 1, 2, 3), or which (4,7; one: 5,)")
      ->type_name("N|A,B");
  command->add_option("--data", options->data, "synthetic, text:FILE[,FILE...] or shards:DIR")->type_name("SPEC");
  command->add_option("--threads", options->threads, "Threads of a run (default: the suite's, else all cores)")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""));
  add_participant_options(*command, options->ranks, options->processes);
  command->add_flag("--fresh", options->is_fresh, "Run again what is finished already");
  add_database_option(*command, options->database);
  add_catalogue_option(*command, options->catalogue);
  add_json_option(*command, options->is_json);
  command->add_flag("--quiet", options->is_quiet, "No progress on standard error");
  command->footer(kFooter);
  command->callback([options, &session] { session.exit_code = run_suite(*options, session); });
}

}  // namespace nanobench::tools
