#include "engine/distributed/process_watch.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

namespace nanobench::core {
namespace {

std::string signal_text(int number) {
  const char* name = sigabbrev_np(number);
  const char* text = sigdescr_np(number);
  return "signal " + std::to_string(number) + (name == nullptr ? "" : std::string(" (SIG") + name + ")") +
         (text == nullptr ? "" : std::string(": ") + text);
}

}  // namespace

ProcessWatch::ProcessWatch(SharedSegment& segment, const std::vector<pid_t>& children) : segment_(segment) {
  for (const pid_t pid : children) children_.push_back({.pid = pid});
  thread_ = std::thread([this] { watch(); });
}

ProcessWatch::~ProcessWatch() {
  kill_all();
  join();
}

void ProcessWatch::join() {
  if (thread_.joinable()) thread_.join();
}

void ProcessWatch::kill_all() {
  const std::lock_guard lock(mutex_);
  for (const Child& child : children_) {
    if (!child.has_ended) kill(child.pid, SIGKILL);
  }
}

void ProcessWatch::watch() {
  for (std::size_t running = children_.size(); running > 0;) {
    siginfo_t ended{};
    // WNOWAIT leaves the process as it is, so that its number cannot become another's before note_end holds the lock.
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return;  // no children: somebody else waited for them
    }
    if (note_end(ended.si_pid)) --running;
  }
}

bool ProcessWatch::note_end(pid_t pid) {
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
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  const std::string who = process_name(static_cast<int>(index) + 1, segment_.size());
  const std::string how = WIFSIGNALED(status)
                              ? " was ended by " + signal_text(WTERMSIG(status))
                              : " ended with exit code " + std::to_string(WEXITSTATUS(status)) + " and said nothing";
  segment_.fail(segment_.size(), {RunOutcome::kCrashed, who + how});  // what it said itself, if anything, came first
  return true;
}

}  // namespace nanobench::core
