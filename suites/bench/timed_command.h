/// Runs one command to its end and measures it: wall time, CPU times, peak memory. Linux. Not thread-safe: owns the
/// process's children meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/process/child_process.h"
#include "suites/run/interrupt.h"

namespace nanobench::suites {

struct TimedCommand {
  std::vector<std::string> words;
  std::string input;          ///< file that is its standard input; empty: nothing
  bool shows_output = false;  ///< its output goes to ours
  bool keeps_output = false;  ///< its output is returned; else standard output is discarded
  double timeout_s = 0.0;     ///< it is ended after this time
};

/// Why it was ended before its own end.
enum class TimedStop { kNone, kTimeout, kInterrupt };

struct TimedResult {
  int start_error = 0;  ///< errno of a program that could not be started; then nothing else is meaningful
  TimedStop stop = TimedStop::kNone;
  double wall_ms = 0.0;  ///< from before the process was made to its end
  core::ProcessExit exit;
  std::string out, err;  ///< the end, at most kMaxKeptOutput bytes; `out` only with keeps_output
};

inline constexpr std::size_t kMaxKeptOutput = std::size_t{1} << 20;
inline constexpr double kEndGraceSeconds = 2.0;  ///< between SIGTERM, or SIGINT for Ctrl-C, and SIGKILL

/// Returns when the program has ended; whatever it left behind in its process group is ended then. `on_tick` is called
/// about ten times a second. A signal that the guard received ends the command, except for `earlier_signals` of them.
TimedResult run_timed(const TimedCommand& command, InterruptGuard& interrupts, const std::function<void()>& on_tick,
                      int earlier_signals = 0);

/// Why it did not succeed, in one sentence without its end: "exit code 3; its last words: no such file". Empty for
/// success.
std::string failure_of(const TimedCommand& command, const TimedResult& result);

}  // namespace nanobench::suites
