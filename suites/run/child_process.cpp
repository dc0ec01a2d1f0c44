#include "suites/run/child_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

constexpr int kChildEventsFd = 3;
constexpr int kChildSpecFd = 4;
constexpr int kFirstFreeFd = 5;
constexpr int kPipeBytes = 1 << 20;  // the engine must not wait for the store

[[noreturn]] void fail(const std::string& doing) {
  throw Error(ErrorCode::kUnavailable,
              "cannot " + doing + ": " + std::strerror(errno) + "; close other programs and run again");
}

std::pair<Fd, Fd> make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) fail("make a pipe");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes);  // best effort
  return {Fd(ends[0]), Fd(ends[1])};
}

Fd make_spec_file(const std::string& text) {
  Fd file(memfd_create("run.json", MFD_CLOEXEC));
  if (file.get() < 0) fail("make the run's specification");
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) fail("write the run's specification");
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return file;
}

std::int64_t milliseconds(const timeval& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_usec / 1000;
}

struct ChildFds {
  int events = -1;
  int output = -1;
  int spec = -1;
  int report = -1;  ///< gets errno when exec fails
};

/// Between fork and exec: only async-signal-safe calls.
[[noreturn]] void become_engine(char* const* argv, const ChildFds& fds, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before the line above
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Out of the way first: the targets may be among the sources.
  const int events = fcntl(fds.events, F_DUPFD_CLOEXEC, 100);
  const int output = fcntl(fds.output, F_DUPFD_CLOEXEC, 100);
  const int spec = fcntl(fds.spec, F_DUPFD_CLOEXEC, 100);
  const int report = fcntl(fds.report, F_DUPFD_CLOEXEC, 100);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  dup2(events, kChildEventsFd);
  dup2(spec, kChildSpecFd);
  close_range(kFirstFreeFd, ~0U, CLOSE_RANGE_CLOEXEC);  // whatever else is open is not for the engine
  execvp(argv[0], argv);
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = write(report, &error, sizeof error);
  _exit(127);
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Fd::release() {
  return std::exchange(fd_, -1);
}

void Fd::reset() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::string& spec_text) {
  std::vector<std::string> words = command;
  words.insert(words.end(), {"--spec", "/proc/self/fd/" + std::to_string(kChildSpecFd), "--events-fd",
                             std::to_string(kChildEventsFd)});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const Fd spec = make_spec_file(spec_text);
  auto [events_read, events_write] = make_pipe();
  auto [output_read, output_write] = make_pipe();
  auto [report_read, report_write] = make_pipe();
  fcntl(report_read.get(), F_SETFL, 0);  // waited for: it closes with a successful exec

  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) fail("start a process");
  if (pid_ == 0)
    become_engine(argv.data(), {events_write.get(), output_write.get(), spec.get(), report_write.get()}, parent);
  setpgid(pid_, pid_);  // in both processes: whoever is first
  events_ = std::move(events_read);
  output_ = std::move(output_read);
  report_write.reset();
  int error = 0;
  ssize_t count = 0;
  do count = read(report_read.get(), &error, sizeof error);
  while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof error)) {
    waitpid(pid_, nullptr, 0);
    throw Error(ErrorCode::kUnavailable,
                "cannot start the engine " + command.front() + ": " + std::strerror(error) + "; build it again");
  }
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0 || is_reaped_) return;
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::signal_group(int signal) const {
  if (!is_reaped_) kill(-pid_, signal);
}

std::optional<ChildExit> ChildProcess::poll_exit() {
  siginfo_t info = {};
  // WNOWAIT keeps the zombie, so that its number still means the group below.
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return std::nullopt;
  kill(-pid_, SIGKILL);
  int status = 0;
  rusage usage = {};
  while (wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  is_reaped_ = true;
  ChildExit result;
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  result.max_rss_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  result.user_ms = milliseconds(usage.ru_utime);
  result.system_ms = milliseconds(usage.ru_stime);
  result.voluntary_switches = usage.ru_nvcsw;
  result.involuntary_switches = usage.ru_nivcsw;
  return result;
}

}  // namespace nanobench::suites
