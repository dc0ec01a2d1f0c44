/// Hands tasks to sbatch, and finds again what an earlier submitter handed over. A kill at any moment leaves a state
/// from which nothing is submitted twice. Internal to suites.
#pragma once

#include <string>
#include <vector>

#include "suites/design/plan.h"
#include "suites/slurm/slurm_runner.h"
#include "suites/slurm/submission.h"

namespace nanobench::suites {

class Submitter {
 public:
  Submitter(const Plan& plan, const SlurmOptions& options, const PlanFolder& folder, SlurmState state)
      : plan_(plan), options_(options), folder_(folder), state_(std::move(state)) {}

  const SlurmState& state() const { return state_; }
  SubmissionFolder folder_of(const Submission& submission) const {
    return SubmissionFolder(folder_.submission(submission.number));
  }

  /// Finds out what became of submissions that sbatch never answered. Throws Error{kUnavailable} when Slurm is silent.
  void recover();

  /// The runs at these positions as one new job. Throws Error{kUnavailable} with sbatch's words when it refuses.
  const Submission& submit(const std::vector<std::size_t>& positions);

 private:
  std::vector<std::vector<std::size_t>> tasks_of(const std::vector<std::size_t>& positions) const;
  void save() const;
  void abandon(Submission& submission);
  /// From what the submission's tasks left; empty when none has begun.
  std::string job_id_by_marks(const Submission& submission) const;
  void call_sbatch(Submission& submission);

  const Plan& plan_;
  const SlurmOptions& options_;
  PlanFolder folder_;
  SlurmState state_;
};

}  // namespace nanobench::suites
