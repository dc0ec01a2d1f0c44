/// The destination of a trainer's events, and the work counters it reports there. A Trainer reports from one thread, so
/// implementations need not be thread-safe.
#pragma once

#include <cstdint>
#include <mutex>

#include "core/config/cost_model.h"
#include "core/protocol/run_event.h"
#include "engine/distributed/communicator.h"
#include "engine/nn/gpt.h"

namespace nanobench::core {

class MetricSink {
 public:
  virtual ~MetricSink() = default;
  virtual void report(const RunEvent& event) = 0;
};

/// Writes each event as one complete line to a file descriptor, and nothing after the event that ends the run. Does not
/// own the descriptor. Thread-safe: the thread that watches the other processes may report their end.
class FdMetricSink : public MetricSink {
 public:
  explicit FdMetricSink(int fd) : fd_(fd) {}
  /// Throws Error{kIo} when the reader has closed its end.
  void report(const RunEvent& event) override;

 private:
  std::mutex mutex_;
  bool has_ended_ = false;
  int fd_;
};

/// Drops every event: only rank 0 of a run reports.
class NullMetricSink : public MetricSink {
 public:
  void report(const RunEvent&) override {}
};

/// Collectives that one process issued in its steps, excluding validation and warm-up.
class CommunicationMeter {
 public:
  /// Adds a step in which the communicator's counts changed from `before` to `after`.
  void add_step(const CollectiveCounts& before, const CollectiveCounts& after);

  /// Reports the means over the steps so far.
  void report(MetricSink& sink) const;

  /// All that has been counted, [n] int64, for a run that is continued.
  at::Tensor state() const;
  void restore(const at::Tensor& state);

 private:
  CollectiveCounts total_;
  std::int64_t steps_ = 0;
};

class CostMeter {
 public:
  /// Keeps a reference to `config`.
  explicit CostMeter(const TrainConfig& config) : config_(config) {}

  /// Counts the masks of a sequence that this process trains. Takes microseconds, O(T).
  void add(const SequenceInput& input);
  /// Assigns everything added since the last call to one training step, or (drop) discards it.
  void count_step();
  void drop() { pending_ = {}; }

  /// Reports the counters "cost/..." of the steps so far; all processes must call it. Reports nothing if there are no
  /// steps.
  void report(MetricSink& sink, Communicator& communicator, std::int64_t number_bytes) const;

  /// What this process has counted, [n] int64, for a run that is continued.
  at::Tensor state() const;
  void restore(const at::Tensor& state);

 private:
  MaskCounts count(const AttentionPlan& plan) const;

  const TrainConfig& config_;
  AttentionCounts pending_;
  AttentionCounts counts_;  ///< counts of this process
  std::int64_t steps_ = 0;
};

}  // namespace nanobench::core
