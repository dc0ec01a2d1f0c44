/// The files exchanged between the submitter and the tasks on their nodes. The plan goes out as one file; each result
/// comes back as one file and is stored exactly once, however often it is read. Internal to suites. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/atomic_write.h"
#include "core/base/json.h"
#include "results/records.h"
#include "results/store.h"
#include "suites/design/plan.h"
#include "suites/slurm/submission.h"

namespace nanobench::suites {

/// Throws Error{kInvalidArgument} for a path that JSON cannot represent.
std::string plan_text(const Plan& plan);

/// The same plan without the parts that only the submitter needs: title, design, contrasts, messages, notes of the
/// cells. It has an external trainer, without anything, if its tasks are seats. Throws Error: kDataLoss for a damaged
/// file, kUnavailable for a file of another version.
Plan read_plan(const core::Json& value, const std::string& source);

/// A copy of the plan's store in a temporary folder, deleted with the object.
class LocalStore {
 public:
  /// Throws Error{kIo}.
  explicit LocalStore(const PlanFolder& plan);

  std::filesystem::path file() const { return folder_.path() / "run.db"; }
  /// The store must be closed. Returns false if another task has already published this run's result.
  bool publish_to(const SubmissionFolder& submission, std::size_t position) const;

 private:
  core::TemporaryFolder folder_;
};

/// Publishes a result for a run that produced none itself. Returns false if it already has one.
bool publish_end(const Plan& plan, const PlannedRun& run, const results::RunResult& result,
                 const SubmissionFolder& submission);

/// The plan with only this run.
Plan plan_of(const Plan& plan, const PlannedRun& run);

/// Brings results from the shared folder into the main store.
class Collector {
 public:
  Collector(const Plan& plan, std::int64_t plan_id, results::Store& store)
      : plan_(plan), plan_id_(plan_id), store_(store) {}

  /// The positions among `positions` that have a result there, ascending.
  static std::vector<std::size_t> available(const SubmissionFolder& submission,
                                            const std::vector<std::size_t>& positions);

  /// Returns the run as the main store has it now; it answers the plan's line. An unusable file is replaced by a result
  /// that reports this. Throws Error if the main store fails.
  results::RunRecord collect(const SubmissionFolder& submission, std::size_t position);

 private:
  /// The file's single run; nullopt if the file is damaged, with the reason in `trouble`.
  std::optional<results::RunRecord> read(const std::filesystem::path& file, const std::string& digest,
                                         std::string& trouble) const;
  results::RunRecord find(const results::RunRecord& theirs) const;

  const Plan& plan_;
  std::int64_t plan_id_;
  results::Store& store_;
};

}  // namespace nanobench::suites
