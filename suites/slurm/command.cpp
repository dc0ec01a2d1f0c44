#include "suites/slurm/command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "suites/run/child_process.h"

extern char** environ;

namespace nanobench::suites {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = 16 << 20;  // the queue of a large cluster, a line a task
constexpr std::size_t kMostWords = 600;        // of a message

/// One stream of the program.
struct Stream {
  Fd fd;
  std::string* text = nullptr;

  /// What is there now; closes at the end of the stream.
  void read_some() {
    std::array<char, 65536> bytes{};
    const ssize_t count = read(fd.get(), bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) return fd.reset();
    if (text->size() < kMostOutput) text->append(bytes.data(), static_cast<std::size_t>(count));
  }
};

/// False at the deadline.
bool read_all(std::array<Stream, 2>& streams, Clock::time_point deadline) {
  while (streams[0].fd.get() >= 0 || streams[1].fd.get() >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    std::array<pollfd, 2> fds = {pollfd{streams[0].fd.get(), POLLIN, 0}, pollfd{streams[1].fd.get(), POLLIN, 0}};
    if (poll(fds.data(), fds.size(), static_cast<int>(left)) <= 0) continue;
    for (std::size_t i = 0; i < fds.size(); ++i) {
      if (fds[i].revents != 0) streams[i].read_some();
    }
  }
  return true;
}

/// Starts it with its streams on these ends; errno or 0.
int start(const std::vector<std::string>& command, const std::array<int, 2>& ends, pid_t& pid) {
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int error = posix_spawnp(&pid, argv.front(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string on_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool is_blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!is_blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (line.size() > kMostWords) line = line.substr(0, kMostWords) + "...";
  return line;
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& command, double seconds) {
  CommandResult result;
  int out[2] = {-1, -1};
  int err[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) != 0) {
    result.start_error = errno;
    return result;
  }
  std::array<Stream, 2> streams = {Stream{Fd(out[0]), &result.out}, Stream{Fd(), &result.err}};
  Fd out_end(out[1]);
  if (pipe2(err, O_CLOEXEC) != 0) {
    result.start_error = errno;
    return result;
  }
  streams[1].fd = Fd(err[0]);
  Fd err_end(err[1]);
  pid_t pid = -1;
  result.start_error = start(command, {out_end.get(), err_end.get()}, pid);
  out_end.reset();
  err_end.reset();
  if (result.start_error != 0) return result;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  result.is_timed_out = !read_all(streams, deadline);
  if (result.is_timed_out) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string failure_text(const std::vector<std::string>& command, const CommandResult& result) {
  const std::string& name = command.front();
  if (result.start_error != 0) return name + " could not be started: " + std::strerror(result.start_error);
  if (result.is_timed_out) return name + " gave no answer in time";
  const std::string words = on_one_line(result.err.empty() ? result.out : result.err);
  if (!words.empty()) return words;
  return name + " ended with exit code " + std::to_string(result.exit_code) + " and said nothing";
}

}  // namespace nanobench::suites
