#include "suites/slurm/glance.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/json.h"
#include "suites/slurm/shared_folder.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;

constexpr std::size_t kMaxQueueLine = 400;

std::optional<double> changed_s(const fs::path& file) {
  struct stat facts = {};
  if (stat(file.c_str(), &facts) != 0) return std::nullopt;
  return static_cast<double>(facts.st_mtim.tv_sec) + static_cast<double>(facts.st_mtim.tv_nsec) * 1e-9;
}

void glance_at_runs(const Submission& submission, const SubmissionFolder& folder,
                    std::map<std::size_t, GlancedRun>& runs) {
  // In this order, a run that ends in between is seen as started, never as queued.
  const std::set<std::string> results = names_in(folder.results());
  const std::set<std::string> starts = names_in(folder.starts());
  for (const auto& task : submission.tasks) {
    for (const std::size_t position : task) {
      GlancedRun run{.position = position, .progress = folder.progress(position), .result = folder.result(position)};
      if (results.contains(run.result.filename().string()))
        run.stage = GlancedStage::kResult;
      else if (starts.contains(folder.started(position).filename().string()))
        run.stage = GlancedStage::kStarted;
      runs[position] = std::move(run);
    }
  }
}

bool holds_open_run(const Submission& submission, const PlanFolder& folder,
                    const std::map<std::size_t, GlancedRun>& runs) {
  const SubmissionFolder own(folder.submission(submission.number));
  for (const auto& task : submission.tasks) {
    for (const std::size_t position : task) {
      const GlancedRun& run = runs.at(position);
      if (run.stage != GlancedStage::kResult && run.result == own.result(position)) return true;
    }
  }
  return false;
}

}  // namespace

fs::path exchange_folder(const fs::path& database) {
  return fs::absolute(database).lexically_normal().string() + ".slurm";
}

fs::path scratch_link(const fs::path& exchange_folder, const std::string& plan_folder_name) {
  return exchange_folder / (plan_folder_name + ".at");
}

std::string plan_folder_name(const std::string& suite, const std::string& plan_digest) {
  std::string name;
  for (const char c : suite.substr(0, 40)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    name += is_plain ? c : '_';
  }
  return name + "-" + plan_digest.substr(0, 12);
}

std::optional<PlanFolder> find_plan_folder(const fs::path& database, const std::string& suite,
                                           const std::string& plan_digest) {
  const fs::path exchange = exchange_folder(database);
  const std::string name = plan_folder_name(suite, plan_digest);
  std::error_code error;
  const fs::path elsewhere = fs::read_symlink(scratch_link(exchange, name), error);
  for (const fs::path& folder : {exchange / name, elsewhere}) {
    if (!folder.empty() && is_there(PlanFolder(folder).state_file())) return PlanFolder(folder);
  }
  return std::nullopt;
}

bool has_plan_folders(const fs::path& database) {
  std::error_code error;
  const fs::directory_iterator first(exchange_folder(database), error);
  return !error && first != fs::directory_iterator();
}

std::optional<PlanGlance> glance_at(const PlanFolder& folder, const std::string& plan_digest,
                                    const std::string& plan_made_at, std::size_t runs) {
  SlurmState state;
  try {
    state =
        read_state(core::read_json_file(folder.state_file(), core::kJsonExchange), folder.state_file().string(), runs);
  } catch (const Error& error) {
    rethrow_internal(error);
    return std::nullopt;  // removed since, or damaged: the submitter reports it
  }
  if (state.plan_digest != plan_digest || state.plan_made_at != plan_made_at) return std::nullopt;
  std::map<std::size_t, GlancedRun> found;
  for (const Submission& submission : state.submissions) {
    if (!submission.is_abandoned)
      glance_at_runs(submission, SubmissionFolder(folder.submission(submission.number)), found);
  }
  PlanGlance glance;
  for (const Submission& submission : state.submissions) {
    if (!submission.is_abandoned && submission.job_id && holds_open_run(submission, folder, found))
      glance.job_ids.push_back(*submission.job_id);
  }
  for (auto& [position, run] : found) glance.runs.push_back(std::move(run));
  glance.submitter = read_holder(folder.lock_file());
  glance.queue = core::first_line_of(folder.queue_file(), kMaxQueueLine);
  glance.submitted_s = changed_s(SubmissionFolder(folder.submission(1)).tasks_file());
  return glance;
}

}  // namespace nanobench::suites
