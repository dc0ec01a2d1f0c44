#include "engine/distributed/forked_processes.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/process/child_process.h"
#include "engine/distributed/queued_communicator.h"
#include "engine/distributed/shared_memory_transport.h"

namespace nanobench::core {

/// Waits for the child processes in its own thread and records in the segment when one of them fails. Thread-safe.
class ForkedProcesses::Children {
 public:
  /// pids[i] is rank i + 1. All are children of this process, and nothing else waits for them.
  Children(SharedSegment& segment, const std::vector<pid_t>& pids);
  /// Kills the processes that are still running.
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

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

ForkedProcesses::Children::Children(SharedSegment& segment, const std::vector<pid_t>& pids) : segment_(segment) {
  for (const pid_t pid : pids) children_.push_back({.pid = pid});
  thread_ = std::thread([this] { watch(); });
}

ForkedProcesses::Children::~Children() {
  kill_all();
  join();
}

void ForkedProcesses::Children::join() {
  if (thread_.joinable()) thread_.join();
}

void ForkedProcesses::Children::kill_all() {
  const std::lock_guard lock(mutex_);
  for (const Child& child : children_) {
    if (!child.has_ended) kill(child.pid, SIGKILL);
  }
}

void ForkedProcesses::Children::watch() {
  for (std::size_t running = children_.size(); running > 0;) {
    siginfo_t ended{};
    // WNOWAIT keeps the process as a zombie, so that its PID cannot be reused before note_end holds the lock.
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return;  // no children: somebody else waited for them
    }
    if (note_end(ended.si_pid)) --running;
  }
}

bool ForkedProcesses::Children::note_end(pid_t pid) {
  int status = 0;
  std::size_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    waitpid(pid, &status, 0);
    const auto child = std::find_if(children_.begin(), children_.end(), [&](const Child& c) { return c.pid == pid; });
    if (child == children_.end()) return false;  // inherited from whoever became this program
    child->has_ended = true;
    index = static_cast<std::size_t>(child - children_.begin());
  }
  const ProcessExit exit = exit_of_status(status);
  if (exit.is_success()) return true;
  const std::string who = process_name(static_cast<int>(index) + 1, segment_.size());
  const std::string how =
      exit.signal != 0 ? " was ended by " + exit.text() : " ended with " + exit.text() + " and said nothing";
  segment_.fail(segment_.size(), {RunOutcome::kCrashed, who + how});  // what it said itself, if anything, came first
  return true;
}

ForkedProcesses::ForkedProcesses(int processes) {
  segment_ = std::make_unique<SharedSegment>(processes);
  start_others(processes);
  communicator_ = std::make_unique<QueuedCommunicator>(std::make_unique<SharedMemoryTransport>(*segment_, rank_));
}

void ForkedProcesses::start_others(int processes) {
  std::vector<pid_t> children;
  for (int rank = 1; rank < processes; ++rank) {
    const pid_t pid = fork_process(/*dies_with_us=*/true);
    if (pid == 0) {
      rank_ = rank;
      return;
    }
    if (pid < 0) {
      const std::string reason = std::strerror(errno);
      Children(*segment_, children);  // ends the others again
      throw Error(ErrorCode::kUnavailable, "cannot start process " + std::to_string(rank + 1) + " of " +
                                               std::to_string(processes) + ": " + reason +
                                               "; use fewer distributed/processes");
    }
    children.push_back(pid);
  }
  children_ = std::make_unique<Children>(*segment_, children);
}

ForkedProcesses::~ForkedProcesses() {
  children_.reset();
  // The communicator's thread may still be waiting for a process that has ended.
  segment_->fail(rank_, {RunOutcome::kInterrupted, "the run has ended"});
}

void ForkedProcesses::finish() {
  if (children_) children_->join();
}

void ForkedProcesses::check_alive() {
  if (const std::optional<ProcessFailure> failure = segment_->failure()) throw PeerFailed(*failure);
}

void ForkedProcesses::report_failure(const ProcessFailure& failure) {
  segment_->fail(rank_, failure);
}

}  // namespace nanobench::core
