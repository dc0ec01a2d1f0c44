/// What the training steps of a run had to do, for the counters "cost/..." (core/config/cost_model.h) and
/// "communication/..." (core/protocol/FORMAT.md). Not thread-safe.
#pragma once

#include <cstdint>

#include "core/config/cost_model.h"
#include "engine/distributed/communicator.h"
#include "engine/nn/gpt.h"
#include "engine/train/metric_sink.h"

namespace nanobench::core {

/// Of one process: what it issued in its steps, validation and warm-up apart.
class CommunicationMeter {
 public:
  /// A step during which the counts of the communicator went from `before` to `after`.
  void add_step(const CollectiveCounts& before, const CollectiveCounts& after);

  /// Means over the steps so far.
  void report(MetricSink& sink) const;

 private:
  CollectiveCounts total_;
  std::int64_t steps_ = 0;
};

class CostMeter {
 public:
  /// Keeps a reference to `config`.
  explicit CostMeter(const TrainConfig& config) : config_(config) {}

  /// Counts the masks of a sequence that this process trains: microseconds, O(T).
  void add(const SequenceInput& input);
  /// What was added since the last call belongs to one training step, or (drop) to none.
  void count_step();
  void drop() { pending_ = {}; }

  /// Reports the counters "cost/..." of the steps so far; all processes must call it. Nothing when there is none.
  void report(MetricSink& sink, Communicator& communicator, std::int64_t number_bytes) const;

 private:
  MaskCounts count(const AttentionPlan& plan) const;

  const TrainConfig& config_;
  AttentionCounts pending_;
  AttentionCounts counts_;  ///< of this process
  std::int64_t steps_ = 0;
};

}  // namespace nanobench::core
