/// Brings results from the shared folder into the main store, each exactly once however often it is looked at. Internal
/// to suites. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "results/store.h"
#include "suites/design/plan.h"
#include "suites/slurm/submission.h"

namespace nanobench::suites {

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
