/// A short program's output, for asking another program its version. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nanobench::tools {

struct Captured {
  bool has_started = false;
  bool is_timed_out = false;
  int exit_code = -1;  ///< 128 + signal when a signal ended it
  std::string output;  ///< stdout and stderr, up to a limit
};

inline constexpr std::size_t kUsualOutput = 64 * 1024;

/// Runs `command` without a shell and waits at most `seconds`; kills it then. Of its output about `most_output` bytes
/// are kept.
Captured capture(const std::vector<std::string>& command, double seconds, std::size_t most_output = kUsualOutput);

}  // namespace nanobench::tools
