#include "suites/run/run_recorder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "core/base/error.h"
#include "core/hardware/gpu_report.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "results/weights.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::size_t kBatchSamples = 50'000;
constexpr auto kBatchAge = std::chrono::seconds(1);
constexpr auto kHeartbeatAge = std::chrono::seconds(10);
constexpr std::int64_t kMaxMessages = 1000;  // per run; an engine that warns at every step reports no more

}  // namespace

RunRecorder::RunRecorder(results::Store& store, std::int64_t run_id, bool keeps_times)
    : store_(store),
      run_id_(run_id),
      keeps_times_(keeps_times),
      loss_(track(results::kTrainLoss)),
      step_ms_(track(results::kStepMs)),
      clock_ms_(track(results::kClockMs)) {}

void RunRecorder::add(const core::RunEvent& event) {
  if (finished_ || failed_) throw Error(ErrorCode::kDataLoss, "an event came after the last one");
  if (!has_hello_ && !std::holds_alternative<core::HelloEvent>(event) &&
      !std::holds_alternative<core::FailedEvent>(event)) {
    throw Error(ErrorCode::kDataLoss, "the first event is not \"hello\"");
  }
  std::visit([this](const auto& e) { on(e); }, event);
  if (batch_size_ >= kBatchSamples) flush();
}

void RunRecorder::on(const core::HelloEvent& event) {
  if (has_hello_) throw Error(ErrorCode::kDataLoss, "a second \"hello\"");
  has_hello_ = true;
  std::map<std::string, std::string> facts = results::provenance_facts();
  for (const auto& [name, value] : event.environment) facts["engine/" + name] = value;
  facts["engine"] = event.engine;
  facts["engine_version"] = event.engine_version;
  facts["engine/threads"] = std::to_string(event.threads);
  store_.set_environment(run_id_, facts);
  if (event.parameters > 0)  // unknown for an external trainer
    sample(track(std::string(results::kCounterPrefix) + "parameters"), 0, static_cast<double>(event.parameters));
  counters_["parameters"] = 1;
}

void RunRecorder::on(const core::StepEvent& event) {
  check_order("step", event.step, last_step_);
  last_step_ = event.step;
  ++steps_;
  if (turn_) sample(track(results::kTurn), event.step, *turn_);
  turn_.reset();
  if (event.has_loss) sample(loss_, event.step, event.loss);
  if (keeps_times_) add_times(event);
  if (event.window_tokens != window_tokens_) {
    window_tokens_ = event.window_tokens;
    sample(track(results::kWindow), event.step, static_cast<double>(window_tokens_));
  }
  if (event.learning_rate_factor != learning_rate_factor_) {
    learning_rate_factor_ = event.learning_rate_factor;
    sample(track(results::kLearningRate), event.step, learning_rate_factor_);
  }
  if (event.has_loss && !std::isfinite(event.loss) && !not_finite_)
    not_finite_ = "step " + std::to_string(event.step) + ": the training loss is not a finite number";
}

void RunRecorder::add_times(const core::StepEvent& event) {
  sample(step_ms_, event.step, event.step_ms);
  if (event.train_ms) {
    ++timed_steps_;
    last_clock_ms_ = event.train_ms;
    sample(clock_ms_, event.step, *event.train_ms);
  }
  for (const auto& [phase, ms] : event.phases_ms) {
    Track*& values = phases_[phase];
    if (values == nullptr) values = &track(results::kPhasePrefix + phase + "_ms");
    sample(*values, event.step, ms);
  }
}

void RunRecorder::on(const core::EvalEvent& event) {
  check_order("validation", event.step, last_eval_);
  last_eval_ = event.step;
  sample(track(results::kValLoss), event.step, event.loss);
  if (event.train_ms && keeps_times_) sample(track(results::kValClockMs), event.step, *event.train_ms);
  if (std::isfinite(event.loss))
    last_val_loss_ = event.loss;
  else if (!not_finite_)
    not_finite_ = "step " + std::to_string(event.step) + ": the validation loss is not a finite number";
}

void RunRecorder::on(const core::BucketsEvent& event) {
  const std::optional<core::AskedMetric> asked = enum_value<core::AskedMetric>(event.metric);
  if (!asked || !core::is_by_bucket(*asked))
    throw Error(ErrorCode::kDataLoss, "\"" + event.metric + "\" is no metric by bucket");
  const std::string metric = results::kValPrefix + event.metric;
  Track& means = track(metric);
  Track& counts = track(metric + results::kCountSuffix);
  if (!buckets_.insert(event.metric).second)
    throw Error(ErrorCode::kDataLoss, "a second event of the buckets of " + event.metric);
  for (std::size_t bucket = 0; bucket < event.counts.size(); ++bucket) {
    if (!(event.counts[bucket] > 0.0)) continue;
    sample(means, static_cast<std::int64_t>(bucket), event.means[bucket]);
    sample(counts, static_cast<std::int64_t>(bucket), event.counts[bucket]);
  }
}

