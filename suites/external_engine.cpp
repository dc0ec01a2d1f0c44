#include "suites/external_engine.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>

#include "core/base/build_info.h"
#include "core/base/error.h"
#include "suites/engine_main.h"
#include "suites/line_cutter.h"
#include "suites/log_follower.h"
#include "suites/marked_processes.h"
#include "suites/speedrun_events.h"
#include "suites/trainer_process.h"

namespace nanobench::suites {
namespace {

constexpr int kPollMs = 100;
constexpr int kMostReads = 64;  ///< at a time: a trainer that prints without end must not keep us from looking up
constexpr std::size_t kLongestWords = 300;

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody listens any more: the runner is gone, and with it soon this process
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// Lines of the log to events for the runner.
class EventWriter : public LogReader {
 public:
  explicit EventWriter(int events_fd) : events_fd_(events_fd) {}

  void say(const core::RunEvent& event) const { write_all(events_fd_, core::to_line(event) + "\n"); }
  void on_bytes(std::string_view bytes) override {
    lines_.add(bytes, [this](std::string_view line) { take_line(line); });
  }
  /// A last line without its newline counts when it is whole.
  void on_end() override {
    const std::string rest = lines_.take_rest();
    const std::optional<results::SpeedrunLine> line = results::parse_speedrun_line(rest);
    if (line && line->is_whole) take_line(rest);
  }
  const SpeedrunEvents& events() const { return events_; }

 private:
  void take_line(std::string_view line) {
    for (const core::RunEvent& event : events_.on_line(line)) say(event);
  }

  int events_fd_;
  LineCutter lines_;
  SpeedrunEvents events_;
};

/// The trainer's standard output: passed on, and read as the log when there is no other.
class OutputReader {
 public:
  OutputReader(int output_fd, LogReader* log) : output_fd_(output_fd), log_(log) {}

  int fd() const { return output_fd_; }
  /// What is there now.
  void read_some() {
    char bytes[65536];
    for (int i = 0; i < kMostReads && output_fd_ >= 0; ++i) {
      const ssize_t count = read(output_fd_, bytes, sizeof bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) output_fd_ = -1;  // the end; the trainer's object closes it
      if (count > 0) take({bytes, static_cast<std::size_t>(count)});
    }
  }
  /// The last line that says something.
  const std::string& last_words() const { return last_words_; }

 private:
  void take(std::string_view bytes) {
    write_all(STDOUT_FILENO, bytes);
    if (log_ != nullptr) log_->on_bytes(bytes);
    lines_.add(bytes, [this](std::string_view line) {
      if (line.find_first_not_of(" \r\t") != std::string_view::npos) last_words_ = line.substr(0, kLongestWords);
    });
  }

  int output_fd_;
  LogReader* log_;
  LineCutter lines_;
  std::string last_words_;
};

core::HelloEvent hello_of(const TrainerSettings& settings) {
  std::string command;
  for (const std::string& word : settings.command) command += (command.empty() ? "" : " ") + word;
  core::HelloEvent hello{.engine = "external", .engine_version = core::version_text(), .environment = {}};
  hello.environment = settings.identity;
  hello.environment["command"] = command;
  return hello;
}

std::int64_t peak_of_children() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

volatile std::sig_atomic_t runner_is_gone = 0;

void on_stop(int /*number*/) {}

void on_runner_death(int /*number*/) {
  runner_is_gone = 1;
}

/// The trainer gets these signals too and decides; we stay to tell how it ended. A handler, unlike SIG_IGN, is not
/// inherited. A runner that is killed takes the trainer's whole tree with it, not this process alone: a launcher's
/// workers would go on. Without a group of our own there is no runner.
void set_signals() {
  struct sigaction action = {};
  action.sa_handler = on_stop;
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) sigaction(number, &action, nullptr);
  if (getpgrp() != getpid()) return;
  action.sa_handler = on_runner_death;
  sigaction(SIGUSR1, &action, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);  // in place of SIGKILL, which the runner set: no moment is without one
}

void end_with_the_runner(const std::string& mark) {
  kill_marked(mark);
  kill(0, SIGKILL);
}

/// One run of a trainer that has started.
class Session {
 public:
  Session(const TrainerSettings& settings, TrainerProcess& trainer, EventWriter& writer,
          std::optional<LogFollower>& log)
      : settings_(settings),
        trainer_(trainer),
        writer_(writer),
        log_(log),
        output_(trainer.output_fd(), log ? nullptr : &writer) {}

  /// Returns the wait status.
  int wait() {
    std::optional<int> status;
    while (!status) {
      pollfd waiting = {output_.fd(), POLLIN, 0};
      poll(&waiting, 1, kPollMs);
      if (runner_is_gone != 0) end_with_the_runner(settings_.mark);
      status = trainer_.poll_status();  // before reading: what it wrote is then all in the pipe
      output_.read_some();
      if (log_ && !status) log_->read(writer_, /*is_last=*/false);
    }
    kill_marked(settings_.mark);  // what it has left behind must not go on beside the next run
    output_.read_some();
    if (log_) log_->read(writer_, /*is_last=*/true);
    writer_.on_end();
    return *status;
  }

  /// The trainer's end is ours.
  int end_as(int status) const {
    if (WIFSIGNALED(status)) {
      signal(WTERMSIG(status), SIG_DFL);
      kill(getpid(), WTERMSIG(status));
      return 128 + WTERMSIG(status);
    }
    if (WEXITSTATUS(status) == 0) writer_.say(last_event());
    return WEXITSTATUS(status);
  }

 private:
  core::RunEvent last_event() const {
    const std::string problem = log_ ? log_->problem() : "";
    if (problem.empty()) return writer_.events().end(peak_of_children(), output_.last_words());
    const std::string words = output_.last_words().empty() ? "" : "; its last words: " + output_.last_words();
    return core::FailedEvent{core::RunOutcome::kCrashed, "the trainer ended well, but " + problem + words};
  }

  const TrainerSettings& settings_;
  TrainerProcess& trainer_;
  EventWriter& writer_;
  std::optional<LogFollower>& log_;
  OutputReader output_;
};

}  // namespace

int run_external_engine(const core::RunSpec& spec, int events_fd) {
  const TrainerSettings settings = read_trainer_settings(spec.external);
  set_signals();
  std::optional<LogFollower> log;
  if (!settings.log_file.empty()) log.emplace(std::filesystem::path(settings.folder) / settings.log_file);
  TrainerProcess trainer(settings);
  EventWriter writer(events_fd);
  writer.say(hello_of(settings));
  if (trainer.start_error() != 0) {
    writer.say(core::FailedEvent{core::RunOutcome::kUnsupported,
                                 "cannot start " + settings.command.front() + " in " + settings.folder + ": " +
                                     std::strerror(trainer.start_error()) +
                                     "; name a program of $PATH or a file as seen from that folder"});
    return 0;
  }
  Session session(settings, trainer, writer, log);
  return session.end_as(session.wait());
}

int external_engine_main(const std::vector<std::string>& arguments) {
  return engine_main("external engine", arguments, run_external_engine);
}

}  // namespace nanobench::suites
