/// Where a trainer's events go. Implementations need not be thread-safe: a Trainer reports from one thread.
#pragma once

#include <mutex>

#include "core/protocol/run_event.h"

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

}  // namespace nanobench::core
