// `nanobench run SUITE`: plan, run what is missing, show it, report it.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/cli/places.h"
#include "tools/cli/session.h"
#include "tools/cli/slurm_request.h"
#include "tools/cli/suite_run.h"

namespace nanobench::tools {
namespace {

struct RunCommandOptions {
  std::string suite;
  SuiteSettings settings;
  SuiteRunOptions run;
  UntilDecided until;
  SlurmRequest slurm;
};

constexpr const char* kFooter =
    "Examples:\n"
    "  nanobench run suites/speedrun_history.json\n"
    "  nanobench run speedrun_history --scale smoke               seconds, to see that everything works\n"
    "  nanobench run speedrun_history --seeds 3                   three seeds: a spread for every number\n"
    "  nanobench run speedrun_history --data text:book.txt        train on your own text\n"
    "  nanobench run speedrun_history --processes 2               data-parallel over two processes\n"
    "  nanobench run leave_one_out --until-decided --max-seeds 12   as many seeds as the verdicts need\n"
    "  nanobench run speedrun_history --json >history.json\n"
    "  nanobench run speedrun_history --seeds 8 --executor slurm --partition gpu --sbatch-option=--time=2:00:00\n"
    "\n"
    "Finished identical runs are reused; the same command continues after an interruption. Ctrl-C once finishes the\n"
    "current step, stores and stops; twice stops now. With --executor slurm the runs are tasks of one array job, which "
    "goes\n"
    "on without this program: the same command collects (docs/slurm.md).";

suites::Suite load_suite(const RunCommandOptions& options) {
  return suites::with_overrides(suites::read_suite_file(find_suite(options.suite)), overrides_of(options.settings));
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("run", "Run a suite: train every cell, measure, store, report");
  const auto options = std::make_shared<RunCommandOptions>();
  command->add_option("SUITE", options->suite, "Suite file, or the name of one that comes along")->required();
  add_suite_settings(*command, options->settings);
  add_until_decided_options(*command, options->until);
  add_suite_run_options(*command, options->run);
  add_slurm_options(*command, options->slurm);
  command->footer(kFooter);
  command->callback([options, &session] {
    const suites::Suite suite = load_suite(*options);
    options->run.slurm = slurm_options(options->slurm, database_file(options->run.database));
    session.exit_code = options->until.is_asked ? run_until_decided(suite, options->until, options->run, session)
                                                : run_suite(suite, options->run, session);
  });
}

}  // namespace nanobench::tools
