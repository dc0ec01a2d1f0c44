#include "engine/distributed/forked_processes.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "engine/distributed/process_watch.h"
#include "engine/distributed/queued_communicator.h"
#include "engine/distributed/shared_memory_transport.h"

namespace nanobench::core {
namespace {

/// In a new process: the kernel ends it when the thread that started it ends, which is rank 0's first and last.
void follow_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before the line above
}

}  // namespace

ForkedProcesses::ForkedProcesses(int processes) {
  segment_ = std::make_unique<SharedSegment>(processes);
  start_others(processes);
  communicator_ = std::make_unique<QueuedCommunicator>(std::make_unique<SharedMemoryTransport>(*segment_, rank_));
}

void ForkedProcesses::start_others(int processes) {
  const pid_t parent = getpid();
  std::vector<pid_t> children;
  for (int rank = 1; rank < processes; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      follow_parent(parent);
      rank_ = rank;
      return;
    }
    if (pid < 0) {
      const std::string reason = std::strerror(errno);
      ProcessWatch(*segment_, children);  // ends the others again
      throw Error(ErrorCode::kUnavailable, "cannot start process " + std::to_string(rank + 1) + " of " +
                                               std::to_string(processes) + ": " + reason +
                                               "; use fewer distributed/processes");
    }
    children.push_back(pid);
  }
  watch_ = std::make_unique<ProcessWatch>(*segment_, children);
}

ForkedProcesses::~ForkedProcesses() {
  watch_.reset();
  // The communicator's thread may still wait for a process that is no more.
  segment_->fail(rank_, {RunOutcome::kInterrupted, "the run has ended"});
}

void ForkedProcesses::finish() {
  if (watch_) watch_->join();
}

void ForkedProcesses::check_alive() {
  if (const std::optional<ProcessFailure> failure = segment_->failure()) throw PeerFailed(*failure);
}

void ForkedProcesses::report_failure(const ProcessFailure& failure) {
  segment_->fail(rank_, failure);
}

}  // namespace nanobench::core
