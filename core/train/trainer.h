/// One training run: data, forward, backward, update, validation, clock. Not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/gpt.h"
#include "core/optim/optimizer_set.h"
#include "core/protocol/run_spec.h"
#include "core/train/batch_source.h"
#include "core/train/metric_sink.h"
#include "core/train/trace.h"
#include "core/train/training_clock.h"

namespace nanobench::core {

/// Writes only to its MetricSink (and the trace file that the spec names). Deterministic: the same spec on the same
/// type of machine with the same number of threads reports the same losses, bit for bit.
class Trainer {
 public:
  /// Sets the process's number of threads, opens the shards, builds and initialises the model. Keeps references to
  /// `spec`, `sink` and `stop`. Throws Error for shards, init file or configuration that do not fit together. `stop` is
  /// looked at before every step.
  Trainer(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop);

  /// Trains to the end, a divergence, or `stop`; reports hello, steps, validations and, last, finished or failed.
  RunOutcome run();

 private:
  void report_hello();
  std::string attention_path() const;
  void load_parameters();
  void warm_up();
  double validate(std::int64_t step);
  double train_step(std::int64_t step);
  std::vector<double> accumulate(std::int64_t step, std::map<std::string, double>& phases_ms);
  ActivationSink activation_sink(std::int64_t step, std::size_t sequence);
  void trace_gradients(std::int64_t step);
  std::optional<std::int64_t> window_of(std::int64_t step) const;
  double gradient_weight() const;
  RunOutcome finish(std::int64_t steps, double val_loss);
  RunOutcome fail(RunOutcome outcome, const std::string& message);

  const RunSpec& spec_;
  const TrainConfig& config_;
  MetricSink& sink_;
  const std::atomic<bool>& stop_;
  GPT model_;
  BatchSource batches_;
  std::optional<OptimizerSet> optimizers_;
  TrainingClock clock_;
  std::optional<Trace> trace_;
};

}  // namespace nanobench::core
