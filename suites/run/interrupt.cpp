#include "suites/run/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "core/base/error.h"

namespace nanobench::suites {
namespace {

constexpr int kSignals[3] = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> received{0};
std::atomic<int> write_end{-1};
static_assert(std::atomic<int>::is_always_lock_free);  // used in a signal handler

void on_signal(int) {
  const int saved = errno;
  received.fetch_add(1);
  const char byte = 1;
  if (const int fd = write_end.load(); fd >= 0) [[maybe_unused]]
    const ssize_t ignored = write(fd, &byte, 1);
  errno = saved;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  NB_CHECK(write_end.load() < 0, "two suites run in one process at once");
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    throw core::Error(core::ErrorCode::kIo, "cannot make a pipe; close other programs and run again");
  read_end_ = ends[0];
  received.store(0);
  write_end.store(ends[1]);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &action, &former_[i]);
}

InterruptGuard::~InterruptGuard() {
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &former_[i], nullptr);
  close(write_end.exchange(-1));
  close(read_end_);
}

int InterruptGuard::count() const {
  return received.load();
}

void InterruptGuard::drain() const {
  char bytes[16];
  while (read(read_end_, bytes, sizeof bytes) > 0) {
  }
}

}  // namespace nanobench::suites
