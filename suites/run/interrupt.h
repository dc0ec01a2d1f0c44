/// Lets a poll loop wait for SIGINT, SIGTERM and SIGHUP. A guard owns these signals for its lifetime; its destructor
/// restores the previous handlers. One guard at a time per process.
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
  /// Waits until a signal arrives or the time has passed.
  void wait(double seconds);
  /// Becomes readable with each signal; drain() empties it.
  int fd() const { return pipe_.read.get(); }
  void drain();

 private:
  core::Pipe pipe_;
  struct sigaction former_[3] = {};
  struct sigaction former_broken_pipe_ = {};
};

}  // namespace nanobench::suites
