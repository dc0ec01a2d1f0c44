/// Runs one command to its end and measures it: wall time, CPU times, peak memory. Linux. Not thread-safe: owns the
/// process's children meanwhile.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/process/child_process.h"
#include "core/process/group_guard.h"
#include "core/process/streams.h"
#include "suites/bench/running_time.h"
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
  double wall_ms = 0.0;  ///< from before the process was made to its end, without pauses
  int turns = 1;
  core::ProcessExit exit;
  std::string out, err;  ///< the end, at most kMaxKeptOutput bytes; `out` only with keeps_output
};

inline constexpr std::size_t kMaxKeptOutput = std::size_t{1} << 20;
inline constexpr double kEndGraceSeconds = 2.0;  ///< between SIGTERM, or SIGINT for Ctrl-C, and SIGKILL

/// A command that runs, or is paused between two turns. Several may be alive at once, and one of them running.
class TimedRun {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts the command. What becomes of it and its process group if we are killed is up to `guard`, which may be null:
  /// then the kernel ends the program, which must not be paused.
  TimedRun(const TimedCommand& command, InterruptGuard& interrupts, const core::GroupGuard* guard = nullptr,
           int earlier_signals = 0);
  /// Ends what has not ended.
  ~TimedRun();
  TimedRun(const TimedRun&) = delete;
  TimedRun& operator=(const TimedRun&) = delete;

  /// Runs it to its end, or for a turn, after which its process group is paused. Returns whether it has ended; whatever
  /// it left behind in its group has ended then. A signal that the guard received ends it. `on_tick` is called about
  /// ten times a second. Time counts while it runs, also against its timeout.
  bool run(const std::function<void()>& on_tick,
           const std::optional<std::chrono::duration<double>>& turn = std::nullopt);
  /// After a signal to us: continues it, and asks it to end without waiting for that; run() waits.
  void end_on_interrupt();
  /// Once it has ended.
  const TimedResult& result() const { return result_; }

 private:
  Clock::time_point resume();
  std::chrono::duration<double> time_to_wait(Clock::time_point began,
                                             const std::optional<std::chrono::duration<double>>& turn) const;
  void finish(const core::ProcessExit& exit, Clock::time_point now);
  bool has_pipes() const;
  std::vector<int> descriptors();
  bool read_some();
  bool read_from(core::Fd& pipe, core::TextTail& kept, int ours) const;
  void check_stop(Clock::time_point now);
  void stop(TimedStop reason, int signal, Clock::time_point now);

  const TimedCommand& command_;
  InterruptGuard& interrupts_;
  const core::GroupGuard* guard_;
  int earlier_signals_;
  core::Fd nowhere_;
  core::ChildProcess child_;
  core::Fd watch_;
  core::TextTail out_{kMaxKeptOutput / 2}, err_{kMaxKeptOutput / 2};
  RunningTime time_;
  bool has_ended_ = false;
  TimedResult result_;
  Clock::time_point kill_at_;
  Clock::time_point ticked_ = Clock::now();
};

/// Runs it from its start to its end. A signal that the guard received ends the command, except for `earlier_signals`
/// of them.
TimedResult run_timed(const TimedCommand& command, InterruptGuard& interrupts, const std::function<void()>& on_tick,
                      int earlier_signals = 0);

/// Why it did not succeed, in one sentence without its end: "exit code 3; its last words: no such file". Empty for
/// success.
std::string failure_of(const TimedCommand& command, const TimedResult& result);

}  // namespace nanobench::suites
