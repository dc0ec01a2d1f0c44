/// One engine process in its own process group, with its events and output on pipes. It dies with this process.
///
/// Not thread-safe. The starting thread must outlive the engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/process/child_process.h"

namespace nanobench::suites {

class EngineProcess {
 public:
  /// Starts `command --spec FILE --events-fd N`. The spec is an anonymous file in memory, so nothing is left on disk
  /// whatever happens. Throws Error{kUnavailable} when the program cannot be started.
  EngineProcess(const std::vector<std::string>& command, const std::string& spec_text);

  core::Fd& output() { return child_.pipe(0); }  ///< standard output and standard error
  core::Fd& events() { return child_.pipe(1); }

  /// Waits until the engine writes, `other_fd` is readable, or a tenth of a second has passed. An exit is noticed with
  /// the same delay if a child of the engine keeps its pipes open.
  void wait(int other_fd = -1);
  /// Signals the whole group.
  void signal(int number) const { child_.signal(number); }
  /// The exit, once it has happened. All that the engine wrote is then in the pipes, and its group is dead.
  std::optional<core::ProcessExit> poll_exit() { return child_.poll_exit(); }

 private:
  core::ChildProcess child_;
};

}  // namespace nanobench::suites
