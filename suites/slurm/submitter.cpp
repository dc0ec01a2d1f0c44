#include "suites/slurm/submitter.h"

#include <cerrno>
#include <fstream>
#include <map>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "results/provenance.h"
#include "suites/slurm/job_script.h"
#include "suites/slurm/shared_folder.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

constexpr double kSbatchSeconds = 180;  // a busy controller takes its time, and we must know

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 20 && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Of no other job, now or later.
std::string new_job_name(const Plan& plan, int number) {
  const results::Owner us = results::this_process();
  const std::string text = plan.digest + us.host + us.boot_id + std::to_string(us.pid) + results::utc_now();
  return "nanobench-" + core::digest_of(text).substr(0, 16) + "-" + std::to_string(number);
}

/// The answer of --parsable: "123" or "123;cluster".
std::string job_id_in(const std::string& answer) {
  const std::string id = answer.substr(0, answer.find_first_of(";\n\r \t"));
  return is_number(id) ? id : "";
}

}  // namespace

void Submitter::save() const {
  write_whole(folder_.state_file(), to_json(state_).dump(1) + "\n");
}

void Submitter::abandon(Submission& submission) {
  write_whole(folder_of(submission).abandoned(), "");
  submission.is_abandoned = true;
}

std::string Submitter::job_id_by_marks(const Submission& submission) const {
  for (const auto& task : submission.tasks) {
    for (const std::size_t position : task) {
      std::ifstream in(folder_of(submission).started(position));
      std::string id;
      if (in >> id && is_number(id)) return id;
    }
  }
  return "";
}

void Submitter::recover() {
  for (Submission& submission : state_.submissions) {
    if (submission.job_id || submission.is_abandoned) continue;
    const QueueAnswer answer = ask_queue({submission.name});
    if (!answer.is_known) {
      throw Error(ErrorCode::kUnavailable,
                  "Slurm does not say what became of the job " + submission.name + ": " + answer.trouble);
    }
    std::string id = answer.tasks.empty() ? "" : answer.tasks.front().job_id;
    if (id.empty()) {
      // A job that sbatch makes after this finds the mark; one that began before it has left marks of its own.
      write_whole(folder_of(submission).abandoned(), "");
      id = job_id_by_marks(submission);
    }
    if (id.empty()) {
      submission.is_abandoned = true;
    } else {
      std::error_code ignored;
      fs::remove(folder_of(submission).abandoned(), ignored);
      submission.job_id = id;
    }
    save();
  }
}

std::vector<std::vector<std::size_t>> Submitter::tasks_of(const std::vector<std::size_t>& positions) const {
  std::vector<std::vector<std::size_t>> tasks;
  std::map<std::uint64_t, std::size_t> task_of_seed;
  for (const std::size_t position : positions) {
    if (options_.chunk == SlurmChunk::kRun) {
      tasks.push_back({position});
      continue;
    }
    const auto [at, is_new] = task_of_seed.try_emplace(plan_.runs[position].seed, tasks.size());
    if (is_new) tasks.emplace_back();
    tasks[at->second].push_back(position);
  }
  return tasks;
}

const Submission& Submitter::submit(const std::vector<std::size_t>& positions) {
  Submission submission;
  submission.number = static_cast<int>(state_.submissions.size()) + 1;
  submission.name = new_job_name(plan_, submission.number);
  submission.tasks = tasks_of(positions);
  const SubmissionFolder folder = folder_of(submission);
  std::error_code ignored;
  fs::remove_all(folder.path(), ignored);  // of a submitter that was killed before it had noted the submission
  folder.make();
  write_whole(folder.tasks_file(), tasks_json(submission.tasks).dump() + "\n");
  write_whole(folder.script(), job_script(options_.program, folder.path()));
  state_.submissions.push_back(std::move(submission));
  save();
  call_sbatch(state_.submissions.back());
  return state_.submissions.back();
}

void Submitter::call_sbatch(Submission& submission) {
  const std::vector<std::string> command = sbatch_command({.name = submission.name,
                                                           .partition = options_.partition.name,
                                                           .folder = folder_of(submission).path(),
                                                           .tasks = submission.tasks.size(),
                                                           .most_at_once = options_.most_at_once,
                                                           .cpus = plan_.threads,
                                                           .options = options_.sbatch_options});
  const core::CommandResult result = call_slurm(command, kSbatchSeconds);
  if (result.is_timed_out) {
    throw Error(ErrorCode::kUnavailable,
                "sbatch gave no answer in time; the same command finds out whether the job was submitted");
  }
  const std::string id = result.is_success() ? job_id_in(result.out) : "";
  if (id.empty()) {
    abandon(submission);
    save();
    if (result.start_error == ENOENT) {
      throw Error(ErrorCode::kUnavailable,
                  "--executor slurm: sbatch is not on PATH; run this where jobs are submitted to Slurm");
    }
    throw Error(ErrorCode::kUnavailable, "sbatch refused the job: " + core::failure_text(command, result));
  }
  submission.job_id = id;
  save();
}

}  // namespace nanobench::suites
