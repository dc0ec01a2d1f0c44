/// The runs of a suite for a trend, independent of the store that they were read from. Plain values; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/protocol/run_choices.h"
#include "reports/trend/revisions.h"
#include "results/store.h"

namespace nanobench::reports {

/// The metrics of trends. Lower is better for all of them.
enum class TrendMetric { kLoss, kStepTime, kTrainTime, kPeakMemory };

NB_ENUM_NAMES(TrendMetric, {TrendMetric::kLoss, "loss"}, {TrendMetric::kStepTime, "step_time"},
              {TrendMetric::kTrainTime, "train_time"}, {TrendMetric::kPeakMemory, "peak_memory"});
/// "loss", "step time", ...
const char* title_of(TrendMetric metric);
std::vector<TrendMetric> all_trend_metrics();
/// Throws Error{kInvalidArgument} with the nearest known name.
TrendMetric parse_trend_metric(const std::string& name);
/// Whether values from different hosts must not be compared.
bool is_time(TrendMetric metric);

/// Runs are comparable if all of these are equal; the host and GPU matter only for times.
struct TrendConditions {
  std::string engine;
  std::string scale;
  std::string config;  ///< digest; for an external trainer without its files' digests, which change with each revision
  std::string data;    ///< digest
  std::string dtype;
  std::string hardware;
  int threads = 0;
  std::string host;
  std::string gpu;  ///< GPU and its driver; empty: none
};

/// One run, finished or not.
struct TrendRun {
  std::int64_t id = 0;
  std::string cell;
  std::uint64_t seed = 0;
  SourceRevision source;
  TrendConditions conditions;
  std::string started_at;                   ///< ISO 8601, UTC
  std::optional<core::RunOutcome> outcome;  ///< absent while running
  std::optional<double> loss;               ///< final, nats per token; completed runs only, like all below
  std::optional<double> step_ms;            ///< training clock over timed steps
  std::optional<double> train_ms;           ///< the training clock
  std::optional<double> peak_bytes;
  std::optional<std::string> disturbance;  ///< reason why its times are doubtful

  bool is_completed() const { return outcome == core::RunOutcome::kCompleted; }
  /// Whether it ended by itself without completing.
  bool is_failed() const { return outcome && !is_completed() && outcome != core::RunOutcome::kInterrupted; }
};

/// nullopt if the run has none.
std::optional<double> value_of(const TrendRun& run, TrendMetric metric);

/// All runs of the suite, and the runs of other suites that answer its plans; each run appears once per cell. A run
/// that ended before it reported its revision gets the revision of its program's other runs.
std::vector<TrendRun> read_trend_runs(const results::Store& store, const std::string& suite);

}  // namespace nanobench::reports
