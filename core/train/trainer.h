/// One training run: data, forward, backward, update, validation, clock. Not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/data/data_loader.h"
#include "core/nn/gpt.h"
#include "core/optim/adam.h"
#include "core/optim/muon.h"
#include "core/protocol/run_spec.h"
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
  void load_parameters();
  void build_optimizers();
  SequenceInput make_input(const DataLoader& loader, const SequenceRef& sequence,
                           std::optional<std::int64_t> window) const;
  std::shared_ptr<const AttentionPlan> make_plan(std::span<const std::uint16_t> tokens,
                                                 std::optional<std::int64_t> window) const;
  double validate(std::int64_t step);
  double train_step(std::int64_t step);
  void trace_gradients(std::int64_t step);
  void update(std::int64_t step);
  double gradient_weight() const;
  RunOutcome finish(std::int64_t steps, double val_loss);
  RunOutcome fail(RunOutcome outcome, const std::string& message);

  const RunSpec& spec_;
  const TrainConfig& config_;
  MetricSink& sink_;
  const std::atomic<bool>& stop_;
  GPT model_;
  std::vector<Adam> adams_;
  std::optional<Muon> muon_;
  DataLoader train_loader_;
  DataLoader val_loader_;
  TrainingClock clock_;
  std::optional<Trace> trace_;
};

}  // namespace nanobench::core
