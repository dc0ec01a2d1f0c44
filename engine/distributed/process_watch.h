/// Waits for child processes in a thread of its own and notes in a SharedSegment when one of them ends badly.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <thread>
#include <vector>

#include "engine/distributed/shared_segment.h"

namespace nanobench::core {

/// Everything that a run of several processes needs to know about its children. Thread-safe.
class ProcessWatch {
 public:
  /// children[i] is rank i + 1. All are children of this process and nobody else waits for them.
  ProcessWatch(SharedSegment& segment, const std::vector<pid_t>& children);
  /// Kills those that still run.
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  /// Returns when all have ended.
  void join();

 private:
  struct Child {
    pid_t pid = 0;
    bool has_ended = false;
  };
  void watch();
  bool note_end(pid_t pid);
  void kill_all();

  SharedSegment& segment_;
  std::mutex mutex_;  ///< a process is killed only while it is not yet waited for: its number is still its own
  std::vector<Child> children_;
  std::thread thread_;
};

}  // namespace nanobench::core
