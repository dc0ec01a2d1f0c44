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
  pipe_ = core::make_pipe();
  fcntl(pipe_.write.get(), F_SETFL, O_NONBLOCK);  // a signal handler must not wait
  received.store(0);
  write_end.store(pipe_.write.get());
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &action, &former_[i]);
  action.sa_handler = SIG_IGN;  // an engine may die while it waits for its turn
  sigaction(SIGPIPE, &action, &former_broken_pipe_);
}

InterruptGuard::~InterruptGuard() {
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &former_[i], nullptr);
  sigaction(SIGPIPE, &former_broken_pipe_, nullptr);
  write_end.store(-1);
}

int InterruptGuard::count() const {
  return received.load();
}

void InterruptGuard::wait(double seconds) {
  core::wait_readable({fd()}, std::chrono::duration<double>(seconds));
  drain();
}

void InterruptGuard::drain() {
  while (!core::read_available(pipe_.read).empty()) {
  }
}

}  // namespace nanobench::suites
