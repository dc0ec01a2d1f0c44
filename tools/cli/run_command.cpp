// `nanobench run SUITE`: plans, makes the missing runs, shows progress, reports.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "suites/slurm/glance.h"
#include "suites/slurm/slurm_runner.h"
#include "suites/slurm/submitter.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/cli/suite_run.h"
#include "tools/cli/until_decided.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

/// --executor slurm and related options.
struct SlurmRequest {
  std::string executor = "local";
  std::string partition;
  std::optional<int> tasks_at_once;
  std::string chunk;
  std::vector<std::string> sbatch_options;
  std::string scratch;
  std::optional<double> poll_seconds;
  bool cancels_on_interrupt = false;
};

struct RunCommandOptions {
  std::string suite;
  SuiteSettings settings;
  SuiteRunOptions run;
  UntilDecided until;
  SlurmRequest slurm;
};

constexpr double kPollSeconds = 10;
constexpr const char* kRunFooter =
    "Examples:\n"
    "  nanobench run suites/speedrun_history.json\n"
    "  nanobench run speedrun_history --scale smoke               takes seconds, to see that everything works\n"
    "  nanobench run speedrun_history --seeds 3                   three seeds: a spread for every number\n"
    "  nanobench run speedrun_history --data text:book.txt        trains on your own text\n"
    "  nanobench run speedrun_history --processes 2               data-parallel over two processes\n"
    "  nanobench run leave_one_out --until-decided --max-seeds 12   as many seeds as the verdicts need\n"
    "  nanobench run speedrun_history --keep-weights last         a killed run continues from its checkpoint\n"
    "  nanobench run speedrun_history --json >history.json\n"
    "  nanobench run speedrun_history --seeds 8 --executor slurm --partition gpu --sbatch-option=--time=2:00:00\n"
    "\n"
    "Finished identical runs are reused; the same command continues after an interruption. Ctrl-C once finishes the\n"
    "current step, stores and stops; twice stops at once. With --executor slurm the runs are tasks of one array job,\n"
    "which continues without this program; the same command collects its results (docs/slurm.md).";

/// The first option that has no effect without Slurm; empty if there is none.
std::string option_without_effect(const SlurmRequest& request) {
  if (!request.partition.empty()) return "--partition";
  if (request.tasks_at_once) return "--tasks-at-once";
  if (!request.chunk.empty()) return "--chunk";
  if (!request.sbatch_options.empty()) return "--sbatch-option";
  if (!request.scratch.empty()) return "--scratch";
  if (request.poll_seconds) return "--poll";
  return request.cancels_on_interrupt ? "--cancel-on-interrupt" : "";
}

suites::SlurmChunk chunk_of(const std::string& name) {
  if (name.empty()) return suites::SlurmChunk::kSeed;
  if (const std::optional<suites::SlurmChunk> chunk = enum_value<suites::SlurmChunk>(name)) return *chunk;
  throw Error(ErrorCode::kInvalidArgument, "--chunk: expected seed or run, got " + name);
}

/// Beside the database, or in the scratch folder under a name unique to the database.
fs::path shared_folder(const std::string& scratch, const fs::path& database) {
  const fs::path whole = fs::absolute(database).lexically_normal();
  if (scratch.empty()) return suites::exchange_folder(database);
  return fs::absolute(scratch).lexically_normal() /
         (whole.stem().string() + "-" + core::digest_of(whole.string()).substr(0, 8) + ".slurm");
}

void add_slurm_options(CLI::App& command, SlurmRequest& request) {
  command.add_option("--executor", request.executor, "Where the runs run: local (default) or slurm")->type_name("NAME");
  command.add_option("--partition", request.partition, "slurm: partition (default: Slurm's)")->type_name("NAME");
  command
      .add_option("--tasks-at-once", request.tasks_at_once,
                  "slurm: maximum number of tasks of the array that run at once")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""));
  command.add_option("--chunk", request.chunk, "slurm: what one task runs: seed (all cells of a seed; default) or run")
      ->type_name("NAME");
  command
      .add_option("--sbatch-option", request.sbatch_options,
                  "slurm: one option for sbatch, such as --sbatch-option=--time=2:00:00; may be repeated")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  command.add_option("--scratch", request.scratch, "slurm: folder that the nodes share (default: beside the database)")
      ->type_name("DIR");
  add_seconds_option(command, "--poll", [&request](double seconds) { request.poll_seconds = seconds; },
                     "slurm: time between queries to Slurm (default: 10s)", {0.05, 3600.0});
  command.add_flag("--cancel-on-interrupt", request.cancels_on_interrupt, "slurm: Ctrl-C cancels the job too");
}

/// nullopt if the suite runs on this machine. `database` receives the results. Throws Error, also if Slurm is not
/// installed or has no such partition.
std::optional<suites::SlurmOptions> slurm_options(const SlurmRequest& request, const fs::path& database) {
  if (request.executor == "local") {
    if (const std::string option = option_without_effect(request); !option.empty())
      throw Error(ErrorCode::kInvalidArgument, option + " needs --executor slurm");
    return std::nullopt;
  }
  if (request.executor != "slurm") {
    throw Error(ErrorCode::kInvalidArgument, "--executor: expected local or slurm, got " + request.executor +
                                                 core::suggestion(request.executor, {"local", "slurm"}));
  }
  suites::check_sbatch_options(request.sbatch_options);
  const suites::SlurmChunk chunk = chunk_of(request.chunk);  // before Slurm is asked for anything
  return suites::SlurmOptions{.program = own_program(),
                              .folder = shared_folder(request.scratch, database),
                              .partition = suites::find_partition(request.partition),
                              .max_at_once = request.tasks_at_once,
                              .sbatch_options = request.sbatch_options,
                              .chunk = chunk,
                              .cancels_on_interrupt = request.cancels_on_interrupt,
                              .poll_seconds = request.poll_seconds.value_or(kPollSeconds)};
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("run", "Run a suite: train every cell, measure, store, report");
  const auto options = std::make_shared<RunCommandOptions>();
  command->add_option("SUITE", options->suite, "Suite file, or the name of a built-in suite")->required();
  add_suite_settings(*command, options->settings);
  add_until_decided_options(*command, options->until);
  add_suite_run_options(*command, options->run);
  add_jobs_option(*command, options->run);
  add_keep_weights_option(*command, options->run);
  add_slurm_options(*command, options->slurm);
  command->footer(kRunFooter);
  command->callback([options, &session] {
    const suites::Suite suite = load_suite(options->suite, options->settings);
    options->run.slurm = slurm_options(options->slurm, database_file(options->run.database));
    session.exit_code = options->until.is_sequential() ? run_until_decided(suite, options->until, options->run, session)
                                                       : run_suite(suite, options->run, session);
  });
}

}  // namespace nanobench::tools
