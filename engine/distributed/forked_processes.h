/// Processes on one host that a process makes of itself: starts them, watches them, ends them together.
///
/// The process that constructs it becomes rank 0 and the parent of the others, which begin as its copies. When rank 0
/// dies, however it does, the kernel ends the others.
#pragma once

#include <memory>

#include "engine/distributed/process_group.h"
#include "engine/distributed/shared_segment.h"

namespace nanobench::core {

class ForkedProcesses final : public ProcessGroup {
 public:
  /// Starts `processes` - 1 copies of this process, for at least two; returns in all of them. Must come before any
  /// thread of this process (LibTorch's and OpenMP's do not survive a fork). Throws Error{kUnavailable} when the system
  /// starts no more processes; none is left then.
  explicit ForkedProcesses(int processes);
  /// In rank 0: ends the processes that are still there.
  ~ForkedProcesses() override;
  ForkedProcesses(const ForkedProcesses&) = delete;
  ForkedProcesses& operator=(const ForkedProcesses&) = delete;

  Communicator& communicator() override { return *communicator_; }
  void finish() override;
  void check_alive() override;
  void report_failure(const ProcessFailure& failure) override;

 private:
  class Children;
  void start_others(int processes);

  int rank_ = 0;
  std::unique_ptr<SharedSegment> segment_;
  std::unique_ptr<Children> children_;  ///< rank 0 only
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace nanobench::core
