#include "tools/cli/suite_run.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/hardware/processors.h"
#include "core/process/command.h"
#include "reports/comparison/comparison.h"
#include "reports/effects/effects.h"
#include "reports/effects/spread_weights.h"
#include "reports/forecast/run_cost.h"
#include "reports/kinds/kinds.h"
#include "results/provenance.h"
#include "results/run_log.h"
#include "suites/design/external_suite.h"
#include "suites/design/plan.h"
#include "suites/run/launched_engine.h"
#include "suites/run/runner.h"
#include "suites/source/scratch_tree.h"
#include "suites/source/source_trees.h"
#include "tools/cli/claim_ledger.h"
#include "tools/cli/git.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/terminal/suite_progress.h"

namespace nanobench::tools {
namespace {

constexpr const char* kCalibration = "calibration";

}  // namespace

suites::EngineUse use_of(const suites::Suite& suite, const SuiteRunOptions& options) {
  suites::EngineUse use{.device = suite.device, .has_launcher = !options.launcher.empty()};
  if (options.slurm) use.vector_path.reset();
  return use;
}

namespace {

suites::Engine engine_for(const suites::Suite& suite, const SuiteRunOptions& options) {
  const std::string own = own_program().string();
  if (!options.launcher.empty() && (suite.external || !suite.mock.is_null())) {
    throw core::Error(core::ErrorCode::kInvalidArgument,
                      "--launcher starts the processes of nanobench-train, but the suite " + suite.name +
                          " has another engine; leave it out");
  }
  if (suite.external) {
    suites::Engine engine = suites::external_engine(suite, {own, "external-engine"});
    if (suite.external->source) return engine;
    engine.version_of_run = [suite](const std::string&) {
      return suites::external_engine(with_trainer_revision(suite), {}).version;
    };
    return engine;
  }
  if (!suite.mock.is_null()) return suites::mock_engine({own, "mock-engine"});
  suites::Engine native = suites::native_engine(engine_program(), use_of(suite, options));
  if (options.launcher.empty()) return native;
  return suites::launched_engine(native, options.launcher, {own, "launched-engine"});
}

/// What a finished run measured; of one that failed, the files with its output.
std::string figures_of(const results::Store& store, const results::RunRecord& run) {
  if (!run.is_completed()) {
    const std::map<std::string, std::string> facts = store.run_facts(run.id);
    std::vector<std::string> files;
    for (const char* fact : {results::kStderrFile, results::kStdoutFile}) {
      if (const auto file = facts.find(fact); file != facts.end()) files.push_back(file->second);
    }
    return files.empty() ? "" : "its output: " + joined(files);
  }
  const reports::RunMeasure measure = reports::measure_run(store, run);
  std::string text;
  if (measure.val_loss) text += "val loss " + format_fixed(*measure.val_loss, 4);
  if (measure.step_ms) text += "  " + format_significant(*measure.step_ms, 4) + " ms/step";
  if (measure.tokens_per_s) {
    text += "  " + format_count(static_cast<std::int64_t>(*measure.tokens_per_s)) + " tok/s";
  }
  if (measure.peak_bytes) text += "  " + format_bytes(*measure.peak_bytes);
  return text;
}

/// Throws Error{kInvalidArgument} for turns and runs at once where they cannot be.
void check_sharing(const suites::Suite& suite, const SuiteRunOptions& options) {
  const auto refuse = [](const std::string& text) { throw core::Error(core::ErrorCode::kInvalidArgument, text); };
  const bool has_turns = options.times == suites::TimesChoice::kTurns;
  const bool is_started_elsewhere = options.slurm || !options.launcher.empty();
  const bool has_seats = suite.external && !suite.external->seats.empty();
  if (has_seats && (!options.launcher.empty() || options.jobs || has_turns))
    refuse(suite.source +
           ": /engine/seats: they decide what runs at once; leave out --jobs, --times turns and --launcher");
  if (has_seats && options.slurm && !suite.external->seats.share)
    refuse(suite.source +
           ": /engine/seats: Slurm gives each task its place; say how much a run needs, as in {\"gpus\": 8, "
           "\"per_run\": 1}");
  if (has_seats && !options.slurm) suites::check_processors(suite.external->seats, suite.source);
  if (has_turns && is_started_elsewhere)
    refuse("--times turns: the engines must be started by this program, not by a launcher or Slurm");
  if (options.jobs.value_or(1) == 1) return;
  if (is_started_elsewhere) refuse("--jobs: the engines must be started by this program, not by a launcher or Slurm");
  if (has_turns) refuse("--jobs runs several at once, which gives no times; leave out --times turns, or --jobs");
  if (suite.device.is_gpu) refuse("--jobs shares out processors, and the runs of " + suite.name + " are on a GPU");
}

/// Which weights the runs keep; absent: none.
std::optional<results::KeepWeights> weights_kept(const suites::Suite& suite, const SuiteRunOptions& options) {
  return options.keep_weights ? options.keep_weights : suite.keep_weights;
}

/// Throws Error{kInvalidArgument} for weights where the runs have none of ours, or are made elsewhere.
void check_weights(const suites::Suite& suite, const SuiteRunOptions& options) {
  if (!weights_kept(suite, options)) return;
  const auto refuse = [](const std::string& text) { throw core::Error(core::ErrorCode::kInvalidArgument, text); };
  if (suite.external || !suite.mock.is_null())
    refuse("--keep-weights keeps those of nanobench-train, but the suite " + suite.name + " has another engine");
  if (options.slurm)
    refuse("--keep-weights: runs on Slurm's nodes keep no weights; leave it out, or run on this machine");
}

/// With several runs at once, each one's share of the processors, unless a number of threads is asked for.
suites::Suite with_threads(suites::Suite suite, const SuiteRunOptions& options) {
  const int processors = core::available_processors();
  if (options.jobs && *options.jobs != 1 && suite.threads == 0)
    suite.threads = *options.jobs == 0 ? 1 : std::max(1, processors / *options.jobs);
  if (options.jobs.value_or(1) > 1)
    suites::check_jobs(*options.jobs, suite.threads * static_cast<int>(suite.processes.value_or(1)));
  if (options.jobs.value_or(1) == 1 && !options.slurm && !options.is_quiet) warn_of_shared_processors(suite.threads);
  return suite;
}

}  // namespace

int jobs_of(const suites::Plan& plan, const SuiteRunOptions& options) {
  const int jobs = options.jobs.value_or(1);
  return jobs > 0 ? jobs : std::max(1, core::available_processors() / plan.threads);
}

suites::Matrix matrix_of(const suites::Suite& suite, const std::string& catalogue) {
  const bool needs_claims = suite.design == suites::Design::kClaims;  // reading them takes longer than everything else
  using Parts = ablations::CatalogueParts;
  return suites::make_asked_matrix(suite,
                                   load_catalogue(catalogue, needs_claims ? Parts::kAll : Parts::kWithoutClaims));
}

void add_suite_settings(CLI::App& command, SuiteSettings& settings) {
  command
      .add_option("--scale", settings.scale,
                  "Scale in place of the suite's: smoke, nano, mini, official_brief, official_short, official")
      ->type_name("NAME");
  command
      .add_option("--seeds", settings.seeds, "Number of seeds (3 means 1, 2 and 3), or a list (4,7; a single seed: 5,)")
      ->type_name("N|A,B");
  command.add_option("--data", settings.data, "synthetic, text:FILE[,FILE...] or shards:DIR")->type_name("SPEC");
  command.add_option("--threads", settings.threads, "Threads of a run (default: the suite's, else all cores)")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""));
  add_device_option(command, settings.device);
  add_kernels_option(command, settings.kernels);
  add_metrics_option(command, settings.metrics);
  add_health_option(command, settings.health_every);
  add_participant_options(command, settings.ranks, settings.processes);
}

