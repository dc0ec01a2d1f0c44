/// Submits tasks with sbatch: the command, the script that each task runs, and recovery of an earlier submitter's jobs.
/// A kill at any moment leaves a state from which nothing is submitted twice. Paths may hold blanks, quotes and percent
/// signs. Internal to suites.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "suites/design/plan.h"
#include "suites/slurm/slurm_runner.h"
#include "suites/slurm/submission.h"

namespace nanobench::suites {

struct JobRequest {
  std::string name;  ///< the job is found again by this name
  std::string partition;
  std::filesystem::path folder;    ///< folder of this submission; holds job.sh and log/
  std::size_t tasks = 1;           ///< array indices from 0
  std::optional<int> max_at_once;  ///< limit of the array
  int cpus = 1;                    ///< CPUs per task
  /// Each task has such a part of a node; absent: a node to itself.
  std::optional<SeatShare> share{};
  std::vector<std::string> options;  ///< the user's; they come last, so they take precedence
};

/// `program` is our own, `folder` the submission's; both paths as seen by the nodes.
std::string job_script(const std::filesystem::path& program, const std::filesystem::path& folder);

/// Each task gets a node to itself unless the options or its share say otherwise: timed runs share no machine.
std::vector<std::string> sbatch_command(const JobRequest& request);

/// Throws Error{kInvalidArgument} for anything that is not an option, and for options that we set ourselves.
void check_sbatch_options(const std::vector<std::string>& options);

class Submitter {
 public:
  Submitter(const Plan& plan, const SlurmOptions& options, const PlanFolder& folder, SlurmState state)
      : plan_(plan), options_(options), folder_(folder), state_(std::move(state)) {}

  const SlurmState& state() const { return state_; }
  SubmissionFolder folder_of(const Submission& submission) const {
    return SubmissionFolder(folder_.submission(submission.number));
  }

  /// Resolves submissions that sbatch never answered. Throws Error{kUnavailable} if Slurm does not answer.
  void recover();

  /// Submits the runs at these positions as one new job. Throws Error{kUnavailable} with sbatch's message if it
  /// refuses.
  const Submission& submit(const std::vector<std::size_t>& positions);

 private:
  std::vector<std::vector<std::size_t>> tasks_of(const std::vector<std::size_t>& positions) const;
  void save() const;
  void abandon(Submission& submission);
  /// From the files that the submission's tasks left; empty if none has started.
  std::string job_id_by_marks(const Submission& submission) const;
  void call_sbatch(Submission& submission);
  JobRequest request_of(const Submission& submission) const;

  const Plan& plan_;
  const SlurmOptions& options_;
  PlanFolder folder_;
  SlurmState state_;
};

}  // namespace nanobench::suites
