/// Where a trainer's events go, and the counts of work that it reports there. A Trainer reports from one thread, so
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

/// Writes each event as one line to a file descriptor, whole lines at a time, and nothing after the event that ends the
/// run. Does not own the descriptor. Thread-safe: whoever watches the other processes may report their end.
class FdMetricSink : public MetricSink {
 public:
  explicit FdMetricSink(int fd) : fd_(fd) {}
  /// Throws Error{kIo} when nobody reads any more.
  void report(const RunEvent& event) override;

 private:
  std::mutex mutex_;
  bool has_ended_ = false;
  int fd_;
};

/// Drops every event: of the processes of a run, only rank 0 reports.
class NullMetricSink : public MetricSink {
 public:
  void report(const RunEvent&) override {}
};

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
