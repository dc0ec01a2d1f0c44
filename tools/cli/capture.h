/// A short program's output, for asking another program its version. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace nanobench::tools {

struct Captured {
  bool has_started = false;
  bool is_timed_out = false;
  int exit_code = -1;  ///< 128 + signal when a signal ended it
  std::string output;  ///< stdout and stderr, at most 64 KiB
};

/// Runs `command` without a shell and waits at most `seconds`; kills it then.
Captured capture(const std::vector<std::string>& command, double seconds);

}  // namespace nanobench::tools
