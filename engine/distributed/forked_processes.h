/// Processes on one host, forked from this process: starts them, watches them, ends them together.
///
/// The constructing process becomes rank 0 and the parent of the others, which start as its copies. When rank 0 dies
/// for any reason, the kernel ends the others.
#pragma once

#include <memory>

#include "engine/distributed/process_group.h"
#include "engine/distributed/shared_memory_transport.h"

namespace nanobench::core {

class ForkedProcesses final : public ProcessGroup {
 public:
  /// Starts `processes` - 1 copies of this process; `processes` must be at least two. Returns in all of them. Must run
  /// before this process has any threads (those of LibTorch and OpenMP do not survive a fork). Throws
  /// Error{kUnavailable} if the system cannot start another process; none remains then.
  explicit ForkedProcesses(int processes);
  /// In rank 0: ends the processes that are still running.
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
