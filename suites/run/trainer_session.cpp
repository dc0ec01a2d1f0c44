#include "suites/run/trainer_session.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "suites/run/marked_processes.h"

namespace nanobench::suites {
namespace {

constexpr int kPollMs = 100;
constexpr int kMostReads = 64;  ///< at a time: a trainer that prints without end must not keep us from looking up
constexpr std::size_t kLongestWords = 300;

volatile std::sig_atomic_t runner_is_gone = 0;

void on_stop(int /*number*/) {}

void on_runner_death(int /*number*/) {
  runner_is_gone = 1;
}

void end_with_the_runner(const std::string& mark) {
  kill_marked(mark);
  kill(0, SIGKILL);
}

}  // namespace

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody listens any more: the runner is gone, and with it soon this process
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void set_adapter_signals() {
  struct sigaction action = {};
  action.sa_handler = on_stop;
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) sigaction(number, &action, nullptr);
  if (getpgrp() != getpid()) return;  // without a group of our own there is no runner
  action.sa_handler = on_runner_death;
  sigaction(SIGUSR1, &action, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);  // in place of SIGKILL, which the runner set: no moment is without one
}

TrainerSession::TrainerSession(TrainerProcess& trainer, std::string mark, LogReader* reader, bool prints_on)
    : trainer_(trainer),
      mark_(std::move(mark)),
      reader_(reader),
      prints_on_(prints_on),
      output_fd_(trainer.output_fd()) {}

int TrainerSession::wait(const std::function<void(bool is_last)>& on_tick) {
  std::optional<int> status;
  while (!status) {
    pollfd waiting = {output_fd_, POLLIN, 0};
    poll(&waiting, 1, kPollMs);
    if (runner_is_gone != 0) end_with_the_runner(mark_);
    status = trainer_.poll_status();  // before reading: what it wrote is then all in the pipe
    read_some();
    if (!status) on_tick(/*is_last=*/false);
  }
  kill_marked(mark_);  // what it has left behind must not go on beside the next run
  read_some();
  on_tick(/*is_last=*/true);
  if (reader_ != nullptr) reader_->on_end();
  return *status;
}

void TrainerSession::read_some() {
  char bytes[65536];
  for (int i = 0; i < kMostReads && output_fd_ >= 0; ++i) {
    const ssize_t count = read(output_fd_, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) output_fd_ = -1;  // the end; the trainer's object closes it
    if (count > 0) take({bytes, static_cast<std::size_t>(count)});
  }
}

void TrainerSession::take(std::string_view bytes) {
  if (prints_on_) write_all(STDOUT_FILENO, bytes);
  if (reader_ != nullptr) reader_->on_bytes(bytes);
  lines_.add(bytes, [this](std::string_view line) {
    if (line.find_first_not_of(" \r\t") != std::string_view::npos) last_words_ = line.substr(0, kLongestWords);
  });
}

int end_like(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return WEXITSTATUS(wait_status);
  signal(WTERMSIG(wait_status), SIG_DFL);
  kill(getpid(), WTERMSIG(wait_status));
  return 128 + WTERMSIG(wait_status);
}

}  // namespace nanobench::suites
