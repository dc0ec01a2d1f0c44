#include "suites/slurm/job_script.h"

#include <array>

#include "core/base/error.h"

namespace nanobench::suites {
namespace {

/// A file name in which Slurm would replace %a, %j and the like.
std::string without_patterns(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

/// With these of another value we would lose the job, its tasks or their words.
constexpr std::array<const char*, 13> kOurOptions = {"--array", "--job-name",   "--output",    "--error", "--wait",
                                                     "--wrap",  "--parsable",   "--test-only", "--chdir", "--partition",
                                                     "--hold",  "--dependency", "--clusters"};
constexpr std::array<char, 11> kOurLetters = {'a', 'J', 'o', 'e', 'W', 'D', 'p', 'H', 'd', 'M', 'h'};

bool is_ours(const std::string& option) {
  if (option.rfind("--", 0) != 0) {
    for (const char letter : kOurLetters) {
      if (option[1] == letter) return true;
    }
    return false;
  }
  const std::string name = option.substr(0, option.find('='));
  for (const char* ours : kOurOptions) {
    if (name == ours) return true;
  }
  return false;
}

}  // namespace

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string job_script(const std::filesystem::path& program, const std::filesystem::path& folder) {
  return "#!/bin/sh\n"
         "# One task of the array: its runs, one after the other, on this node.\n"
         "program=" +
         shell_quoted(program.string()) +
         "\n"
         "folder=" +
         shell_quoted(folder.string()) +
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
  if (request.most_at_once) array += "%" + std::to_string(*request.most_at_once);
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
                                    "--cpus-per-task=" + std::to_string(request.cpus),
                                    "--exclusive"};
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
      throw core::Error(core::ErrorCode::kInvalidArgument,
                        "--sbatch-option: " + option +
                            " cannot be given: nanobench sets it itself (the partition and the most tasks at once have "
                            "options of their own)");
    }
  }
}

}  // namespace nanobench::suites
