#include "reports/watch/run_follower.h"

#include <algorithm>
#include <cmath>

#include "core/base/json.h"
#include "results/metric.h"
#include "results/provenance.h"

namespace nanobench::reports {
namespace {

using core::Json;
using results::Sample;

constexpr std::size_t kRecentSteps = 20;

/// Read from the stored configuration; nullopt for another program's.
std::optional<std::int64_t> steps_of(const std::string& config) {
  const Json json = core::json_or_null(config);
  const Json::json_pointer pointer("/run/stop_after");
  if (!json.is_object() || !json.contains(pointer)) return std::nullopt;
  return core::integer_of<std::int64_t>(json.at(pointer));
}

void add_new(const results::Store& store, std::int64_t run_id, const char* metric, std::vector<Sample>& samples) {
  const std::int64_t last = samples.empty() ? -1 : samples.back().step;
  const std::vector<Sample> more = store.samples_after(run_id, metric, last);
  samples.insert(samples.end(), more.begin(), more.end());
}

std::optional<double> recent_mean(const std::vector<Sample>& samples) {
  std::vector<double> values;
  for (auto at = samples.rbegin(); at != samples.rend() && values.size() < kRecentSteps; ++at) {
    if (at->value > 0) values.push_back(at->value);
  }
  return summarise(values).mean;
}

/// Estimated from the pace up to the last stored steps.
std::optional<double> remaining_s(const WatchedRun& run, const results::RunGlance& glance, double now_s) {
  const auto start_s = results::seconds_since_epoch(glance.started_at);
  const auto heard_s = results::seconds_since_epoch(glance.heartbeat_at);
  if (!run.total_steps || run.step < 2 || !start_s || !heard_s || *heard_s <= *start_s) return std::nullopt;
  const double pace = (*heard_s - *start_s) / static_cast<double>(run.step);
  const auto left = static_cast<double>(*run.total_steps - run.step);
  return std::max(pace * left - std::max(now_s - *heard_s, 0.0), 0.0);
}

}  // namespace

std::optional<double> seconds_between(const std::string& from, double to_s) {
  const std::optional<double> from_s = results::seconds_since_epoch(from);
  return from_s ? std::optional(std::max(to_s - *from_s, 0.0)) : std::nullopt;
}

RunFollower::RunFollower(const results::Store& store, std::int64_t run_id) {
  const results::RunRecord record = store.run(run_id);
  run_.id = run_id;
  run_.cell = record.cell;
  run_.seed = record.seed;
  run_.total_steps = steps_of(record.config);
}

WatchedRun RunFollower::read(const results::Store& store, const results::RunGlance& glance, double now_s) {
  if (start_facts_.empty()) start_facts_ = store.run_facts(run_.id);  // they come with the first batch
  add_new(store, run_.id, results::kTrainLoss, run_.train_losses);
  add_new(store, run_.id, results::kValLoss, run_.val_losses);
  add_new(store, run_.id, results::kStepMs, step_ms_);
  run_.step_ms = recent_mean(step_ms_);
  run_.elapsed_s = seconds_between(glance.started_at, now_s).value_or(0.0);
  if (!step_ms_.empty()) run_.step = step_ms_.back().step + 1;
  // A run beside others has no times.
  if (!run_.train_losses.empty()) run_.step = std::max(run_.step, run_.train_losses.back().step + 1);
  if (run_.total_steps && run_.step > *run_.total_steps) run_.total_steps = std::nullopt;
  run_.remaining_s = remaining_s(run_, glance, now_s);
  return run_;
}

std::vector<WatchWarning> RunFollower::warnings(const results::Store& store) const {
  std::vector<WatchWarning> warnings;
  for (const results::RunMessage& message : store.messages(run_.id)) {
    if (message.kind == results::RunMessageKind::kWarning)
      warnings.push_back({.kind = WatchWarning::Kind::kEngine, .run_id = run_.id, .message = message.text});
  }
  std::reverse(warnings.begin(), warnings.end());
  return warnings;
}

}  // namespace nanobench::reports
