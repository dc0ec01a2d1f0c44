/// Starts programs and reports how they end; the only place where this program creates processes. Linux.
///
/// Not thread-safe. A child that dies with this process dies when the thread that started it ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
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

/// How a process ended and the resources it used.
struct ProcessExit {
  int exit_code = 0;               ///< meaningful when signal is 0
  int signal = 0;                  ///< signal that ended it, or 0
  std::int64_t max_rss_bytes = 0;  ///< peak resident set of the program; not of us, of whom it was a copy
  // For the process and the children it waited for:
  std::int64_t user_ms = 0;    ///< CPU time
  std::int64_t system_ms = 0;  ///< CPU time in the kernel
  std::int64_t user_us = 0;    ///< user_ms with the system's own resolution
  std::int64_t system_us = 0;
  std::int64_t voluntary_switches = 0;    ///< waits for something
  std::int64_t involuntary_switches = 0;  ///< preemptions

  bool is_success() const { return signal == 0 && exit_code == 0; }
  /// "exit code 3", or signal_text()
  std::string text() const;
};

/// From the status of wait(); the resources stay 0.
ProcessExit exit_of_status(int wait_status);

/// Who receives signals, and which processes end together.
enum class ChildGroup {
  kOwn,      ///< a new group: Ctrl-C does not reach it, signal() reaches all of it, its rest ends with the child
  kOurs,     ///< this process's group: Ctrl-C and our runner's signals reach it; signal() reaches only the child
  kDetached  ///< a new group that survives this process; its remaining processes survive the child
};

/// The variables of this process.
std::map<std::string, std::string> process_environment();

/// What to start. Standard input is /dev/null or `input`; standard output and standard error are inherited unless named
/// here. No other descriptor is open in the program.
struct ChildSetup {
  std::vector<std::string> command;                               ///< the program, found on PATH, and its arguments
  std::optional<std::map<std::string, std::string>> environment;  ///< absent: inherited
  std::string folder;                                             ///< working directory; empty: ours
  std::string input;                                              ///< file that is its standard input; empty: /dev/null
  std::vector<std::vector<int>> pipes;     ///< the child's descriptors that write into each pipe: {{1, 2}, {3}}
  std::vector<std::pair<int, int>> files;  ///< open descriptors of ours, and their numbers in the child
  ChildGroup group = ChildGroup::kOwn;
  std::vector<int> processors;  ///< the only ones that it may use; empty: ours
  /// forked_memory_bytes(), so that the peak of a program smaller than us is exact above it; 0: our resident set
  /// counts.
  std::int64_t forked_bytes = 0;
};

/// A running program. The kernel kills it when this process ends, unless it is detached. The destructor kills it, and
/// its group unless that is ours.
class ChildProcess {
 public:
  explicit ChildProcess(const ChildSetup& setup);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// errno if the program could not be started, else 0.
  int start_error() const { return start_error_; }
  /// The read end of setup.pipes[i].
  Fd& pipe(std::size_t i) { return pipes_[i]; }

  /// Just before the process was made; its program begins a little later.
  std::chrono::steady_clock::time_point started() const { return started_; }
  /// A new descriptor that becomes readable when the program ends; none where the system has no such thing (before
  /// Linux 5.3) or the program was not started.
  Fd exit_watch() const;
  /// The file that is executed, even if another one has its name now; unreadable once the program has ended.
  std::string executable() const { return "/proc/" + std::to_string(pid_) + "/exe"; }
  /// Its process group; meaningless unless start_error() is 0 and the group is its own.
  pid_t group() const { return pid_; }
  /// Does nothing once the program has ended.
  void signal(int number) const;
  /// Pauses what signal() reaches, and returns when the program itself has stopped or ended. A program that cannot be
  /// interrupted, because it waits for a child that is paused already or for a disk, counts as paused; so does one that
  /// a busy machine gives no processor for two seconds.
  void pause() const;
  /// Continues what was paused.
  void resume() const { signal(SIGCONT); }
  /// The exit, if the program has ended. Everything left of ChildGroup::kOwn is dead by then.
  std::optional<ProcessExit> poll_exit();

 private:
  void start(const ChildSetup& setup);
  void look_at_memory();
  std::int64_t peak_of(std::int64_t reported_bytes) const;
  ProcessExit reap();

  pid_t pid_ = -1;
  ChildGroup group_;
  int start_error_ = 0;
  std::vector<Fd> pipes_;
  std::optional<ProcessExit> exit_;
  std::int64_t our_bytes_ = 0;   ///< memory that it had as a copy of us
  std::int64_t peak_bytes_ = 0;  ///< of the program, when last looked at
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point looked_;
};

/// fork() for a child that continues as a copy of this process. Returns 0 in the child, -1 with errno on failure.
pid_t fork_process(bool dies_with_us);

}  // namespace nanobench::core
