/// A run's result on its way from a node to the main store: a store of its own with the plan's row and that one run,
/// written in the node's own temporary folder (SQLite on a network's file system is not safe) and then moved as one
/// file. Internal to suites. Not thread-safe.
#pragma once

#include <filesystem>

#include "core/base/temporary_folder.h"
#include "results/records.h"
#include "suites/design/plan.h"
#include "suites/slurm/submission.h"

namespace nanobench::suites {

/// A copy of the plan's store in a temporary folder that goes with the object.
class LocalStore {
 public:
  /// Throws Error{kIo}.
  explicit LocalStore(const PlanFolder& plan);

  std::filesystem::path file() const { return folder_.path() / "run.db"; }
  /// Nobody may have the store open any more. False: another task brought this run's result before us.
  bool publish_to(const SubmissionFolder& submission, std::size_t position) const;

 private:
  core::TemporaryFolder folder_;
};

/// The result of a run that never came to one by itself. False: it has one.
bool publish_end(const Plan& plan, const PlannedRun& run, const results::RunResult& result,
                 const SubmissionFolder& submission);

/// The plan with this run alone.
Plan plan_of(const Plan& plan, const PlannedRun& run);

}  // namespace nanobench::suites
