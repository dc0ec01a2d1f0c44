#include "suites/external_engine.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "core/base/build_info.h"
#include "core/base/error.h"
#include "suites/child_process.h"
#include "suites/engine_main.h"
#include "suites/speedrun_events.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;

constexpr int kPollMs = 100;
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kLongestWords = 300;

struct Settings {
  std::vector<std::string> command;
  std::map<std::string, std::string> env;
  std::string folder;
};

Settings read_settings(const Json& json) {
  try {
    return {json.at("command").get<std::vector<std::string>>(),
            json.at("env").get<std::map<std::string, std::string>>(), json.at("folder").get<std::string>()};
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kInvalidArgument, std::string("/external: ") + error.what());
  }
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody listens any more: the runner is gone, and with it soon this process
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::pair<Fd, Fd> make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorCode::kIo, std::string("cannot make a pipe: ") + std::strerror(errno));
  return {Fd(ends[0]), Fd(ends[1])};
}

/// In the forked child. Stays in our process group, so the runner's signals reach it too.
[[noreturn]] void become_trainer(char* const* argv, const Settings& settings, int output, int report, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) signal(number, SIG_DFL);
  setenv("PYTHONUNBUFFERED", "1", 0);  // or Python keeps its lines back while nobody looks at a terminal
  for (const auto& [name, value] : settings.env) setenv(name.c_str(), value.c_str(), 1);
  dup2(output, STDOUT_FILENO);
  if (settings.folder.empty() || chdir(settings.folder.c_str()) == 0) execvp(argv[0], argv);
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = write(report, &error, sizeof error);
  _exit(127);
}

/// The running trainer; killed with this object.
class Trainer {
 public:
  explicit Trainer(const Settings& settings) {
    std::vector<std::string> words = settings.command;
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    auto [output_read, output_write] = make_pipe();
    auto [report_read, report_write] = make_pipe();
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) throw Error(ErrorCode::kIo, std::string("cannot start a process: ") + std::strerror(errno));
    if (pid_ == 0) become_trainer(argv.data(), settings, output_write.get(), report_write.get(), parent);
    output_ = std::move(output_read);
    fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    report_write.reset();
    ssize_t count = 0;
    do count = read(report_read.get(), &start_error_, sizeof start_error_);
    while (count < 0 && errno == EINTR);
    if (count != static_cast<ssize_t>(sizeof start_error_)) start_error_ = 0;
  }
  ~Trainer() {
    if (status_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  int output_fd() const { return output_.get(); }
  int start_error() const { return start_error_; }  ///< errno of a command that could not be started, or 0
  /// The wait status, once it has ended.
  std::optional<int> poll_status() {
    int status = 0;
    if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    return status_;
  }

 private:
  pid_t pid_ = -1;
  Fd output_;
  int start_error_ = 0;
  std::optional<int> status_;
};

/// The trainer's output: passed on, and cut into lines.
class OutputReader {
 public:
  OutputReader(int output_fd, int events_fd) : output_fd_(output_fd), events_fd_(events_fd) {}

  /// Everything that is there now. False at the end of the output.
  bool read_some() {
    char bytes[65536];
    while (true) {
      const ssize_t count = read(output_fd_, bytes, sizeof bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno == EAGAIN;
      if (count == 0) return false;
      write_all(STDOUT_FILENO, std::string_view(bytes, static_cast<std::size_t>(count)));
      buffer_.append(bytes, static_cast<std::size_t>(count));
      take_lines();
    }
  }

  /// The output is over: a last line without its newline counts when it is whole.
  void finish() {
    const std::optional<results::SpeedrunLine> line = results::parse_speedrun_line(buffer_);
    if (line && line->is_whole) take_line(buffer_);
  }

  void say(const core::RunEvent& event) const { write_all(events_fd_, core::to_line(event) + "\n"); }

  const SpeedrunEvents& events() const { return events_; }
  const std::string& last_words() const { return last_words_; }

 private:
  void take_lines() {
    std::size_t start = 0;
    for (std::size_t end; (end = buffer_.find('\n', start)) != std::string::npos; start = end + 1)
      take_line(std::string_view(buffer_).substr(start, end - start));
    buffer_.erase(0, start);
    if (buffer_.size() > kLongestLine) buffer_.clear();  // no line of a trainer
  }

  void take_line(std::string_view line) {
    for (const core::RunEvent& event : events_.on_line(line)) say(event);
    if (line.find_first_not_of(" \r\t") != std::string_view::npos) last_words_ = line.substr(0, kLongestWords);
  }

  int output_fd_;
  int events_fd_;
  SpeedrunEvents events_;
  std::string buffer_;
  std::string last_words_;
};

core::HelloEvent hello_of(const Settings& settings) {
  std::string command;
  for (const std::string& word : settings.command) command += (command.empty() ? "" : " ") + word;
  return {.engine = "external", .engine_version = core::version_text(), .environment = {{"command", command}}};
}

std::int64_t peak_of_children() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

/// The trainer's end is ours.
int end_as(int status, const OutputReader& reader) {
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
    return 128 + WTERMSIG(status);
  }
  if (WEXITSTATUS(status) == 0) reader.say(reader.events().end(peak_of_children(), reader.last_words()));
  return WEXITSTATUS(status);
}

void on_stop(int /*number*/) {}

void on_runner_death(int /*number*/) {
  kill(0, SIGKILL);
}

/// A runner that is killed takes the trainer's whole tree with it, not this process alone: a launcher's workers would
/// go on. Without a group of our own there is no runner.
void take_the_group_along() {
  if (getpgrp() != getpid()) return;
  struct sigaction action = {};
  action.sa_handler = on_runner_death;
  sigaction(SIGUSR1, &action, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);  // in place of SIGKILL, which the runner set: no moment is without one
}

}  // namespace

int run_external_engine(const core::RunSpec& spec, int events_fd) {
  const Settings settings = read_settings(spec.external);
  // The trainer gets these signals too and decides; we stay to tell how it ended. A handler, unlike SIG_IGN, is not
  // inherited.
  struct sigaction action = {};
  action.sa_handler = on_stop;
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
  take_the_group_along();
  fcntl(events_fd, F_SETFD, FD_CLOEXEC);
  Trainer trainer(settings);
  OutputReader reader(trainer.output_fd(), events_fd);
  reader.say(hello_of(settings));
  if (trainer.start_error() != 0) {
    reader.say(core::FailedEvent{core::RunOutcome::kUnsupported,
                                 "cannot start " + settings.command.front() + " in " + settings.folder + ": " +
                                     std::strerror(trainer.start_error()) +
                                     "; name a program of $PATH or a file as seen from that folder"});
    return 0;
  }
  std::optional<int> status;
  bool is_open = true;
  while (!status) {
    pollfd wait = {is_open ? trainer.output_fd() : -1, POLLIN, 0};
    poll(&wait, 1, kPollMs);
    status = trainer.poll_status();  // before reading: what it wrote is then all in the pipe
    if (is_open) is_open = reader.read_some();
  }
  reader.finish();
  return end_as(*status, reader);
}

int external_engine_main(const std::vector<std::string>& arguments) {
  return engine_main("external engine", arguments, run_external_engine);
}

}  // namespace nanobench::suites
