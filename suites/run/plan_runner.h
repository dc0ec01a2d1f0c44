/// One plan in progress: claims its runs, starts them, counts how they end. Private to suites/.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "results/provenance.h"
#include "suites/run/interrupt.h"
#include "suites/run/run_session.h"
#include "suites/run/runner.h"

namespace nanobench::suites {

/// The finished run that answers a line of a stored plan.
std::optional<results::RunRecord> evidence_of(const results::Store& store, const results::PlanLine& line);

/// Keeps references to all but the id. Not thread-safe.
class PlanRunner {
 public:
  PlanRunner(const Plan& plan, std::int64_t plan_id, results::Store& store, const RunnerOptions& options,
             RunnerObserver& observer, InterruptGuard& interrupts);

  /// Announces the plan, and which of its runs have an answer.
  void begin();
  std::size_t size() const { return plan_.runs.size(); }
  std::uint64_t seed(std::size_t index) const { return plan_.runs[index].seed; }

  const std::string& digest(std::size_t index) const { return plan_.runs[index].digest; }

  /// The id of a new row for run `index`, which is then ours to execute. nullopt: the run has an answer already, which
  /// may have come from another runner while this one waited, or the user has interrupted.
  std::optional<std::int64_t> claim(std::size_t index);
  /// Starts the engine of a claimed run. `takes_turns`: it may wait for turns (RunSession::grant_turn).
  std::unique_ptr<RunSession> start(std::size_t index, std::int64_t run_id, bool takes_turns);
  /// Call when the session has ended.
  void end(std::size_t index, std::int64_t run_id);
  /// Tells once that the engine takes no turns.
  void say_without_turns();
  /// After an error of our own, the row must not look as if it were running. If even that cannot be written, the next
  /// runner notices that our process has ended.
  void give_up(std::int64_t run_id, const char* why) noexcept;

  SuiteRunResult finish();

 private:
  void find_answers();
  void say_waiting(const results::RunRecord& other);
  void count(const results::RunResult& result);

  const Plan& plan_;
  results::Store& store_;
  const RunnerOptions& options_;
  RunnerObserver& observer_;
  InterruptGuard& interrupts_;
  std::map<std::size_t, results::RunRecord> answers_;  ///< by position
  const results::Owner owner_ = results::this_process();
  SuiteRunResult result_;
  bool has_said_without_turns_ = false;
};

}  // namespace nanobench::suites
