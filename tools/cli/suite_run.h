/// Shared by the commands that run a suite: options, the plan, progress, the report and the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "suites/design/plan.h"
#include "suites/design/suite.h"
#include "suites/run/runner.h"
#include "suites/slurm/slurm_runner.h"
#include "tools/cli/options.h"
#include "tools/cli/program.h"

namespace nanobench::tools {

/// --scale, --seeds, --data, --threads, --device, --kernels, --metrics, --health-every, --ranks and --processes, which
/// override a suite.
struct SuiteSettings {
  std::string scale;
  std::string seeds;
  std::string data;
  std::optional<int> threads;
  std::optional<core::DeviceChoice> device;
  std::optional<core::KernelChoice> kernels;
  std::optional<core::AskedMetrics> metrics;
  std::optional<std::int64_t> health_every;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> processes;
};

void add_suite_settings(CLI::App& command, SuiteSettings& settings);

/// The settings that were given. Throws Error{kInvalidArgument} for bad seeds.
suites::SuiteOverrides overrides_of(const SuiteSettings& settings);

/// The suite with this file or name (places.h), overridden by the settings. Throws Error.
suites::Suite load_suite(const std::string& name, const SuiteSettings& settings);

/// How a suite is run.
struct SuiteRunOptions {
  std::string database;
  std::string launcher;  ///< for runs of several processes; empty: they start themselves, on this host
  std::string catalogue;
  std::optional<suites::TimesChoice> times;          ///< absent: turns where the engine takes them
  std::optional<results::KeepWeights> keep_weights;  ///< absent: as the suite says
  std::optional<int> jobs;  ///< runs at once; 0: as many as there are processors for; absent: one
  bool is_fresh = false;
  bool is_json = false;
  bool has_notes = false;
  bool is_quiet = false;
  std::function<std::string()> whole;  ///< how far that is of which the suite is a part (SuiteProgress); or empty
  std::optional<suites::SlurmOptions> slurm;  ///< run on Slurm's nodes; absent: on this machine
};

void add_suite_run_options(CLI::App& command, SuiteRunOptions& options);

/// --jobs, for commands whose runs may do without times.
void add_jobs_option(CLI::App& command, SuiteRunOptions& options);

/// --keep-weights, for commands that run a suite of training runs.
void add_keep_weights_option(CLI::App& command, SuiteRunOptions& options);

/// What a plan needs besides the suite.
struct PlanRequest {
  std::optional<suites::Engine> engine;            ///< replaces the suite's own
  std::int64_t arm = 0;                            ///< arm of every cell (suites::Cell::arm)
  std::map<std::string, std::size_t> seed_limits;  ///< by cell (suites::Cell::seed_limit)
};

/// Adds the revision and digest of an external trainer's sources, as reported by git; returns any other suite
/// unchanged. If the suite names the sources itself, git provides only the revision.
suites::Suite with_trainer_revision(suites::Suite suite);

/// Name of the stored plans that measure the noise of the suite's runs. An external trainer has its own name.
std::string calibration_name(const suites::Suite& suite);
bool is_calibration(const std::string& suite_name);

/// Which parts of nanobench-train the runs of the suite load.
suites::EngineUse use_of(const suites::Suite& suite, const SuiteRunOptions& options);

/// The plan of a suite on this machine. May generate data, with a message on standard error. Throws Error.
suites::Plan plan_suite(const suites::Suite& suite, const SuiteRunOptions& options, const PlanRequest& request = {});

/// Runs a plan with progress on standard error: on this machine, or on Slurm's nodes.
suites::SuiteRunResult run_plan(const suites::Plan& plan, results::Store& store, const suites::RunnerOptions& runner,
                                const SuiteRunOptions& options);
/// Runs plans in turn (suites/run/runner.h) on this machine, with the same progress. Two of them are shown as baseline
/// and candidate.
std::vector<suites::SuiteRunResult> run_in_turn(const std::vector<const suites::Plan*>& plans, results::Store& store,
                                                const suites::RunnerOptions& runner, const SuiteRunOptions& options);

/// Runs at once.
int jobs_of(const suites::Plan& plan, const SuiteRunOptions& options);

/// The suite's cells. Throws Error.
suites::Matrix matrix_of(const suites::Suite& suite, const std::string& catalogue);

/// The database if there is one, for commands that make none; nullptr without.
std::unique_ptr<results::Store> stored_results(const std::string& database);

/// The same for prices only (reports::suite_price): a database that cannot be read is none.
std::unique_ptr<results::Store> stored_prices(const std::string& database);

/// The command again, without `--fresh`, which would begin anew; empty if it is not known.
std::string command_to_continue(const std::vector<std::string>& argv);

/// Says in three lines on standard error what interrupted plans keep, how they continue, and how to look at the last
/// one. `argv`: the command that was interrupted; a plan's own one may have had other options. Returns the exit code.
/// REQUIRES a plan.
int report_interruption(const results::Store& store, const std::vector<std::int64_t>& plan_ids,
                        const std::vector<std::string>& argv);

/// Prints the report of a plan that was run, with a remark below its answer; of an interrupted one, only the three
/// lines above unless JSON is asked for. Returns the exit code.
int finish_run(const results::Store& store, const suites::SuiteRunResult& result, const SuiteRunOptions& options,
               const Session& session, const std::string& remark = "");

/// Runs the missing part of the suite with progress on standard error, then prints the report. Returns the exit code.
/// Throws Error.
int run_suite(const suites::Suite& suite, const SuiteRunOptions& options, const Session& session);

}  // namespace nanobench::tools
