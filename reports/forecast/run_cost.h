/// The time and memory of a future run: from stored runs, from one short run, or from the mock engine's settings. Pure
/// except for reading the store; as thread-safe as the Store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/store.h"
#include "suites/design/plan.h"

namespace nanobench::reports {

/// The work of one run by the cost model (core/config/cost_model.h), as if each sequence were one document. This is an
/// upper bound, but only its ratios are used here.
struct RunWork {
  std::int64_t steps = 0;
  std::int64_t timed_steps = 0;
  double step_flops = 0.0;  ///< mean over the steps, as the attention window grows
  double run_flops = 0.0;   ///< all steps and validations
};
RunWork work_of(const core::TrainConfig& config);

/// A finished run, used to estimate others. All numbers are above 0; `work` may be absent.
struct PastRun {
  std::string config_digest;
  std::string pilot_of;  ///< the configuration whose pilot it is; empty: it is none
  double step_ms = 0.0;  ///< mean over the timed steps
  double wall_s = 0.0;   ///< from start to end, including set-up, untimed steps and validation; without waits
  double peak_bytes = 0.0;
  std::int64_t timed_steps = 0;
  std::optional<RunWork> work;
};

enum class CostSource {
  kUnknown,
  kStored,       ///< runs of the same configuration
  kPilot,        ///< the first steps of the same configuration, by their FLOP/s
  kFlops,        ///< runs of other configurations of this scale, by their FLOP/s
  kCalibration,  ///< a short run of one cell, by its FLOP/s
  kOperation,    ///< the time limit of single operations
  kMock,         ///< the mock engine's settings
};

/// Cost of one run.
struct RunCost {
  CostSource source = CostSource::kUnknown;
  int n = 0;                      ///< number of runs that it is based on
  std::optional<double> step_ms;  ///< mean over the timed steps
  std::optional<double> clock_s;  ///< the training clock at the end
  std::optional<double> wall_s;
  std::optional<double> peak_bytes;
};
/// "3 stored runs of this configuration", ...
std::string source_text(const RunCost& cost);

/// Completed runs of the plan's scale, engine (of any version), number type, hardware class and threads.
std::vector<PastRun> read_history(const results::Store& store, const suites::Plan& plan);

/// Estimated from `history` if it has runs or else pilots of the cell's configuration, else by FLOP/s from all of it,
/// else from `calibration`.
/// For the mock engine, from its settings.
RunCost estimate_cost(const suites::Plan& plan, const suites::PlannedRun& run, std::span<const PastRun> history,
                      const std::optional<PastRun>& calibration);

/// What a run of each cell takes, by `store`; without cells of which nothing is known.
std::map<std::string, double> expected_seconds(const results::Store& store, const suites::Plan& plan);

/// What one more seed of every cell takes; nullopt where a cell's time is unknown.
std::optional<double> seed_seconds(const results::Store& store, const suites::Plan& plan);

/// "about 4 min; ", in front of what a command gives; empty where that is unknown.
std::string price_text(const std::optional<double>& seconds, const std::string& word = "about");

/// "up to 4 min; ": what all runs of a suite take one after the other with all processors, by the runs in `store`
/// (nullptr: none), before it has data and an engine. Empty where a cell's time is unknown, for a GPU, for a trainer of
/// one's own, and if the store cannot be read: no command fails for want of a price.
std::string suite_price(const results::Store* store, const suites::Suite& suite, const suites::Matrix& matrix);

}  // namespace nanobench::reports
