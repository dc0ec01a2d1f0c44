/// The two sides of a gate: what was asked for, their plans and runs, and how its result is put out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/gate/arm.h"
#include "reports/gate/gate.h"
#include "results/store.h"
#include "suites/design/plan.h"
#include "suites/run/runner.h"
#include "tools/cli/gate_options.h"
#include "tools/cli/instructions.h"
#include "tools/cli/suite_run.h"
#include "tools/cli/until_decided.h"

namespace nanobench::tools {

struct GateOptions {
  std::string suite;
  SuiteSettings settings;
  SuiteRunOptions run;
  std::string baseline, branch;
  std::string baseline_engine, baseline_suite, baseline_folder;
  bool is_stored = false;
  bool counts_instructions = false;
  bool is_calibrated = false;
  bool is_forecast = false;  ///< nothing is run
  GatePolicyOptions policy;
  std::string markdown_file, junit_file;
  bool has_annotations = false;
  UntilDecided until;
};

/// Both sides of the comparison, or why there is none.
struct Arms {
  std::optional<reports::Arm> baseline, candidate;
  bool is_interleaved = false;
  bool is_interrupted = false;
  std::vector<std::int64_t> plan_ids;  ///< of what was run: the candidate's last
  std::string missing;                 ///< why there is no baseline
  std::vector<std::string> notes;      ///< for people
  std::optional<reports::PassForecast> forecast;
  std::optional<double> seed_s;   ///< what one more seed of all that this gate runs takes; absent: unknown
  std::string calibrate_command;  ///< measures the noise that decides the chance; words after the program's name
};

/// Instructions of both sides, counted before the runs.
struct Counts {
  InstructionCount baseline, candidate;
  std::vector<std::string> notes;
};

struct BothPlans {
  suites::Plan baseline, candidate;
};

/// Whether both sides run in turn, and none is stored.
bool runs_both(const GateOptions& options);

/// What one more seed of the plans takes; nullopt where a cell's time is unknown.
std::optional<double> seed_seconds(const results::Store& store, const std::vector<const suites::Plan*>& plans);

/// Throws Error{kInvalidArgument} unless both sides have as many runs.
BothPlans plan_both(const GateOptions& options, const suites::Suite& suite);
/// Called before the runs, so that an interruption here costs no run.
Counts count_both(const GateOptions& options, const suites::Plan& baseline, const suites::Plan& candidate);
Arms run_both(const GateOptions& options, const BothPlans& plans, const Counts& counts, results::Store& store,
              const suites::RunnerOptions& runner);

reports::GateSetting setting_of(const GateOptions& options, const Arms& arms);

/// Prints the chance to pass on standard error, unless that is to be quiet, and returns it.
reports::PassForecast tell_forecast(const GateOptions& options, reports::PassForecast forecast,
                                    const suites::Plan& candidate);

/// Prints the document of --forecast; returns the exit code. REQUIRES arms.forecast.
int print_forecast(const GateOptions& options, const Arms& arms);

/// Prints the result and writes its files, with `notes` in front of its own; returns the exit code. `seed_s`: as in
/// Arms.
int finish_gate(const GateOptions& options, reports::GateResult result, std::vector<std::string> notes,
                const std::optional<double>& seed_s = std::nullopt);

}  // namespace nanobench::tools
