/// How an array of tasks is handed to Slurm: the words of the sbatch command and the script that each task runs. Paths
/// may hold blanks, quotes and percent signs. Internal to suites. Pure.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::suites {

/// The hidden command of our program that is a task on its node.
inline constexpr const char* kSlurmTaskCommand = "slurm-task";

struct JobRequest {
  std::string name;  ///< the job is found again by it
  std::string partition;
  std::filesystem::path folder;      ///< of this submission; holds job.sh and log/
  std::size_t tasks = 1;             ///< array indices from 0
  std::optional<int> most_at_once;   ///< of the array
  int cpus = 1;                      ///< of a task
  std::vector<std::string> options;  ///< the person's; they come last, so they win
};

/// One word for a POSIX shell.
std::string shell_quoted(const std::string& text);

/// `program` is ours, `folder` that of the submission; both as the nodes see them.
std::string job_script(const std::filesystem::path& program, const std::filesystem::path& folder);

/// Each task gets a node to itself unless the options say otherwise: timed runs share no machine.
std::vector<std::string> sbatch_command(const JobRequest& request);

/// Throws Error{kInvalidArgument} for what is no option, and for options that we need ourselves.
void check_sbatch_options(const std::vector<std::string>& options);

}  // namespace nanobench::suites
