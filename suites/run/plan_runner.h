/// One plan in progress: claims its runs, starts them, counts how they end. Private to suites/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/provenance.h"
#include "suites/run/interrupt.h"
#include "suites/run/outdated_runs.h"
#include "suites/run/run_session.h"
#include "suites/run/runner.h"

namespace nanobench::suites {

/// The finished run that answers a line of a stored plan.
std::optional<results::RunRecord> evidence_of(const results::Store& store, const results::PlanLine& line);

/// What try_claim() found.
struct ClaimAnswer {
  enum class Kind { kClaimed, kAnswered, kBusy } kind = Kind::kAnswered;
  std::int64_t run_id = 0;                    ///< the new row
  std::optional<results::RunRecord> other{};  ///< the run that is in the way
};

/// Keeps references to all but the id. Not thread-safe.
class PlanRunner {
 public:
  /// `plan_id`: the plan in the store; nullopt for runs that belong to none, such as pilots.
  PlanRunner(const Plan& plan, std::optional<std::int64_t> plan_id, results::Store& store, const RunnerOptions& options,
             RunnerObserver& observer, InterruptGuard& interrupts);

  /// Announces the plan, and which of its runs have an answer.
  void begin();
  /// Whether its runs have the machine to themselves, alone or in turns, and so give times.
  bool is_timed() const { return options_.jobs == 1; }
  std::size_t size() const { return plan_.runs.size(); }
  std::uint64_t seed(std::size_t index) const { return plan_.runs[index].seed; }

  const std::string& digest(std::size_t index) const { return plan_.runs[index].digest; }
  const Plan& plan() const { return plan_; }
  /// Whether the run has no answer yet.
  bool is_to_do(std::size_t index) const { return !has_answer_.at(index); }
  bool has_work() const { return std::find(has_answer_.begin(), has_answer_.end(), false) != has_answer_.end(); }
  /// REQUIRES a plan in the store.
  std::int64_t plan_id() const { return plan_id_.value(); }

  /// The id of a new row for run `index`, which is then ours to execute. nullopt: the run has an answer already, which
  /// may have come from another runner while this one waited, or its cell is given up, or the user has interrupted.
  std::optional<std::int64_t> claim(std::size_t index);
  /// The same without waiting, and without the warm-ups that claim() makes first: kBusy while another runner is in the
  /// way.
  ClaimAnswer try_claim(std::size_t index);
  /// Before a run that is to do: fills the caches of its cell.
  void prepare_caches(std::size_t index, const EnginePlace& place = {});
  /// Starts the engine of a claimed run.
  std::unique_ptr<RunSession> start(std::size_t index, std::int64_t run_id, const EnginePlace& place = {});
  /// Runs `index` alone, until it has an answer. Throws as run_plan() does.
  void run_alone(std::size_t index, const EnginePlace& place = {});
  /// Call when the session has ended. Returns the stored run.
  results::RunRecord end(std::size_t index, std::int64_t run_id);
  /// What one run needs at most, as far as pilots have shown.
  std::optional<std::int64_t> peak_bytes() const { return peak_bytes_; }
  void add_peak(std::optional<std::int64_t> bytes) { peak_bytes_ = std::max(peak_bytes_, bytes); }
  /// Tells that this run of another process is in the way.
  void say_waiting(const results::RunRecord& other);
  /// Tells once that the engine takes no turns.
  void say_without_turns();
  /// A run of the cell has failed. After the second failure of the same kind, its other runs are left out.
  bool fails_as_a_whole(const std::string& kind);
  void add_failure(const std::string& cell, const results::RunResult& result);
  /// After an error of our own, the row must not look as if it were running. If even that cannot be written, the next
  /// runner notices that our process has ended.
  void give_up(std::int64_t run_id, const char* why) noexcept;

  SuiteRunResult finish();

 private:
  void find_answers(OutdatedRuns& outdated);
  /// Whether finished runs of other plans may answer it: not if they were asked for anew, or if a change of the trainer
  /// would not be noticed.
  void count(const results::RunResult& result);

  const Plan& plan_;
  results::Store& store_;
  const RunnerOptions& options_;
  RunnerObserver& observer_;
  InterruptGuard& interrupts_;
  std::optional<std::int64_t> plan_id_;
  std::vector<bool> has_answer_;                       ///< by index, when the plan began
  std::set<std::size_t> cold_;                         ///< cells whose warm-up has failed
  std::map<std::size_t, results::RunRecord> answers_;  ///< by position
  std::map<std::string, std::string> failures_;        ///< how the cell failed last
  std::set<std::string> given_up_;                     ///< cells
  const results::Owner owner_ = results::this_process();
  SuiteRunResult result_;
  std::optional<std::int64_t> peak_bytes_;
  bool has_said_without_turns_ = false;
};

}  // namespace nanobench::suites