suites::SuiteOverrides overrides_of(const SuiteSettings& settings) {
  suites::SuiteOverrides overrides;
  if (!settings.scale.empty()) overrides.scale = settings.scale;
  if (!settings.seeds.empty()) overrides.seeds = parse_seeds(settings.seeds);
  if (!settings.data.empty()) overrides.data = suites::parse_data_request(settings.data, "--data");
  overrides.threads = settings.threads;
  overrides.device = settings.device;
  overrides.kernels = settings.kernels;
  overrides.metrics = settings.metrics;
  overrides.health_every = settings.health_every;
  overrides.ranks = settings.ranks;
  overrides.processes = settings.processes;
  return overrides;
}

suites::Suite load_suite(const std::string& name, const SuiteSettings& settings) {
  return suites::with_overrides(suites::read_suite_file(find_suite(name)), overrides_of(settings));
}

void add_suite_run_options(CLI::App& command, SuiteRunOptions& options) {
  command.add_flag("--fresh", options.is_fresh, "Run finished runs again");
  const auto take = [&options](const std::string& name) { options.times = *enum_value<suites::TimesChoice>(name); };
  command
      .add_option_function<std::string>("--times", take,
                                        "turns: the runs of a seed share the machine, a few steps at a time (default "
                                        "on processors); runs: one after the other")
      ->check(CLI::IsMember(enum_names<suites::TimesChoice>()))
      ->type_name("HOW");
  command
      .add_option(
          "--launcher", options.launcher,
          "Command that starts the processes of a run in place of the engine: 'mpirun -n {processes}', 'srun -n "
          "{processes}'")
      ->type_name("COMMAND");
  add_database_option(command, options.database);
  add_catalogue_option(command, options.catalogue);
  add_json_option(command, options.is_json);
  add_notes_option(command, options.has_notes);
  command.add_flag("--quiet", options.is_quiet, "Print no progress on standard error");
}

