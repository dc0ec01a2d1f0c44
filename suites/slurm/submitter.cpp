#include "suites/slurm/submitter.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <sstream>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/text.h"
#include "results/provenance.h"
#include "suites/slurm/shared_folder.h"
#include "suites/slurm/slurm_runner.h"

namespace nanobench::suites {
namespace {

constexpr std::size_t kMaxMark = 100;

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

constexpr double kSbatchSeconds = 180;  // a busy controller takes long, and we need the answer

/// Escapes a file name in which Slurm would replace %a, %j and the like.
std::string without_patterns(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

/// With other values of these we would lose the job, its tasks or their output.
constexpr std::array<std::string_view, 13> kOurOptions = {
    "--array",     "--job-name", "--output",    "--error", "--wait",       "--wrap",    "--parsable",
    "--test-only", "--chdir",    "--partition", "--hold",  "--dependency", "--clusters"};
constexpr std::array<char, 11> kOurLetters = {'a', 'J', 'o', 'e', 'W', 'D', 'p', 'H', 'd', 'M', 'h'};

bool is_ours(const std::string& option) {
  const auto holds = [](const auto& list, const auto& item) {
    return std::find(list.begin(), list.end(), item) != list.end();
  };
  if (!option.starts_with("--")) return holds(kOurLetters, option[1]);
  return holds(kOurOptions, option.substr(0, option.find('=')));
}

/// A name unique among all jobs, now and later.
std::string new_job_name(const Plan& plan, int number) {
  const results::Owner us = results::this_process();
  const std::string text = plan.digest + us.host + us.boot_id + std::to_string(us.pid) + results::utc_now();
  return "nanobench-" + core::digest_of(text).substr(0, 16) + "-" + std::to_string(number);
}

/// The answer of --parsable: "123" or "123;cluster".
std::string job_id_in(const std::string& answer) {
  const std::string id = answer.substr(0, answer.find_first_of(";\n\r \t"));
  return is_job_id(id) ? id : "";
}

}  // namespace

std::string job_script(const std::filesystem::path& program, const std::filesystem::path& folder) {
  return "#!/bin/sh\n"
         "# One task of the array: its runs, one after the other, on this node.\n"
         "program=" +
         shell_words({program.string()}) +
         "\n"
         "folder=" +
         shell_words({folder.string()}) +
         "\n"
         "if [ ! -x \"$program\" ]; then\n"
         "  echo \"the program $program is not on $(uname -n), or cannot be executed there\" >&2\n"
         "  exit 127\n"
         "fi\n"
         "exec \"$program\" " +
         kSlurmTaskCommand + " \"$folder\" \"$SLURM_ARRAY_TASK_ID\"\n";
}

std::vector<std::string> sbatch_command(const JobRequest& request) {
  std::string array = "--array=0-" + std::to_string(request.tasks - 1);
  if (request.max_at_once) array += "%" + std::to_string(*request.max_at_once);
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--job-name=" + request.name,
                                    "--partition=" + request.partition,
                                    array,
                                    "--output=" + without_patterns((request.folder / "log").string()) + "/%a",
                                    "--open-mode=append",  // a task that Slurm starts again keeps its former words
                                    "--chdir=" + request.folder.string(),
                                    "--nodes=1",
                                    "--ntasks=1",
                                    "--cpus-per-task=" + std::to_string(request.cpus)};
  if (!request.share) words.push_back("--exclusive");
  if (request.share && request.share->gpus > 0) words.push_back("--gres=gpu:" + std::to_string(request.share->gpus));
  words.insert(words.end(), request.options.begin(), request.options.end());
  words.push_back((request.folder / "job.sh").string());
  return words;
}

void check_sbatch_options(const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (option.size() < 2 || option[0] != '-' || option == "--") {
      throw core::Error(core::ErrorCode::kInvalidArgument,
                        "--sbatch-option: expected one option of sbatch with its "
                        "value, such as --sbatch-option=--time=30:00, got \"" +
                            option + "\"");
    }
    if (is_ours(option)) {
      throw core::Error(
          core::ErrorCode::kInvalidArgument,
          "--sbatch-option: " + option +
              " cannot be given: nanobench sets it itself (--partition and --tasks-at-once are options of "
              "nanobench)");
    }
  }
}

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
      std::istringstream in(core::first_line_of(folder_of(submission).started(position), kMaxMark));
      std::string id;
      if (in >> id && is_job_id(id)) return id;
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
      // A job that sbatch creates after this finds the mark; one that started earlier has left its own marks.
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
  const bool has_run_seats = plan_.suite.external && plan_.suite.external->seats.chunk == SeatChunk::kRun;
  for (const std::size_t position : positions) {
    if (options_.chunk == SlurmChunk::kRun || has_run_seats) {
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
  fs::remove_all(folder.path(), ignored);  // left by a submitter that was killed before it recorded the submission
  folder.make();
  write_whole(folder.tasks_file(), tasks_json(submission.tasks).dump() + "\n");
  write_whole(folder.script(), job_script(options_.program, folder.path()));
  state_.submissions.push_back(std::move(submission));
  save();
  call_sbatch(state_.submissions.back());
  return state_.submissions.back();
}

JobRequest Submitter::request_of(const Submission& submission) const {
  JobRequest request{.name = submission.name,
                     .partition = options_.partition.name,
                     .folder = folder_of(submission).path(),
                     .tasks = submission.tasks.size(),
                     .max_at_once = options_.max_at_once,
                     .cpus = plan_.threads,
                     .options = options_.sbatch_options};
  if (!plan_.suite.external || !plan_.suite.external->seats.share) return request;
  const Seats& seats = plan_.suite.external->seats;
  const int count = static_cast<int>(seats.places.size());
  request.share = seats.share;
  if (!request.max_at_once) request.max_at_once = count;
  if (seats.share->processors > 0) {
    request.cpus = seats.share->processors;
  } else if (plan_.suite.threads == 0) {
    request.cpus = std::max(1, plan_.threads / count);  // those of a node, which its seats share
  }
  return request;
}

void Submitter::call_sbatch(Submission& submission) {
  const std::vector<std::string> command = sbatch_command(request_of(submission));
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
