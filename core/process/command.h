/// Runs a short program to its end within a time limit and returns its output and exit. Also builds commands for
/// valgrind. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/process/child_process.h"

namespace nanobench::core {

struct CommandLimits {
  double seconds = 20;                             ///< the program is killed after this time
  std::size_t max_output = std::size_t{16} << 20;  ///< approximate number of bytes kept of each stream
  ChildGroup group = ChildGroup::kOwn;
};

struct CommandResult {
  int start_error = 0;  ///< errno if it could not be started
  bool is_timed_out = false;
  ProcessExit exit;
  std::string out;
  std::string err;

  bool is_success() const { return start_error == 0 && !is_timed_out && exit.is_success(); }
};

/// Runs `command`, found on PATH, without a shell. Returns when it has ended, even if a process it left behind still
/// holds its streams. Throws Error{kUnavailable} when this process has no descriptors left.
CommandResult run_command(const std::vector<std::string>& command, const CommandLimits& limits = {});

/// The words of a command line without these options, each with or without a value; "--x=1" and "--x 1" alike. Words
/// after "--" are another program's and stay.
std::vector<std::string> without_options(const std::vector<std::string>& words, const std::set<std::string>& with_value,
                                         const std::set<std::string>& flags = {});

/// The option's value in a command line, "--x=1" or "--x 1": that of the last one; nullopt without it. Words after "--"
/// are another program's.
std::optional<std::string> option_value(const std::vector<std::string>& words, const std::string& option);

/// The pieces of an output in which each ends with NUL, as `git -z` and `find -print0` write them.
std::vector<std::string> pieces_of(const std::string& output);

/// Why it failed, in the program's own words on one line: "sbatch: error: invalid partition specified: x".
std::string failure_text(const std::vector<std::string>& command, const CommandResult& result);

/// The command that runs `program` under valgrind with these options. Our engine restarts itself to apply settings that
/// libraries read before main (engine/train/process_settings.h), and valgrind would lose it. The command therefore sets
/// them in advance.
std::vector<std::string> valgrind_command(const std::vector<std::string>& options,
                                          const std::vector<std::string>& program);

}  // namespace nanobench::core
