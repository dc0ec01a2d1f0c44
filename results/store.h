/// The SQLite store of runs, samples and plans. Opening migrates the schema; every writing call is one transaction
/// (BEGIN IMMEDIATE), so no other process, and no reader after a kill -9, ever sees half of one. Samples and finished
/// runs are never overwritten.
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

#include "results/loaded_files.h"
#include "results/records.h"

namespace nanobench::results {

class Database;

/// The schema this build writes (`PRAGMA user_version`) and the mark of our files (`PRAGMA application_id`).
inline constexpr int kSchemaVersion = 6;
inline constexpr int kApplicationId = 0x6e616e6f;  // "nano"

enum class OpenMode {
  kCreate,    ///< read and write; created, with its folder, if absent
  kReadOnly,  ///< must exist
  kGlance,    ///< like kReadOnly, for a brief look: gives up within a second if another process holds the lock
};

/// Selects runs: every member that is set must match. Rows are returned in ascending order of id.
struct RunFilter {
  std::vector<std::int64_t> ids;
  std::optional<std::string> suite;
  std::optional<std::string> cell;
  std::optional<std::string> digest;
  std::optional<std::string> scale;
  std::optional<std::int64_t> plan_id;
  std::optional<core::RunOutcome> outcome;
  bool is_running = false;            ///< only rows without an outcome
  std::optional<std::int64_t> limit;  ///< only the newest N
};

/// Answers of claim_run.
struct Claimed {
  std::int64_t run_id = 0;              ///< new running row, owned by the caller
  std::vector<std::int64_t> damaged{};  ///< finished runs of the same digest that do not match their checksums
};
struct AlreadyDone {
  RunRecord run;  ///< finished evidence of the same digest
};
struct AlreadyRunning {
  RunRecord run;  ///< run that a live process is working on
};
using RunClaim = std::variant<Claimed, AlreadyDone, AlreadyRunning>;

/// What a finished run must have to be an answer.
struct EvidenceNeed {
  bool times = true;                      ///< no other run was beside it
  std::vector<std::string> metrics = {};  ///< tags that a completed run must have; one that diverged has none to have
  std::map<std::string, std::string> facts = {};  ///< such as the items that it answered
  /// A trainer's folder: no file from elsewhere that the run loaded has changed since (loaded_files.h).
  std::optional<std::filesystem::path> trainer_folder = {};
};

/// What is stored with a baseline's name.
struct BaselineNotes {
  std::string reason;
  std::string revision;
  bool is_accepted = false;
};

/// What vacuum() did. Bytes include the file and its side files.
struct VacuumResult {
  std::int64_t bytes_before = 0;
  std::int64_t bytes_after = 0;
  std::int64_t summaries_made = 0;
};

/// Whether the file starts with SQLite's header; false if it cannot be read.
bool is_database(const std::filesystem::path& file);

class Store {
 public:
  /// Throws Error: kIo (folder, no permission, read-only, full disk), kDataLoss (corrupt), kConflict (another program's
  /// database), kUnavailable (a newer schema), kNotFound (read-only and absent). The file is left as it was.
  explicit Store(const std::filesystem::path& file, OpenMode mode = OpenMode::kCreate);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const std::filesystem::path& file() const { return file_; }

  // --- plans ---
  /// The newest plan with this digest, or nullopt. Newest by creation time, because merged plans get new ids.
  std::optional<PlanRecord> find_plan(const std::string& digest) const;
  /// The plan (of this suite) that was last created or asked for by ensure_plan.
  std::optional<PlanRecord> newest_plan(const std::optional<std::string>& suite = std::nullopt) const;
  std::vector<PlanRecord> plans(const std::optional<std::string>& suite = std::nullopt) const;
  /// Throws Error{kNotFound}.
  PlanRecord plan(std::int64_t id) const;
  /// The id of the newest plan with this digest, which becomes the newest of all. Creates the plan if there is none, or
  /// if `is_fresh`.
  std::int64_t ensure_plan(const NewPlan& plan, bool is_fresh = false);
  /// The same for several plans that belong together: all are created, or none.
  std::vector<std::int64_t> ensure_plans(const std::vector<NewPlan>& plans, bool is_fresh = false);
  /// Makes a plan that is worked on again the newest of all.
  void note_use(std::int64_t plan_id);
  /// What a run of each cell of the plan is expected to take, replacing what was expected before.
  void set_expected_seconds(std::int64_t plan_id, const std::map<std::string, double>& seconds);
  std::map<std::string, double> expected_seconds(std::int64_t plan_id) const;
  /// Makes this run the answer of the line, whatever answered it before. Throws Error{kNotFound} for an unknown line.
  void answer_line(std::int64_t plan_id, std::int64_t position, std::int64_t run_id);

