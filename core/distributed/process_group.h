/// The processes of one run on one host: starts them, watches them, ends them together.
///
/// The process that constructs it becomes rank 0 and the parent of the others, which begin as its copies. When one of
/// them dies or reports a failure, every wait of the others ends with PeerFailed. When rank 0 dies, however it does,
/// the kernel ends the others.
#pragma once

#include <memory>

#include "core/distributed/communicator.h"
#include "core/distributed/shared_segment.h"

namespace nanobench::core {

class ProcessWatch;

class ProcessGroup {
 public:
  /// Starts `processes` - 1 copies of this process; returns in all of them. Must come before any thread of this process
  /// (LibTorch's and OpenMP's do not survive a fork). Throws Error{kUnavailable} when the system starts no more
  /// processes; none is left then.
  explicit ProcessGroup(int processes);
  /// In rank 0: ends the processes that are still there.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return rank_; }
  Communicator& communicator() { return *communicator_; }

  /// In rank 0, after the last collective: waits until the others have ended by themselves.
  void finish();

  /// In another rank: tells all why this one ends.
  void report_failure(const ProcessFailure& failure);

 private:
  void start_others(int processes);

  int rank_ = 0;
  std::unique_ptr<SharedSegment> segment_;  ///< null for a single process
  std::unique_ptr<ProcessWatch> watch_;     ///< rank 0 of several only
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace nanobench::core
