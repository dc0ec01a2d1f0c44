/// One engine process in a process group of its own, with its events and its output on pipes. It dies with us: the
/// kernel kills it when the thread that started it ends, and the destructor kills its whole group.
///
/// Not thread-safe. The starting thread must outlive the child.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::suites {

struct ChildExit {
  int exit_code = 0;               ///< meaningful when signal is 0
  int signal = 0;                  ///< that ended it, or 0
  std::int64_t max_rss_bytes = 0;  ///< peak resident set
  // Of the process and of those it waited for:
  std::int64_t user_ms = 0;               ///< CPU time
  std::int64_t system_ms = 0;             ///< CPU time in the kernel
  std::int64_t voluntary_switches = 0;    ///< it waited for something
  std::int64_t involuntary_switches = 0;  ///< its processor was given to another
};

/// A file descriptor that closes itself.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  int get() const { return fd_; }
  int release();
  void reset();

 private:
  int fd_;
};

class ChildProcess {
 public:
  /// Starts `command --spec FILE --events-fd N`. The spec is handed over as an anonymous file in memory, so nothing is
  /// left on the disk whatever happens. Throws Error{kUnavailable} when the program cannot be started.
  ChildProcess(const std::vector<std::string>& command, const std::string& spec_text);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int events_fd() const { return events_.get(); }  ///< non-blocking
  int output_fd() const { return output_.get(); }  ///< stdout and stderr; non-blocking
  void close_events() { events_.reset(); }
  void close_output() { output_.reset(); }

  /// To the whole group.
  void signal_group(int signal) const;
  /// The exit, once it has happened. Kills what is left of the group first.
  std::optional<ChildExit> poll_exit();

 private:
  pid_t pid_ = -1;
  bool is_reaped_ = false;
  Fd events_;
  Fd output_;
};

}  // namespace nanobench::suites