void add_jobs_option(CLI::App& command, SuiteRunOptions& options) {
  const auto take = [&options](const std::string& text) {
    constexpr std::int64_t kMaxJobs = 4096;
    const std::optional<std::int64_t> number = parse_count(text);
    if (text != "auto" && (!number || *number < 1 || *number > kMaxJobs)) {
      throw core::Error(core::ErrorCode::kInvalidArgument, "--jobs: expected auto or a number from 1 to " +
                                                               std::to_string(kMaxJobs) + ", got \"" + text + "\"");
    }
    options.jobs = number ? static_cast<int>(*number) : 0;
  };
  command
      .add_option_function<std::string>("--jobs", take,
                                        "Runs at once, each on processors of its own; above 1 losses only, no times "
                                        "(default: 1; auto: as many as there are processors)")
      ->type_name("N|auto");
}

void add_keep_weights_option(CLI::App& command, SuiteRunOptions& options) {
  const auto take = [&options](const std::string& name) {
    options.keep_weights = *enum_value<results::KeepWeights>(name);
  };
  command
      .add_option_function<std::string>("--keep-weights", take,
                                        "last: each run keeps its newest checkpoint beside the database, and continues "
                                        "from it after a kill; all: one for each validation (default: none)")
      ->check(CLI::IsMember(enum_names<results::KeepWeights>()))
      ->type_name("WHICH");
}

suites::Suite with_trainer_revision(suites::Suite suite) {
  if (!suite.external) return suite;
  suites::ExternalTrainer& trainer = *suite.external;
  if (trainer.source) {
    trainer.revision = suites::pin_source(*trainer.source, cache_folder());
    return suite;
  }
  trainer.revision = source_revision(trainer.folder).value_or("");
  if (trainer.sources.empty()) trainer.tree = source_tree(trainer.folder, suite.source).value_or("");
  return suite;
}

std::string calibration_name(const suites::Suite& suite) {
  return suite.external ? suites::external_calibration_name(suite.name) : kCalibration;
}

bool is_calibration(const std::string& suite_name) {
  return suite_name == kCalibration || suite_name.starts_with(suites::external_calibration_name(""));
}

std::unique_ptr<results::Store> stored_results(const std::string& database) {
  const std::filesystem::path file = database_file(database);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return nullptr;
  return std::make_unique<results::Store>(file, results::OpenMode::kReadOnly);
}

std::unique_ptr<results::Store> stored_prices(const std::string& database) {
  try {
    return stored_results(database);
  } catch (const core::Error& error) {
    rethrow_internal(error);
    return nullptr;
  }
}

