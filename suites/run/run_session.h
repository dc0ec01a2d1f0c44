/// One run from start to stored result: starts the engine, reads its events, watches limits and signals, classifies the
/// end. Private to suites/.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "suites/run/engine_process.h"
#include "suites/run/interrupt.h"
#include "suites/run/marked_processes.h"
#include "suites/run/run_recorder.h"
#include "suites/run/runner.h"

namespace nanobench::suites {

class RunSession {
 public:
  RunSession(const Plan& plan, const PlannedRun& run, std::int64_t run_id, results::Store& store,
             const RunnerOptions& options, InterruptGuard& interrupts, RunnerObserver& observer);

  /// Returns when the engine has ended and its result is stored. Throws Error if the store fails; the engine is then
  /// dead.
  results::RunResult execute();

 private:
  using Clock = std::chrono::steady_clock;

  void wait();
  /// Each reads one piece; false if nothing is available now.
  bool read_events();
  bool read_output();
  void handle_line(std::string_view line);
  void check_interrupts();
  void check_limits();
  void check_grace();
  /// Asks the engine to stop; a second call does nothing.
  void stop(StopReason reason, std::string message, int signal);
  RunEnd end_of(const core::ProcessExit& exit) const;
  results::RunResult result_of(const core::ProcessExit& exit) const;

  const Plan& plan_;
  const PlannedRun& run_;
  const RunnerOptions& options_;
  InterruptGuard& interrupts_;
  RunnerObserver& observer_;
  RunRecorder recorder_;
  MarkedProcesses strays_;  ///< processes of an external trainer; killed after the engine, whatever happens
  EngineProcess engine_;
  core::LineCutter lines_;  ///< lines of events
  core::TextTail output_;
  std::int64_t line_ = 0;
  bool is_ignoring_events_ = false;  ///< after an unreadable line
  bool is_killed_ = false;
  StopReason stop_ = StopReason::kNone;
  std::string stop_message_;
  std::optional<Clock::time_point> kill_at_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point heard_ = Clock::now();
  Clock::time_point ticked_ = Clock::now();
  std::optional<std::int64_t> oom_kills_before_ = oom_kills();
};

}  // namespace nanobench::suites
