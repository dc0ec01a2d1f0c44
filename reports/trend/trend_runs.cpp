#include "reports/trend/trend_runs.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "results/host_load.h"

namespace nanobench::reports {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;
using results::RunRecord;

std::optional<double> positive(const std::optional<double>& value) {
  return value && std::isfinite(*value) && *value > 0.0 ? value : std::nullopt;
}

class TrendReader {
 public:
  explicit TrendReader(const results::Store& store) : store_(store) {}

  void add(const RunRecord& run, const std::string& cell) {
    if (!seen_.emplace(run.id, cell).second) return;
    TrendRun& item = runs_.emplace_back();
    item.id = run.id;
    item.cell = cell;
    item.seed = run.seed;
    item.source = source_of(run);
    item.conditions = {.engine = run.engine_text(),
                       .scale = run.scale,
                       .config = config_of(run),
                       .data = run.data_digest,
                       .dtype = run.dtype,
                       .hardware = run.hardware,
                       .threads = run.threads,
                       .host = run.owner.host,
                       .gpu = run.gpu};
    item.started_at = run.started_at;
    if (run.result) item.outcome = run.result->outcome;
    if (run.is_completed()) measure(item, run);
  }

  bool has(std::int64_t id, const std::string& cell) const { return seen_.contains({id, cell}); }

  std::vector<TrendRun> finish() {
    for (TrendRun& run : runs_) {
      if (run.source.is_known()) continue;
      const auto known = sources_.find({run.conditions.engine, run.source.program});
      if (known != sources_.end() && known->second.size() == 1) run.source = known->second.begin()->second;
    }
    return std::move(runs_);
  }

 private:
  void measure(TrendRun& item, const RunRecord& run) const {
    if (run.result->final_val_loss && std::isfinite(*run.result->final_val_loss))
      item.loss = run.result->final_val_loss;
    item.step_ms = positive(run.result->mean_step_ms());
    item.train_ms = positive(run.result->train_ms);
    if (run.result->peak_bytes) item.peak_bytes = positive(static_cast<double>(*run.result->peak_bytes));
    item.disturbance = results::disturbance(store_.run_facts(run.id), run.threads);
  }

  SourceRevision source_of(const RunRecord& run) {
    if (!run.environment_id) return {.program = run.engine_version};
    const SourceRevision source = source_revision(run.engine, run.engine_version, facts_of(*run.environment_id));
    if (source.is_known())
      sources_[{run.engine_text(), run.engine_version}].emplace(std::pair(source.name, source.is_dirty), source);
    return source;
  }

  const std::map<std::string, std::string>& facts_of(std::int64_t environment_id) {
    const auto [at, is_new] = environments_.try_emplace(environment_id);
    if (is_new) {
      if (auto environment = store_.environment(environment_id)) at->second = std::move(environment->facts);
    }
    return at->second;
  }

  /// The files and the folder of an external trainer are not part of its configuration.
  std::string config_of(const RunRecord& run) {
    if (run.engine != results::kExternalEngine) return run.config_digest;
    const auto [at, is_new] = external_configs_.try_emplace(run.config_digest, run.config_digest);
    if (!is_new) return at->second;
    Json config = core::json_or_null(run.config);
    if (!config.is_object()) return at->second;
    config.erase("files");
    config.erase("folder");
    at->second = core::digest_of(core::safe_dump(config));
    return at->second;
  }

  const results::Store& store_;
  std::vector<TrendRun> runs_;
  std::set<std::pair<std::int64_t, std::string>> seen_;
  std::map<std::int64_t, std::map<std::string, std::string>> environments_;
  std::map<std::string, std::string> external_configs_;
  /// The revisions that runs report, by engine and program.
  std::map<std::pair<std::string, std::string>, std::map<std::pair<std::string, bool>, SourceRevision>> sources_;
};

}  // namespace

const char* title_of(TrendMetric metric) {
  switch (metric) {
    case TrendMetric::kLoss: return "loss";
    case TrendMetric::kStepTime: return "step time";
    case TrendMetric::kTrainTime: return "training time";
    case TrendMetric::kPeakMemory: break;
  }
  return "peak memory";
}

std::vector<TrendMetric> all_trend_metrics() {
  return {TrendMetric::kLoss, TrendMetric::kStepTime, TrendMetric::kTrainTime, TrendMetric::kPeakMemory};
}

TrendMetric parse_trend_metric(const std::string& name) {
  if (const std::optional<TrendMetric> metric = enum_value<TrendMetric>(name)) return *metric;
  throw Error(ErrorCode::kInvalidArgument, "--metric " + name +
                                               ": expected loss, step_time, train_time or peak_memory" +
                                               core::suggestion(name, enum_names<TrendMetric>()));
}

bool is_time(TrendMetric metric) {
  return metric == TrendMetric::kStepTime || metric == TrendMetric::kTrainTime;
}

std::optional<double> value_of(const TrendRun& run, TrendMetric metric) {
  switch (metric) {
    case TrendMetric::kLoss: return run.loss;
    case TrendMetric::kStepTime: return run.step_ms;
    case TrendMetric::kTrainTime: return run.train_ms;
    case TrendMetric::kPeakMemory: break;
  }
  return run.peak_bytes;
}

std::vector<TrendRun> read_trend_runs(const results::Store& store, const std::string& suite) {
  TrendReader reader(store);
  for (const results::PlanRecord& plan : store.plans()) {
    if (plan.suite != suite) continue;
    for (const results::PlanLine& line : plan.lines) {
      if (line.run_id && !reader.has(*line.run_id, line.cell)) reader.add(store.run(*line.run_id), line.cell);
    }
  }
  results::RunFilter filter;
  filter.suite = suite;
  for (const RunRecord& run : store.runs(filter)) reader.add(run, run.cell);
  return reader.finish();
}

}  // namespace nanobench::reports