suites::Plan plan_suite(const suites::Suite& asked, const SuiteRunOptions& options, const PlanRequest& request) {
  check_sharing(asked, options);
  check_weights(asked, options);
  const suites::Suite suite = with_threads(with_trainer_revision(asked), options);
  suites::Matrix matrix = matrix_of(suite, options.catalogue);
  for (suites::Cell& cell : matrix.cells) {
    if (request.arm > 0) cell.arm = request.arm;
    if (request.seed_limits.contains(cell.label)) cell.seed_limit = request.seed_limits.at(cell.label);
  }
  // Before the data, which may take long to generate.
  const suites::Engine engine = request.engine ? *request.engine : engine_for(suite, options);
  if (!options.is_quiet && !suite.external && suite.data == suites::DataRequest{})
    tell_on_stderr("preparing generated data in " + cache_folder().string());
  const core::DataSet data = suites::prepare_data(suite, matrix, cache_folder());
  return suites::make_plan(suite, matrix, data, engine,
                           options.slurm ? suites::machine_of(options.slurm->partition) : results::machine_info());
}

namespace {

/// How many runs a display shows at once.
int shown_jobs(const suites::Plan& plan, const SuiteRunOptions& options) {
  const bool has_seats = plan.suite.external && !plan.suite.external->seats.empty();
  return has_seats ? static_cast<int>(plan.suite.external->seats.places.size()) : jobs_of(plan, options);
}

/// What `run` returns; its observer shows progress on standard error, unless that is to be quiet.
template <class Run>
auto with_progress(const results::Store& store, const SuiteRunOptions& options, int jobs, const Run& run,
                   const std::map<const suites::Plan*, std::string>& sides = {}) {
  suites::RunnerObserver silent;
  if (options.is_quiet) return run(silent);
  SuiteProgress progress(
      stderr_display(), [&](const results::RunRecord& record) { return figures_of(store, record); }, jobs, sides);
  progress.set_whole(options.whole);
  auto result = run(progress);
  progress.finish();
  write_to_stderr("\n");
  return result;
}

/// What every suite that runs on this machine has.
suites::RunnerOptions completed(suites::RunnerOptions runner, const suites::Plan& plan, const SuiteRunOptions& options,
                                const results::Store& store) {
  const bool takes_turns =
      !plan.suite.external && plan.suite.mock.is_null() && !plan.suite.device.is_gpu && options.launcher.empty();
  runner.times = options.times.value_or(takes_turns ? suites::TimesChoice::kTurns : suites::TimesChoice::kRuns);
  runner.jobs = jobs_of(plan, options);
  runner.has_pilots = true;
  runner.keep_weights = weights_kept(plan.suite, options);
  if (!runner.expected_seconds)
    runner.expected_seconds = [&store](const suites::Plan& one) { return reports::expected_seconds(store, one); };
  return runner;
}

}  // namespace

namespace {

/// Folders in the cache that were made for the runs of a plan, unless a failed run may be looked into there.
void remove_trees_of(const suites::Plan& plan, const suites::SuiteRunResult& result, const SuiteRunOptions& options) {
  if (!plan.suite.external || !plan.suite.external->source || !result.is_whole() || options.slurm) return;
  std::vector<std::filesystem::path> folders;
  for (const suites::Cell& cell : plan.matrix.cells)
    folders.emplace_back(cell.external.at("source").at("folder").get<std::string>());
  suites::remove_trees(cache_folder(), folders);
}

}  // namespace

suites::SuiteRunResult run_plan(const suites::Plan& plan, results::Store& store, const suites::RunnerOptions& runner,
                                const SuiteRunOptions& options) {
  const auto result = with_progress(store, options, shown_jobs(plan, options), [&](suites::RunnerObserver& observer) {
    return options.slurm ? suites::run_on_slurm(plan, store, runner, *options.slurm, observer)
                         : suites::run_plan(plan, store, completed(runner, plan, options, store), observer);
  });
  remove_trees_of(plan, result, options);
  return result;
}

