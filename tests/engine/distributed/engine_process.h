/// nanobench-train as a child process of a test, with its own children in view. Linux.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/protocol/run_event.h"
#include "core/protocol/run_spec.h"

extern char** environ;

namespace nanobench::core::testing {

/// Looks every few milliseconds until `condition` holds; false after a minute.
inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// A process that has ended but was not waited for counts as gone.
inline bool is_running(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(in, stat);
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.compare(name_end, 3, ") Z") != 0;
}

/// How a test starts the engine, other than by itself.
struct EngineStart {
  std::vector<std::string> prefix;  ///< a launcher and its arguments; its own output are the events then
  std::vector<std::pair<std::string, std::string>> variables;  ///< added to the environment
  bool keeps_errors = false;                                   ///< for errors()
};

class EngineProcess {
 public:
  /// Starts it on `spec`.
  explicit EngineProcess(const RunSpec& spec, const EngineStart& start = {}) {
    static int count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("nanobench_engine_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(folder_);
    std::ofstream(spec_file()) << to_json(spec).dump();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const int events_fd = start.prefix.empty() ? 3 : STDOUT_FILENO;  // launchers pass nothing else on
    posix_spawn_file_actions_addopen(&actions, events_fd, events_file().c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (start.keeps_errors)
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors_file().c_str(), O_CREAT | O_WRONLY, 0600);
    std::vector<std::string> arguments = start.prefix;
    arguments.insert(arguments.end(), {std::string(NANOBENCH_BIN_DIR) + "/nanobench-train", "--spec", spec_file(),
                                       "--events-fd", std::to_string(events_fd)});
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
    for (const auto& [name, value] : start.variables) variables.push_back(name + "=" + value);
    if (posix_spawnp(&pid_, arguments.front().c_str(), &actions, nullptr, pointers(arguments).data(),
                     pointers(variables).data()) != 0)
      throw std::runtime_error("cannot start " + arguments.front());
    posix_spawn_file_actions_destroy(&actions);
  }
  ~EngineProcess() {
    if (!has_ended_) {
      kill(pid_, SIGKILL);
      wait();
    }
    std::filesystem::remove_all(folder_);
  }
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  pid_t pid() const { return pid_; }
  std::filesystem::path folder() const { return folder_; }

  /// Exit code, or minus the signal. Kills it when it does not end within a minute.
  int wait() {
    if (!has_ended_ && !eventually([&] { return waitpid(pid_, &status_, WNOHANG) == pid_; })) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status_, 0);
    }
    has_ended_ = true;
    return WIFSIGNALED(status_) ? -WTERMSIG(status_) : WEXITSTATUS(status_);
  }

  /// Whole lines so far.
  std::vector<RunEvent> events() const {
    std::vector<RunEvent> events;
    std::ifstream in(events_file());
    for (std::string line; std::getline(in, line) && !in.eof();) events.push_back(parse_event_line(line));
    return events;
  }

  /// What it has written to its standard error.
  std::string errors() const {
    std::ifstream in(errors_file());
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  std::vector<pid_t> children() const {
    const std::string id = std::to_string(pid_);
    std::ifstream in("/proc/" + id + "/task/" + id + "/children");
    std::vector<pid_t> pids;
    for (pid_t pid = 0; in >> pid;) pids.push_back(pid);
    return pids;
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  }
  std::string spec_file() const { return (folder_ / "spec.json").string(); }
  std::string errors_file() const { return (folder_ / "errors.txt").string(); }
  std::string events_file() const { return (folder_ / "events.jsonl").string(); }

  std::filesystem::path folder_;
  pid_t pid_ = 0;
  int status_ = 0;
  bool has_ended_ = false;
};

}  // namespace nanobench::core::testing
