/// The SQLite store of runs, samples and plans. Opening migrates the schema; every writing call is one transaction
/// (BEGIN IMMEDIATE), so another process or a kill -9 never sees half of it. Samples and finished runs are never
/// overwritten.
///
/// Not thread-safe: one Store per thread. Any number of processes may share one file. Columns: SCHEMA.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "results/records.h"

namespace nanobench::results {

class Database;

/// The schema this build writes (`PRAGMA user_version`) and the mark of our files (`PRAGMA application_id`).
inline constexpr int kSchemaVersion = 3;
inline constexpr int kApplicationId = 0x6e616e6f;  // "nano"

enum class OpenMode {
  kCreate,    ///< read and write; made, with its folder, when absent
  kReadOnly,  ///< must exist
  kGlance,    ///< as kReadOnly, for a moment: gives up within a second where another process holds the file locked
};

/// Which runs: every set member must hold. Rows come in ascending id.
struct RunFilter {
  std::vector<std::int64_t> ids;
  std::optional<std::string> suite;
  std::optional<std::string> cell;
  std::optional<std::string> digest;
  std::optional<std::string> scale;
  std::optional<std::int64_t> plan_id;
  std::optional<core::RunOutcome> outcome;
  bool is_running = false;            ///< only rows without an outcome
  std::optional<std::int64_t> limit;  ///< the newest so many
};

/// Answers of claim_run.
struct Claimed {
  std::int64_t run_id = 0;  ///< a new running row, ours
};
struct AlreadyDone {
  RunRecord run;  ///< finished evidence of the same digest
};
struct AlreadyRunning {
  RunRecord run;  ///< what a living process works on
};
using RunClaim = std::variant<Claimed, AlreadyDone, AlreadyRunning>;

/// What is kept with a baseline's name.
struct BaselineNotes {
  std::string reason;
  std::string revision;
  bool is_accepted = false;
};

/// What vacuum() did. Bytes are those of the file and its side files.
struct VacuumResult {
  std::int64_t bytes_before = 0;
  std::int64_t bytes_after = 0;
  std::int64_t summaries_made = 0;
};

/// Whether the file begins as SQLite's do; false for one that cannot be read.
bool is_database(const std::filesystem::path& file);

class Store {
 public:
  /// Throws Error: kIo (folder, no permission, read-only, full disk), kDataLoss (corrupt), kConflict (a database of
  /// another program), kUnavailable (a newer schema), kNotFound (read-only and absent). The file is left as it was.
  explicit Store(const std::filesystem::path& file, OpenMode mode = OpenMode::kCreate);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const std::filesystem::path& file() const { return file_; }

  // --- plans ---
  /// The newest plan of this digest, or nullopt. Newest by the time of day: merged plans have numbers of their own.
  std::optional<PlanRecord> find_plan(const std::string& digest) const;
  /// The newest plan (of this suite).
  std::optional<PlanRecord> newest_plan(const std::optional<std::string>& suite = std::nullopt) const;
  std::vector<PlanRecord> plans(const std::optional<std::string>& suite = std::nullopt) const;
  /// Throws Error{kNotFound}.
  PlanRecord plan(std::int64_t id) const;
  /// The id of the newest plan of this digest; made when there is none, or when `is_fresh`.
  std::int64_t ensure_plan(const NewPlan& plan, bool is_fresh = false);
  /// The same for several that belong together: they are made at once or not at all.
  std::vector<std::int64_t> ensure_plans(const std::vector<NewPlan>& plans, bool is_fresh = false);
  /// The line is answered by this run, whatever answered it before. Throws Error{kNotFound} for an unknown line.
  void answer_line(std::int64_t plan_id, std::int64_t position, std::int64_t run_id);

  // --- runs, writing ---
  /// Atomically: finds finished evidence or a living process with the same digest, else makes a running row that
  /// `owner` owns. With `is_machine_ours`, any run that a living process of this machine works on counts as the other
  /// one: timed runs have the machine to themselves. Running rows of this digest whose owner is gone become
  /// `interrupted` first. `is_fresh` ignores finished evidence. The line of the plan (plan_id, position), when given,
  /// is answered by whichever run it is.
  RunClaim claim_run(const NewRun& run, const Owner& owner, bool is_fresh = false, bool is_machine_ours = false);
  /// A run that somebody works on now, as far as can be told.
  std::optional<RunRecord> living_run() const;
  /// Marks every running row whose owner is gone as interrupted; returns how many.
  std::int64_t release_dead_runs();
  /// Adds a batch and notes that the owner lives. Throws Error{kConflict} when a (metric, step) of the run is there
  /// already; then nothing is written.
  void add_batch(std::int64_t run_id, const RunBatch& batch);
  void add_samples(std::int64_t run_id, const std::vector<NewSample>& samples);
  /// Stores the facts once per distinct set and names the set in the run.
  std::int64_t set_environment(std::int64_t run_id, const std::map<std::string, std::string>& facts);
  /// Last batch, the result and the summary in one transaction. Throws Error{kConflict} when the run has a result
  /// already.
  void finish_run(std::int64_t run_id, const RunResult& result, const RunBatch& last = {});
  /// Makes the summaries that completed runs of older versions lack; returns how many.
  std::int64_t complete_summaries();

