/// One run from start to stored result: starts the engine, reads its events, grants turns, watches limits and signals,
/// classifies the end. Private to suites/.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/host_load.h"
#include "results/run_log.h"
#include "suites/run/engine_process.h"
#include "suites/run/interrupt.h"
#include "suites/run/kept_weights.h"
#include "suites/run/marked_processes.h"
#include "suites/run/output_log.h"
#include "suites/run/python_modules.h"
#include "suites/run/run_recorder.h"
#include "suites/run/runner.h"

namespace nanobench::suites {

/// Throws Error{kIncomplete} if a file of the external trainer is no longer the one that was planned. Call before the
/// run starts; does nothing for other engines.
void check_trainer(const Plan& plan, const PlannedRun& run);

class RunSession {
 public:
  /// The adapter of an external trainer never takes turns. The run keeps no times if others run beside it.
  RunSession(const Plan& plan, const PlannedRun& run, std::int64_t run_id, results::Store& store,
             const RunnerOptions& options, InterruptGuard& interrupts, RunnerObserver& observer,
             const EnginePlace& place);

  /// Returns when the engine waits for a turn, or when it has ended and its result is stored (true). Throws Error if
  /// the store fails; the engine is then dead.
  bool run_until_turn();
  /// Takes in what the engine has said by now, without waiting for more. Returns and throws as run_until_turn().
  bool proceed();
  /// Waits until one of the engines says something, the user interrupts, or a tenth of a second has passed. An exit is
  /// noticed with the same delay if a child of the engine keeps its pipes open.
  static void wait(const std::vector<RunSession*>& sessions, const InterruptGuard& interrupts);
  /// Calls the observer's on_tick() about twice a second.
  void tick();
  /// REQUIRES that the engine waits. Lets it take the steps before `until`. `place` among its block's turns: see
  /// results::kTurn.
  void grant_turn(double place, std::int64_t until);
  /// A fact about the run, known while it is in progress.
  void add_fact(const std::string& name, const std::string& value) { recorder_.add_facts({{name, value}}); }
  /// Its engine has spoken, and takes no turns. One that continues a run takes none either, but could.
  bool refuses_turns() const { return recorder_.has_hello() && !turn_steps_ && !weights_.resume_file; }
  /// The engine's own number of steps; absent if it takes no turns.
  std::optional<std::int64_t> turn_steps() const { return turn_steps_; }
  /// UUID of its GPU, as the engine told it; empty before that, and on processors.
  const std::string& gpu_uuid() const { return gpu_uuid_; }

 private:
  /// Throws Error{kIncomplete} if the engine is no longer the one that was planned.
  void check_engine();
  using Clock = std::chrono::steady_clock;

  void finish();
  /// Each reads one piece; false if nothing is available now.
  bool read_events();
  bool read_output();
  bool read_stream(core::Fd& stream, std::optional<OutputLog>& log);
  /// The files of a run that failed stay, and become facts of it.
  void end_logs(core::RunOutcome outcome);
  void handle_line(std::string_view line);
  void check_interrupts();
  void check_limits();
  /// Time that the engine has had, without its waits for turns.
  std::chrono::steady_clock::duration used() const;
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
  EnginePlace place_;
  KeptWeights weights_;
  RunRecorder recorder_;
  results::SpanFacts load_;  ///< of its turns
  MarkedProcesses strays_;   ///< processes of an external trainer; killed after the engine, whatever happens
  std::optional<PythonModules> modules_;  ///< of an external trainer
  EngineProcess engine_;
  core::LineCutter lines_;  ///< lines of events
  core::TextTail output_;   ///< of both streams, in the order in which they arrive
  const core::Fd* last_stream_ = nullptr;
  results::RunLogFiles log_files_;
  std::optional<OutputLog> out_log_, err_log_;  ///< absent if the runner keeps no logs
  std::int64_t line_ = 0;
  bool is_ignoring_events_ = false;  ///< after an unreadable line
  bool is_killed_ = false;
  StopReason stop_ = StopReason::kNone;
  std::string stop_message_;
  std::optional<Clock::time_point> kill_at_;
  std::optional<std::int64_t> turn_steps_;
  std::string gpu_uuid_;
  bool is_waiting_ = false;  ///< for a turn
  bool has_last_turn_ = false;
  std::optional<core::ProcessExit> exit_;
  Clock::duration used_before_{0};            ///< in earlier turns
  Clock::time_point started_ = Clock::now();  ///< of this turn
  Clock::time_point heard_ = Clock::now();
  Clock::time_point ticked_ = Clock::now();
  std::optional<std::int64_t> oom_kills_before_ = oom_kills();
};

}  // namespace nanobench::suites
