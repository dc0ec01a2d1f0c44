/// The processes of one run: how they came to be, how they talk, how they end together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/protocol/run_choices.h"
#include "engine/distributed/communicator.h"
#include "engine/distributed/launch.h"
#include "engine/distributed/process_failure.h"

namespace nanobench::core {

/// When one of them dies or reports a failure, every wait of the others ends with PeerFailed.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual Communicator& communicator() = 0;
  int rank() { return communicator().rank(); }

  /// After the last collective, in all processes: the run has come to its end here. In rank 0 of processes that it
  /// started itself: waits until the others have ended.
  virtual void finish() = 0;

  /// Throws PeerFailed when a process has died or failed. Any thread may call it.
  virtual void check_alive() = 0;

  /// Calls `on_death` in a thread of its own as soon as a process has died or failed, whatever this one computes: steps
  /// may be long, and a launcher that notices a death too kills all after a second. Where processes are told otherwise:
  /// nothing.
  virtual void watch(std::function<void(const ProcessFailure&)> /*on_death*/) {}

  /// In a process that ends because another one failed: returns when the first process, which tells why, has ended, or
  /// soon. A launcher kills all that are left as soon as one of them ends.
  virtual void wait_for_first_process() {}

  /// Tells all why this process ends, before it does.
  virtual void report_failure(const ProcessFailure& failure) = 0;
};

/// The processes of a run that wants `processes` of them: those that a launcher started, or copies that this one makes
/// of itself (returns in all of them then, and must come before any thread).
///   communicator  another than kAuto: that or none
/// Throws Error{kInvalidArgument} where launcher, configuration and communicator contradict each other,
/// Error{kUnavailable} where the processes do not come together.
std::unique_ptr<ProcessGroup> join_processes(int processes, CommunicatorChoice communicator,
                                             const std::optional<Launch>& launch);

}  // namespace nanobench::core
