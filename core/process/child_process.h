/// Starting a program, and how it ended: the one place where this program makes processes. Linux.
///
/// Not thread-safe. A child that dies with us dies with the thread that started it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/process/streams.h"

namespace nanobench::core {

/// "signal 11 (SIGSEGV): Segmentation fault"
std::string signal_text(int number);

/// How a process ended and what it took of the machine.
struct ProcessExit {
  int exit_code = 0;               ///< meaningful when signal is 0
  int signal = 0;                  ///< that ended it, or 0
  std::int64_t max_rss_bytes = 0;  ///< peak resident set
  // Of the process and of those it waited for:
  std::int64_t user_ms = 0;               ///< CPU time
  std::int64_t system_ms = 0;             ///< CPU time in the kernel
  std::int64_t voluntary_switches = 0;    ///< it waited for something
  std::int64_t involuntary_switches = 0;  ///< its processor was given to another

  bool is_success() const { return signal == 0 && exit_code == 0; }
  /// "exit code 3", or signal_text()
  std::string text() const;
};

/// From the status of wait(); the resources stay 0.
ProcessExit exit_of_status(int wait_status);

/// Who gets the signals, and what ends together.
enum class ChildGroup {
  kOwn,      ///< a new group: Ctrl-C passes it by, signal() reaches all of it, what the child left behind ends with it
  kOurs,     ///< this process's group: Ctrl-C and our runner's signals reach it; signal() reaches the child alone
  kDetached  ///< a new group that survives this process, and whose rest survives the child
};

/// What to start. Standard input is /dev/null, the standard outputs are ours unless they are named here; no other
/// descriptor is open in the program.
struct ChildSetup {
  std::vector<std::string> command;                               ///< the program, found on PATH, and its arguments
  std::optional<std::map<std::string, std::string>> environment;  ///< absent: ours
  std::string folder;                                             ///< to run in; empty: ours
  std::vector<std::vector<int>> pipes;     ///< the child's descriptors that write into each pipe: {{1, 2}, {3}}
  std::vector<std::pair<int, int>> files;  ///< open descriptors of ours, and what they are in the child
  ChildGroup group = ChildGroup::kOwn;
};

/// A program on its way; except a detached one, the kernel kills it when this process is gone. The destructor kills it,
/// with its group if that is not ours.
class ChildProcess {
 public:
  explicit ChildProcess(const ChildSetup& setup);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// errno where the program could not be started, or 0.
  int start_error() const { return start_error_; }
  /// Where setup.pipes[i] is read.
  Fd& pipe(std::size_t i) { return pipes_[i]; }

  /// Nothing once it has ended.
  void signal(int number) const;
  /// The exit, once it has happened. What is left of ChildGroup::kOwn is dead then.
  std::optional<ProcessExit> poll_exit();

 private:
  void start(const ChildSetup& setup);
  ProcessExit reap();

  pid_t pid_ = -1;
  ChildGroup group_;
  int start_error_ = 0;
  std::vector<Fd> pipes_;
  std::optional<ProcessExit> exit_;
};

/// fork() for a child that goes on as a copy of this process. Returns 0 in the child, -1 with errno on failure.
pid_t fork_process(bool dies_with_us);

}  // namespace nanobench::core