void RunRecorder::on(const core::MemoryEvent& event) {
  peak_bytes_ = std::max(peak_bytes_, event.peak_bytes);
  if (event.step <= last_memory_) return;  // a peak may be reported twice
  last_memory_ = event.step;
  sample(track(results::kPeakBytes), event.step, static_cast<double>(event.peak_bytes));
}

void RunRecorder::on(const core::CounterEvent& event) {
  if (event.name == "parameters") return;  // hello said so
  sample(track(results::kCounterPrefix + event.name), counters_[event.name]++, event.value);
  if (core::tells_gpu_disturbance(event.name)) add_gpu_fact(event);
}

void RunRecorder::on(const core::SamplesEvent& event) {
  if (event.step < last_samples_) check_order("samples of step", event.step, last_samples_);
  last_samples_ = event.step;
  for (const auto& [metric, value] : event.values) sample(track(metric), event.step, value);
}

/// The run's facts show whether it was disturbed; the largest of several values counts.
void RunRecorder::add_gpu_fact(const core::CounterEvent& event) {
  const auto [largest, is_new] = gpu_facts_.try_emplace(event.name, event.value);
  if (!is_new && !(event.value > largest->second)) return;
  largest->second = event.value;
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", event.value);
  add_facts({{event.name, text}});
}

void RunRecorder::on(const core::WarningEvent& event) {
  add_message(results::RunMessageKind::kWarning, event.message);
}

void RunRecorder::on(const core::CheckpointEvent& event) {
  const std::filesystem::path file = event.file;
  if (file.parent_path() != results::weights_folder(store_.file(), run_id_)) {
    add_message(results::RunMessageKind::kCheckpoint, "step " + std::to_string(event.step) + ": " + event.file);
    return;
  }
  const auto [name, value] = results::weights_fact(
      {.name = file.filename().string(), .step = event.step, .bytes = event.bytes, .digest = event.digest});
  add_facts({{name, value}});
}

void RunRecorder::on(const core::ChoiceEvent& event) {
  std::int64_t& last =
      last_items_.try_emplace(event.evaluation, std::numeric_limits<std::int64_t>::min()).first->second;
  check_order("item", event.item, last);
  last = event.item;
  sample(track(results::evaluation_metric(event.evaluation, results::kCorrect)), event.item, event.is_correct ? 1 : 0);
  sample(track(results::evaluation_metric(event.evaluation, results::kCorrectNorm)), event.item,
         event.is_correct_norm ? 1 : 0);
}

void RunRecorder::on(const core::EvaluationEvent& event) {
  const auto add = [&](const char* what, double value) {
    sample(track(results::evaluation_metric(event.evaluation, what)), event.step, value);
  };
  add(results::kAccuracy, event.accuracy);
  add(results::kAccuracyNorm, event.accuracy_norm);
  add(results::kChance, event.chance);
  if (event.best_accuracy) add(results::kBestAccuracy, *event.best_accuracy);
}

void RunRecorder::on(const core::FinishedEvent& event) {
  finished_ = event;
  peak_bytes_ = std::max(peak_bytes_, event.peak_bytes);
}

void RunRecorder::on(const core::FailedEvent& event) {
  failed_ = event;
}

RunRecorder::Track& RunRecorder::track(std::string_view metric) {
  auto values = batch_.samples.find(metric);
  if (values == batch_.samples.end()) values = batch_.samples.emplace(metric, Track()).first;
  return values->second;
}

void RunRecorder::sample(Track& values, std::int64_t step, double value) {
  values.push_back({step, value});
  ++batch_size_;
}

void RunRecorder::check_order(const char* what, std::int64_t step, std::int64_t& last) const {
  if (step > last) return;
  throw Error(ErrorCode::kDataLoss,
              std::string(what) + " " + std::to_string(step) + " came after " + what + " " + std::to_string(last));
}

void RunRecorder::add_message(results::RunMessageKind kind, const std::string& text) {
  if (++messages_ <= kMaxMessages) batch_.messages.push_back({kind, text});
}

void RunRecorder::add_facts(const std::map<std::string, std::string>& facts) {
  for (const auto& [name, value] : facts) batch_.facts[name] = value;
}

void RunRecorder::flush_if_due() {
  const auto age = Clock::now() - last_write_;
  const bool has_news = batch_size_ > 0 || !batch_.messages.empty() || !batch_.facts.empty();
  if ((has_news && age >= kBatchAge) || age >= kHeartbeatAge) flush();
}

void RunRecorder::flush() {
  store_.add_batch(run_id_, batch_);
  for (auto& [metric, values] : batch_.samples) values.clear();  // keeps its memory for the next batch
  batch_.messages.clear();
  batch_.facts.clear();
  batch_size_ = 0;
  last_write_ = Clock::now();
}

void RunRecorder::finish(const results::RunResult& result) {
  store_.finish_run(run_id_, result, batch_);
}

}  // namespace nanobench::suites
