/// What travels between the submitter and the tasks on their nodes: the plan goes out as one file, each result comes
/// back as one file and is stored exactly once however often it is looked at. Internal to suites. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/temporary_folder.h"
#include "results/records.h"
#include "results/store.h"
#include "suites/design/plan.h"
#include "suites/slurm/submission.h"

namespace nanobench::suites {

/// Throws Error{kInvalidArgument} for a path that JSON cannot hold.
std::string plan_text(const Plan& plan);

/// The same plan without what only the submitting side needs: title, design, contrasts, messages, notes of the cells.
/// Throws Error: kDataLoss for a damaged file, kUnavailable for one of another version.
Plan read_plan(const core::Json& value, const std::string& source);

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

/// Brings results from the shared folder into the main store.
class Collector {
 public:
  Collector(const Plan& plan, std::int64_t plan_id, results::Store& store)
      : plan_(plan), plan_id_(plan_id), store_(store) {}

  /// The positions that have a result there, ascending; others than `positions` are passed over.
  static std::vector<std::size_t> available(const SubmissionFolder& submission,
                                            const std::vector<std::size_t>& positions);

  /// The run as the main store has it now; the plan's line is answered by it. A file that cannot be used is replaced by
  /// the result that says so. Throws Error when the main store fails.
  results::RunRecord collect(const SubmissionFolder& submission, std::size_t position);

 private:
  /// The one run of the file; nullopt where it is damaged, with the reason in `trouble`.
  std::optional<results::RunRecord> read(const std::filesystem::path& file, const std::string& digest,
                                         std::string& trouble) const;
  results::RunRecord find(const results::RunRecord& theirs) const;

  const Plan& plan_;
  std::int64_t plan_id_;
  results::Store& store_;
};

}  // namespace nanobench::suites
