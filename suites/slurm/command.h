/// One call of a program of Slurm: its words and its end, with a time limit. Internal to suites. Thread-safe: no state.
#pragma once

#include <string>
#include <vector>

namespace nanobench::suites {

struct CommandResult {
  int start_error = 0;  ///< errno where it could not be started
  bool is_timed_out = false;
  int exit_code = -1;  ///< 128 + signal when a signal ended it
  std::string out;
  std::string err;

  bool is_fine() const { return start_error == 0 && !is_timed_out && exit_code == 0; }
};

/// Runs `command`, found on PATH, without a shell and in a process group of its own: Ctrl-C is not for it. Waits at
/// most `seconds`, then kills it. Keeps about a megabyte of what it says.
CommandResult run_command(const std::vector<std::string>& command, double seconds);

/// What went wrong, in its own words on one line: "sbatch: error: invalid partition specified: x".
std::string failure_text(const std::vector<std::string>& command, const CommandResult& result);

}  // namespace nanobench::suites
