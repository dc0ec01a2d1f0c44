/// SIGINT, SIGTERM and SIGHUP as something a poll loop can wait for. While a guard lives it owns these signals; their
/// former handlers return with its end. One guard at a time in a process.
#pragma once

#include <csignal>

#include "core/process/streams.h"

namespace nanobench::suites {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Signals received so far: 1 asks to stop after the current step, 2 to stop now.
  int count() const;
  /// Until a signal arrives or the time is over.
  void wait(double seconds);
  /// Becomes readable with each signal; drain() empties it.
  int fd() const { return pipe_.read.get(); }
  void drain();

 private:
  core::Pipe pipe_;
  struct sigaction former_[3] = {};
};

}  // namespace nanobench::suites
