/// Counts the collectives of training steps, for the counters `communication/...` (core/protocol/FORMAT.md). Not
/// thread-safe.
#pragma once

#include "engine/distributed/communicator.h"
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

}  // namespace nanobench::core
