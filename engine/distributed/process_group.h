/// The processes of one run: how they start, communicate and end together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/protocol/run_choices.h"
#include "engine/distributed/communicator.h"
#include "engine/distributed/launch.h"
#include "engine/distributed/mesh.h"

namespace nanobench::core {

/// When one process dies or reports a failure, every wait in the others ends with PeerFailed.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual Communicator& communicator() = 0;
  int rank() { return communicator().rank(); }

  /// Ends the run in this process. All processes call it after the last collective. Rank 0 of processes that it started
  /// itself waits until the others have ended.
  virtual void finish() = 0;

  /// Throws PeerFailed when a process has died or failed. Any thread may call it.
  virtual void check_alive() = 0;

  /// Calls `on_death` in a separate thread as soon as a process has died or failed, whatever this one is computing.
  /// Steps may be long, and a launcher that also notices a death kills all processes after a second. Does nothing where
  /// processes learn of a death in another way.
  virtual void watch(const std::function<void(const ProcessFailure&)>& /*on_death*/) {}

  /// For a process that ends because another one failed: returns when the first process, which reports the reason, has
  /// ended, or after a short time. A launcher kills all remaining processes as soon as one ends.
  virtual void wait_for_first_process() {}

  /// Connections of strangers that this process has dropped.
  virtual std::int64_t dropped_connections() const { return 0; }

  /// Reports to all processes why this one is about to end.
  virtual void report_failure(const ProcessFailure& failure) = 0;
};

/// The group of a run with `processes` processes: those started by a launcher, or copies that this process forks. In
/// the latter case it returns in all of them and must run before any threads exist.
///   communicator  if not kAuto: this one or none
/// Throws Error{kInvalidArgument} if launcher, configuration and communicator contradict each other,
/// Error{kUnavailable} if the processes cannot connect.
std::unique_ptr<ProcessGroup> join_processes(int processes, CommunicatorChoice communicator,
                                             const std::optional<Launch>& launch);

}  // namespace nanobench::core
