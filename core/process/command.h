/// A short program from start to end, within a time limit: its output and its exit; and how it is started under
/// valgrind. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/process/child_process.h"

namespace nanobench::core {

struct CommandLimits {
  double seconds = 20;                             ///< then it is killed
  std::size_t max_output = std::size_t{16} << 20;  ///< bytes kept of each stream, about
  ChildGroup group = ChildGroup::kOwn;
};

struct CommandResult {
  int start_error = 0;  ///< errno where it could not be started
  bool is_timed_out = false;
  ProcessExit exit;
  std::string out;
  std::string err;

  bool is_success() const { return start_error == 0 && !is_timed_out && exit.is_success(); }
};

/// Runs `command`, found on PATH, without a shell. Returns when it has ended, also when something that it left behind
/// still holds its streams. Throws Error{kUnavailable} when this process has no descriptors left.
CommandResult run_command(const std::vector<std::string>& command, const CommandLimits& limits = {});

/// Why it was no success, in its own words on one line: "sbatch: error: invalid partition specified: x".
std::string failure_text(const std::vector<std::string>& command, const CommandResult& result);

/// `program` behind valgrind with these options. Our engine starts itself again to have settings that libraries read
/// before main (engine/train/process_settings.h), and valgrind would lose it: they are set before.
std::vector<std::string> valgrind_command(const std::vector<std::string>& options,
                                          const std::vector<std::string>& program);

}  // namespace nanobench::core
