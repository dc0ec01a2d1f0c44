#include "suites/slurm/result_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "results/merge.h"
#include "results/provenance.h"
#include "results/store.h"
#include "suites/slurm/shared_folder.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

/// $TMPDIR may be the submitting machine's, and not be here.
fs::path nodes_place() {
  std::error_code error;
  const fs::path named = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : named;
}

}  // namespace

LocalStore::LocalStore(const PlanFolder& plan) : folder_("task", nodes_place(), "set TMPDIR to a folder of the node") {
  std::error_code error;
  if (!fs::copy_file(plan.plan_store(), file(), error) || error) {
    throw Error(ErrorCode::kIo, "cannot copy " + plan.plan_store().string() + " to " + folder_.path().string() +
                                    "; is the shared folder there, and has the disk space?");
  }
}

bool LocalStore::publish_to(const SubmissionFolder& submission, std::size_t position) const {
  results::make_movable(file());
  return publish(file(), submission.result(position));
}

Plan plan_of(const Plan& plan, const PlannedRun& run) {
  Plan one = plan;
  one.runs = {run};
  return one;
}

bool publish_end(const Plan& plan, const PlannedRun& run, const results::RunResult& result,
                 const SubmissionFolder& submission) {
  const LocalStore local(submission.plan());
  {
    results::Store store(local.file());
    results::NewRun row = stored_run(plan, run);
    row.plan_id = store.ensure_plan(stored_plan(plan, {}));
    const results::RunClaim claim = store.claim_run(row, results::this_process());
    const auto* claimed = std::get_if<results::Claimed>(&claim);
    NB_CHECK(claimed != nullptr, "a new store has this run already");
    store.finish_run(claimed->run_id, result);
  }
  return local.publish_to(submission, run.position);
}

}  // namespace nanobench::suites