std::vector<suites::SuiteRunResult> run_in_turn(const std::vector<const suites::Plan*>& plans, results::Store& store,
                                                const suites::RunnerOptions& runner, const SuiteRunOptions& options) {
  std::map<const suites::Plan*, std::string> sides;
  if (plans.size() == 2) sides = {{plans[0], "baseline"}, {plans[1], "candidate"}};
  auto results = with_progress(
      store, options, shown_jobs(*plans.front(), options),
      [&](suites::RunnerObserver& observer) {
        return suites::run_in_turn(plans, store, completed(runner, *plans.front(), options, store), observer);
      },
      sides);
  for (std::size_t i = 0; i < plans.size(); ++i) remove_trees_of(*plans[i], results[i], options);
  return results;
}

namespace {

/// The suite's report: a table of its cells, or the verdicts on its claims.
reports::Document finished_report(const results::Store& store, const results::PlanRecord& plan,
                                  const SuiteRunOptions& options) {
  if (is_of_claims(plan)) return ledger_of_plan(store, plan, options.catalogue, options.is_json);
  const ablations::Catalogue catalogue = load_catalogue(options.catalogue);
  const reports::ComparisonOptions comparison{.published_step_ms = reports::published_step_ms(catalogue),
                                              .has_provenance = options.is_json,
                                              .records = reports::record_facts(catalogue)};
  return reports::comparison_report(store, plan, comparison);
}

}  // namespace

std::string command_to_continue(const std::vector<std::string>& argv) {
  if (argv.size() < 2) return "";
  return program_name() + " " + shell_words(core::without_options({argv.begin() + 1, argv.end()}, {}, {"--fresh"}));
}

int report_interruption(const results::Store& store, const std::vector<std::int64_t>& plan_ids,
                        const std::vector<std::string>& argv) {
  std::int64_t finished = 0, all = 0;
  bool has_weights = false;
  for (const std::int64_t id : plan_ids) {
    const results::PlanRecord plan = store.plan(id);
    all += static_cast<std::int64_t>(plan.lines.size());
    for (const results::PlanLine& line : plan.lines) finished += line.run_id && store.run(*line.run_id).is_evidence();
    for (const results::RunRecord& run :
         store.runs({.plan_id = id, .outcome = core::RunOutcome::kInterrupted, .limit = 1})) {
      std::error_code ignored;
      has_weights |= std::filesystem::exists(results::weights_folder(store.file(), run.id), ignored);
    }
  }
  const bool is_fresh = std::find(argv.begin(), argv.end(), "--fresh") != argv.end();
  tell_on_stderr(
      "interrupted: " + std::to_string(finished) + " of " + counted(all, "run") + " are finished and kept in " +
      store.file().string() + "; a run in progress " +
      (has_weights ? "continues from its checkpoint" : "is made again") +
      (is_fresh ? "; without --fresh, which would begin anew, runs that were stored before are used too" : ""));
  if (const std::string command = command_to_continue(argv); !command.empty())
    write_to_stderr("continue: " + command + "\n");
  write_to_stderr("look at it: " + program_name() + " report --plan " + std::to_string(plan_ids.back()) +
                  typed_database() + "\n");
  return core::kExitInterrupted;
}

int finish_run(const results::Store& store, const suites::SuiteRunResult& result, const SuiteRunOptions& options,
               const Session& session, const std::string& remark) {
  if (result.is_interrupted && !options.is_json) return report_interruption(store, {result.plan_id}, session.argv);
  reports::Document report = finished_report(store, store.plan(result.plan_id), options);
  if (!remark.empty()) report.headline += " " + remark;
  print(report, options.is_json, notes_of(options.has_notes));
  if (!options.is_quiet)
    tell_on_stderr("\nstored in " + store.file().string() + " as plan " + std::to_string(result.plan_id));
  if (result.is_interrupted)
    return options.is_quiet ? core::kExitInterrupted : report_interruption(store, {result.plan_id}, session.argv);
  return result.is_whole() ? core::kExitSuccess : core::kExitIncomplete;
}

int run_suite(const suites::Suite& suite, const SuiteRunOptions& options, const Session& session) {
  const suites::Plan plan = plan_suite(suite, options);
  results::Store store(database_file(options.database));
  const suites::SuiteRunResult result =
      run_plan(plan, store, {.is_fresh = options.is_fresh, .argv = session.argv}, options);
  return finish_run(store, result, options, session);
}

}  // namespace nanobench::tools
