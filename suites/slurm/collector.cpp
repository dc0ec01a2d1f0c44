#include "suites/slurm/collector.h"

#include <set>

#include "core/base/error.h"
#include "core/base/rethrow.h"
#include "results/check.h"
#include "results/merge.h"
#include "suites/slurm/result_file.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using results::RunRecord;

bool is_same_run(const RunRecord& a, const RunRecord& b) {
  return a.started_at == b.started_at && a.owner.host == b.owner.host && a.owner.boot_id == b.owner.boot_id &&
         a.owner.pid_namespace == b.owner.pid_namespace && a.owner.pid == b.owner.pid &&
         a.owner.pid_started == b.owner.pid_started;
}

}  // namespace

std::vector<std::size_t> Collector::available(const SubmissionFolder& submission,
                                              const std::vector<std::size_t>& positions) {
  std::set<std::string> names;  // one listing: asking for each file costs a network's file system more
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(submission.results(), error))
    names.insert(entry.path().filename().string());
  std::vector<std::size_t> found;
  for (const std::size_t position : positions) {
    if (names.contains(submission.result(position).filename().string())) found.push_back(position);
  }
  return found;
}

std::optional<RunRecord> Collector::read(const fs::path& file, const std::string& digest, std::string& trouble) const {
  try {
    if (!results::check_store(file).is_fine()) {
      trouble = "it is not whole";
      return std::nullopt;
    }
    const results::Store store(file, results::OpenMode::kReadOnly);
    std::vector<RunRecord> runs = store.runs();
    if (runs.size() == 1 && runs[0].digest == digest && runs[0].result) return std::move(runs[0]);
    trouble = "it does not hold this run alone";
  } catch (const Error& error) {
    rethrow_internal(error);
    trouble = error.what();
  }
  return std::nullopt;
}

RunRecord Collector::find(const RunRecord& theirs) const {
  for (RunRecord& run : store_.runs({.digest = theirs.digest})) {
    if (is_same_run(run, theirs)) return std::move(run);
  }
  throw Error(ErrorCode::kInternal, "a merged run of " + theirs.cell + " is not in " + store_.file().string());
}

RunRecord Collector::collect(const SubmissionFolder& submission, std::size_t position) {
  const PlannedRun& run = plan_.runs[position];
  const fs::path file = submission.result(position);
  std::string trouble;
  std::optional<RunRecord> theirs = read(file, run.digest, trouble);
  if (!theirs) {
    std::error_code ignored;
    fs::rename(file, file.string() + ".damaged", ignored);
    publish_end(plan_, run,
                {.outcome = core::RunOutcome::kCrashed,
                 .message = "the result file of its Slurm task cannot be used: " + trouble},
                submission);
    theirs = read(file, run.digest, trouble);
    if (!theirs) throw Error(ErrorCode::kDataLoss, "cannot read back " + file.string() + ": " + trouble);
  }
  results::merge_store(store_.file(), file);
  RunRecord ours = find(*theirs);
  store_.answer_line(plan_id_, static_cast<std::int64_t>(position), ours.id);
  return ours;
}

}  // namespace nanobench::suites