  // --- runs, writing ---
  /// Atomically finds finished evidence or a live process with the same digest, or else creates a running row owned by
  /// `owner`. With `is_machine_ours`, a run that any live process on this machine is working on counts as the other
  /// one, because timed runs need the machine to themselves; those of `owner` take turns. Running rows of this digest
  /// whose owner has died first become `interrupted`. `is_fresh` ignores finished evidence. The plan line (plan_id,
  /// position), if given, is answered by the resulting run. Evidence that lacks what is needed does not count.
  RunClaim claim_run(const NewRun& run, const Owner& owner, bool is_fresh = false, bool is_machine_ours = false,
                     const EvidenceNeed& need = {});
  /// A run that some process is working on now, as far as can be determined.
  std::optional<RunRecord> living_run() const;
  /// Marks every running row whose owner has died as interrupted; returns their number.
  std::int64_t release_dead_runs();
  /// Adds a batch and updates the owner's heartbeat. Throws Error{kConflict} if the run already has a sample for a
  /// (metric, step) of the batch; nothing is then written.
  void add_batch(std::int64_t run_id, const RunBatch& batch);
  void add_samples(std::int64_t run_id, const std::vector<NewSample>& samples);
  /// Stores each distinct set of facts once and links the run to it. Returns the environment's id.
  std::int64_t set_environment(std::int64_t run_id, const std::map<std::string, std::string>& facts);
  /// Writes the last batch, the result and the summary in one transaction. Throws Error{kConflict} if the run already
  /// has a result.
  void finish_run(std::int64_t run_id, const RunResult& result, const RunBatch& last = {});
  /// Creates the summaries that completed runs of older versions lack; returns their number.
  std::int64_t complete_summaries();

  // --- upkeep ---
  /// Creates what older versions lack, and returns unused space to the disk. Throws Error{kConflict} while a live
  /// runner is working on this database.
  VacuumResult vacuum();
  /// Adds runs that ended elsewhere, in one transaction. A run whose digest already has a finished row, however it
  /// ended, is not added again. Returns one answer per run.
  std::vector<AddedRun> add_finished_runs(const std::vector<FinishedRun>& runs, const Owner& owner);

  // --- reading ---
  /// The newest completed or diverged run with this digest that has what is needed.
  std::optional<std::int64_t> find_evidence(const std::string& digest, const EvidenceNeed& need = {}) const;
  std::vector<RunRecord> runs(const RunFilter& filter = {}) const;
  /// Throws Error{kNotFound}.
  RunRecord run(std::int64_t id) const;
  /// In ascending order of step; empty if there are none.
  std::vector<Sample> samples(std::int64_t run_id, const std::string& metric) const;
  /// Mean milliseconds of each phase over the run's timed steps, by phase name ("forward"). A step is timed if it has a
  /// training clock.
  std::map<std::string, double> phase_means(std::int64_t run_id) const;
  /// Tags of the run's metrics, sorted.
  std::vector<std::string> metrics(std::int64_t run_id) const;
  /// The summary of a completed run, stored when it finished. For runs of older versions without one, it is computed
  /// from the samples, and stored if the store is open for writing.
  RunSummary summary(std::int64_t run_id) const;
  std::vector<RunMessage> messages(std::int64_t run_id) const;
  std::optional<EnvironmentRecord> environment(std::int64_t environment_id) const;
  std::map<std::string, std::string> run_facts(std::int64_t run_id) const;
  /// A file from elsewhere that the run of a trainer in this folder loaded, and that is no longer as it was.
  std::optional<ChangedFile> changed_file(std::int64_t run_id, const std::filesystem::path& trainer_folder) const;

  // --- watching ---
  // Small queries for a display that polls every second while others write. Each uses an index.

  /// Rows without an outcome, in ascending order of id.
  std::vector<RunningRun> running() const;
  /// The id of newest_plan().
  std::optional<std::int64_t> newest_plan_id(const std::optional<std::string>& suite = std::nullopt) const;
  /// In ascending order of position.
  std::vector<PlanAnswer> answers(std::int64_t plan_id) const;
  /// nullopt if there is no such run.
  std::optional<RunGlance> glance(std::int64_t run_id) const;
  /// The samples after `step`, ascending.
  std::vector<Sample> samples_after(std::int64_t run_id, const std::string& metric, std::int64_t step) const;

  // --- names ---
  // Small queries for a list of what could be typed; both newest first.
  /// In the order of newest_plan().
  std::vector<PlanName> newest_plan_names(std::int64_t limit) const;
  std::vector<RunName> newest_run_names(std::int64_t limit) const;

  // --- baselines ---
  /// Names the plan. A name already used for another plan moves to this one. Throws Error{kNotFound} for an unknown
  /// plan.
  void set_baseline(const std::string& name, std::int64_t plan_id, const BaselineNotes& notes = {});
  std::optional<BaselineRecord> find_baseline(const std::string& name) const;
  /// Oldest first.
  std::vector<BaselineRecord> baselines(const std::optional<std::string>& suite = std::nullopt) const;

 private:
  /// A sign of life. Throws Error{kConflict} if the run is not running.
  void beat(std::int64_t run_id);

  std::filesystem::path file_;
  OpenMode mode_;
  std::unique_ptr<Database> database_;
  /// What a run's record copies from its environment.
  struct EngineFacts {
    std::string gpu;
    std::string seat;
    std::optional<core::StepParts> no_kernel_for;
  };
  static EngineFacts engine_facts(const std::string& facts);
  void add_engine_facts(RunRecord& run) const;

  mutable std::map<std::int64_t, EngineFacts> engine_facts_;  ///< by environment, which never changes
  mutable LoadedFiles loaded_files_;
};

/// `--db` if given, else $NANOBENCH_DB, else results/nanobench.db under `source_root`.
std::filesystem::path default_store_file(const std::optional<std::string>& option,
                                         const std::filesystem::path& source_root);

}  // namespace nanobench::results
