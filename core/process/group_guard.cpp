#include "core/process/group_guard.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/process/child_process.h"
#include "core/process/resource_limits.h"

namespace nanobench::core {
namespace {

/// One message to the guard: a group to watch, or its negative to forget it.
using GroupOrder = pid_t;

/// Holds no file of this process open: neither locks nor the pipes that its readers wait for the end of.
void keep_only(int fd) {
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, number);
  if (fd > STDERR_FILENO + 1) close_range(STDERR_FILENO + 1, static_cast<unsigned>(fd) - 1, 0);
  close_range(static_cast<unsigned>(fd) + 1, ~0U, 0);
}

/// Runs in the guard, where nothing is allocated.
[[noreturn]] void guard_groups(int given) {
  setpgid(0, 0);
  const int orders = fcntl(given, F_DUPFD, STDERR_FILENO + 1);
  if (orders < 0) _exit(1);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  keep_only(orders);
  std::array<pid_t, GroupGuard::kMaxGroups> groups = {};
  GroupOrder order = 0;
  while (true) {
    const ssize_t count = read(orders, &order, sizeof order);
    if (count < 0 && errno == EINTR) continue;
    if (count != static_cast<ssize_t>(sizeof order)) break;  // the other process has ended
    const pid_t group = order < 0 ? -order : order;
    const auto place = std::find(groups.begin(), groups.end(), order < 0 ? group : pid_t{0});
    if (place != groups.end()) *place = order < 0 ? pid_t{0} : group;
  }
  for (const pid_t group : groups) {
    if (group > 0) kill(-group, SIGKILL);
  }
  _exit(0);
}

void send(const Fd& orders, GroupOrder order) {
  write_all(orders.get(), {reinterpret_cast<const char*>(&order), sizeof order});
}

}  // namespace

GroupGuard::GroupGuard() {
  Pipe pipe = make_pipe();
  pid_ = fork_process(/*dies_with_us=*/false);
  if (pid_ == 0) {
    pipe.write.reset();
    guard_groups(pipe.read.get());
  }
  if (pid_ < 0) {
    const int reason = errno;
    throw Error(ErrorCode::kUnavailable, std::string("cannot start a process: ") + std::strerror(reason) + "; " +
                                             remedy_for(reason, "close other programs and run again"));
  }
  setpgid(pid_, pid_);  // in both processes: whoever is first
  orders_ = std::move(pipe.write);
}

GroupGuard::~GroupGuard() {
  orders_.reset();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void GroupGuard::watch(pid_t group) const {
  send(orders_, group);
}

void GroupGuard::forget(pid_t group) const {
  send(orders_, -group);
}

}  // namespace nanobench::core
