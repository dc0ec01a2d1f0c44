/// Tells the shared folder how far this node's run is (run_progress.h), from a thread of its own: a share that is slow
/// or hangs keeps neither the reading of events nor the engine waiting. Little is written: a line a second at first,
/// one in ten seconds of a long run. What cannot be written is nobody's error. Internal to suites. see() may be called
/// by one thread at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "core/protocol/run_event.h"
#include "suites/slurm/run_progress.h"

namespace nanobench::suites {

class ProgressWriter {
 public:
  /// Replaces `file`; its folder must be there, else nothing is written.
  ProgressWriter(std::filesystem::path file, ProgressHead head);
  /// Writes what is left.
  ~ProgressWriter();
  ProgressWriter(const ProgressWriter&) = delete;
  ProgressWriter& operator=(const ProgressWriter&) = delete;

  void see(const core::RunEvent& event);

 private:
  using Clock = std::chrono::steady_clock;

  void work();
  /// The line of what came since the last one; forgets it.
  ProgressLine next_line();
  double seconds() const;

  const std::filesystem::path file_;
  const ProgressHead head_;
  const Clock::time_point started_ = Clock::now();

  std::mutex mutex_;  ///< of all below, but the thread
  std::condition_variable wake_;
  bool is_ending_ = false;
  ProgressLine pending_;
  double step_ms_sum_ = 0.0;
  int steps_ = 0;  ///< in the sum

  std::thread thread_;
};

}  // namespace nanobench::suites
