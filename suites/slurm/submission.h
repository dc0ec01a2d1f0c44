/// What is known about the jobs that a plan was submitted in. It is kept in the shared folder, so that the submitter
/// can be killed at any moment and the same command finds the jobs again. Internal to suites.
///
/// One folder per plan:
///   state.json            the submissions, replaced as a whole
///   plan.json, plan.db    for the tasks: what to run, and the plan's row that their results belong to
///   queue                 Slurm's last report about the tasks, for display
///   submit-N/job.sh       what Slurm starts; log/INDEX holds a task's output
///   submit-N/tasks.json   the runs of each array index
///   submit-N/started/P    the run at position P has started; names the node
///   submit-N/progress/P   its progress, for display (progress_file.h)
///   submit-N/results/P.db its result: a store with one run
///   submit-N/abandoned    tasks that start now must not run: sbatch never reported them
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace nanobench::suites {

struct Submission {
  int number = 0;                               ///< from 1
  std::string name;                             ///< unique name of the job: nanobench-0123456789abcdef-1
  std::optional<std::string> job_id;            ///< absent: sbatch has not answered yet
  bool is_abandoned = false;                    ///< sbatch refused, or the submitter died before its answer
  std::vector<std::vector<std::size_t>> tasks;  ///< positions in the plan, by array index
};

struct SlurmState {
  std::string plan_digest;
  std::string plan_made_at;     ///< created_at of the plan's row
  bool is_fresh = false;        ///< earlier finished runs do not count
  std::int64_t kept_seeds = 0;  ///< but those of the plan's first seeds do
  std::vector<Submission> submissions;

  /// How often the run was submitted.
  int times_submitted(std::size_t position) const;
};

core::Json to_json(const SlurmState& state);
/// Throws Error{kDataLoss} if this is not the state of a plan with this number of runs.
SlurmState read_state(const core::Json& value, const std::string& source, std::size_t runs);

/// Paths of its files.
class PlanFolder {
 public:
  explicit PlanFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path state_file() const { return folder_ / "state.json"; }
  std::filesystem::path plan_file() const { return folder_ / "plan.json"; }
  std::filesystem::path queue_file() const { return folder_ / "queue"; }
  std::filesystem::path lock_file() const { return folder_.string() + ".lock"; }  ///< names the submitter
  std::filesystem::path plan_store() const { return folder_ / "plan.db"; }
  std::filesystem::path submission(int number) const { return folder_ / ("submit-" + std::to_string(number)); }

 private:
  std::filesystem::path folder_;
};

/// The same for one submission, as its tasks also see it.
class SubmissionFolder {
 public:
  explicit SubmissionFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& path() const { return folder_; }
  PlanFolder plan() const { return PlanFolder(folder_.parent_path()); }
  std::filesystem::path script() const { return folder_ / "job.sh"; }
  std::filesystem::path tasks_file() const { return folder_ / "tasks.json"; }
  std::filesystem::path abandoned() const { return folder_ / "abandoned"; }
  std::filesystem::path progress(std::size_t position) const { return folder_ / "progress" / std::to_string(position); }
  std::filesystem::path starts() const { return folder_ / "started"; }
  std::filesystem::path results() const { return folder_ / "results"; }
  std::filesystem::path log(std::size_t index) const { return folder_ / "log" / std::to_string(index); }
  std::filesystem::path started(std::size_t position) const { return starts() / std::to_string(position); }
  std::filesystem::path result(std::size_t position) const { return results() / (std::to_string(position) + ".db"); }
  /// Creates the folder and the folders that are written to later. Throws Error{kIo}.
  void make() const;

 private:
  std::filesystem::path folder_;
};

/// Whether this could be a Slurm job id.
bool is_job_id(const std::string& text);

/// Tasks of a submission as a file, for the nodes.
core::Json tasks_json(const std::vector<std::vector<std::size_t>>& tasks);
/// Throws Error{kDataLoss}.
std::vector<std::vector<std::size_t>> read_tasks(const core::Json& value, const std::string& source, std::size_t runs);

}  // namespace nanobench::suites
