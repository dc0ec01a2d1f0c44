/// Where a trainer's events go. Implementations need not be thread-safe: a Trainer reports from one thread.
#pragma once

#include "core/protocol/run_event.h"

namespace nanobench::core {

class MetricSink {
 public:
  virtual ~MetricSink() = default;
  virtual void report(const RunEvent& event) = 0;
};

/// Writes each event as one line to a file descriptor, whole lines at a time. Does not own the descriptor.
class FdMetricSink : public MetricSink {
 public:
  explicit FdMetricSink(int fd) : fd_(fd) {}
  /// Throws Error{kIo} when nobody reads any more.
  void report(const RunEvent& event) override;

 private:
  int fd_;
};

/// Drops every event: of the processes of a run, only rank 0 reports.
class NullMetricSink : public MetricSink {
 public:
  void report(const RunEvent&) override {}
};

}  // namespace nanobench::core