  // --- upkeep ---
  /// Makes what older versions lack, and gives unused space back to the disk. Throws Error{kConflict} while a living
  /// runner works on this database.
  VacuumResult vacuum();
  /// Runs that ended elsewhere, in one transaction. A digest that has a finished row, however it ended, is not added
  /// again. One answer for each run.
  std::vector<AddedRun> add_finished_runs(const std::vector<FinishedRun>& runs, const Owner& owner);

  // --- reading ---
  /// The newest completed or diverged run of this digest.
  std::optional<std::int64_t> find_evidence(const std::string& digest) const;
  std::vector<RunRecord> runs(const RunFilter& filter = {}) const;
  /// Throws Error{kNotFound}.
  RunRecord run(std::int64_t id) const;
  /// Ascending steps; empty when there is none.
  std::vector<Sample> samples(std::int64_t run_id, const std::string& metric) const;
  /// Mean over the timed steps of each of the run's phases, milliseconds, by the phase's name ("forward"). A step is
  /// timed when it has a training clock.
  std::map<std::string, double> phase_means(std::int64_t run_id) const;
  /// Tags of the metrics that the run has, sorted.
  std::vector<std::string> metrics(std::int64_t run_id) const;
  /// One metric over the runs that answer a plan: one set a cell, in the plan's cell order; completed runs only.
  std::vector<SampleSet> sample_sets(std::int64_t plan_id, const std::string& metric) const;
  /// Of a completed run: stored when it finished. Where an older version did not, it is computed from the samples, and
  /// kept if the store is open for writing.
  RunSummary summary(std::int64_t run_id) const;
  std::vector<RunMessage> messages(std::int64_t run_id) const;
  std::optional<EnvironmentRecord> environment(std::int64_t environment_id) const;
  std::map<std::string, std::string> run_facts(std::int64_t run_id) const;

  // --- watching ---
  // Small queries for a display that asks every second while others write. Each finds its rows by an index.

  /// The rows without an outcome, in ascending id.
  std::vector<RunningRun> running() const;
  /// The number of newest_plan().
  std::optional<std::int64_t> newest_plan_id(const std::optional<std::string>& suite = std::nullopt) const;
  /// In ascending positions.
  std::vector<PlanAnswer> answers(std::int64_t plan_id) const;
  /// nullopt: there is no such run.
  std::optional<RunGlance> glance(std::int64_t run_id) const;
  /// The samples after `step`, ascending.
  std::vector<Sample> samples_after(std::int64_t run_id, const std::string& metric, std::int64_t step) const;

  // --- baselines ---
  /// Names the plan; a name that stands for another plan moves. Throws Error{kNotFound} for an unknown plan.
  void set_baseline(const std::string& name, std::int64_t plan_id, const BaselineNotes& notes = {});
  std::optional<BaselineRecord> find_baseline(const std::string& name) const;
  /// The oldest first.
  std::vector<BaselineRecord> baselines(const std::optional<std::string>& suite = std::nullopt) const;

 private:
  std::filesystem::path file_;
  OpenMode mode_;
  std::unique_ptr<Database> database_;
  /// What a run's record takes from its environment.
  struct EngineFacts {
    std::string gpu;
    std::optional<core::StepParts> no_kernel_for;
  };
  static EngineFacts engine_facts(const std::string& facts);
  void add_engine_facts(RunRecord& run) const;

  mutable std::map<std::int64_t, EngineFacts> engine_facts_;  ///< by environment, which never changes
};

/// `--db` when given, else $NANOBENCH_DB, else results/nanobench.db under `source_root`.
std::filesystem::path default_store_file(const std::optional<std::string>& option,
                                         const std::filesystem::path& source_root);

}  // namespace nanobench::results
