#include "tools/cli/slurm_request.h"

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "suites/slurm/glance.h"
#include "suites/slurm/submitter.h"
#include "tools/cli/places.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

constexpr double kPollSeconds = 10;

/// The first option that means nothing without Slurm.
std::string given_in_vain(const SlurmRequest& request) {
  if (!request.partition.empty()) return "--partition";
  if (request.tasks_at_once) return "--tasks-at-once";
  if (!request.chunk.empty()) return "--chunk";
  if (!request.sbatch_options.empty()) return "--sbatch-option";
  if (!request.scratch.empty()) return "--scratch";
  if (request.poll_seconds) return "--poll";
  return request.cancels_on_interrupt ? "--cancel-on-interrupt" : "";
}

suites::SlurmChunk chunk_of(const std::string& name) {
  if (name.empty() || name == "seed") return suites::SlurmChunk::kSeed;
  if (name == "run") return suites::SlurmChunk::kRun;
  throw Error(ErrorCode::kInvalidArgument, "--chunk: expected seed or run, got " + name);
}

/// Beside the database, or in the scratch folder under a name of the database's own.
fs::path shared_folder(const std::string& scratch, const fs::path& database) {
  const fs::path whole = fs::absolute(database).lexically_normal();
  if (scratch.empty()) return suites::exchange_folder(database);
  return fs::absolute(scratch).lexically_normal() /
         (whole.stem().string() + "-" + core::digest_of(whole.string()).substr(0, 8) + ".slurm");
}

}  // namespace

void add_slurm_options(CLI::App& command, SlurmRequest& request) {
  command.add_option("--executor", request.executor, "Where the runs run: local (default) or slurm")->type_name("NAME");
  command.add_option("--partition", request.partition, "slurm: the partition (default: Slurm's)")->type_name("NAME");
  command.add_option("--tasks-at-once", request.tasks_at_once, "slurm: at most so many tasks of the array run at once")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""));
  command.add_option("--chunk", request.chunk, "slurm: what a task runs: seed (default; all cells of a seed) or run")
      ->type_name("NAME");
  command
      .add_option("--sbatch-option", request.sbatch_options,
                  "slurm: one option for sbatch, as --sbatch-option=--time=2:00:00; may be given several times")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  command.add_option("--scratch", request.scratch, "slurm: folder that the nodes share (default: beside the database)")
      ->type_name("DIR");
  command.add_option("--poll", request.poll_seconds, "slurm: seconds between questions to Slurm (default: 10)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.05, 3600.0).description(""));
  command.add_flag("--cancel-on-interrupt", request.cancels_on_interrupt, "slurm: Ctrl-C cancels the job too");
}

std::optional<suites::SlurmOptions> slurm_options(const SlurmRequest& request, const fs::path& database) {
  if (request.executor == "local") {
    if (const std::string option = given_in_vain(request); !option.empty())
      throw Error(ErrorCode::kInvalidArgument, option + " goes with --executor slurm only");
    return std::nullopt;
  }
  if (request.executor != "slurm") {
    throw Error(ErrorCode::kInvalidArgument, "--executor: expected local or slurm, got " + request.executor +
                                                 core::suggestion(request.executor, {"local", "slurm"}));
  }
  suites::check_sbatch_options(request.sbatch_options);
  return suites::SlurmOptions{.program = own_program(),
                              .folder = shared_folder(request.scratch, database),
                              .partition = suites::find_partition(request.partition),
                              .max_at_once = request.tasks_at_once,
                              .sbatch_options = request.sbatch_options,
                              .chunk = chunk_of(request.chunk),
                              .cancels_on_interrupt = request.cancels_on_interrupt,
                              .poll_seconds = request.poll_seconds.value_or(kPollSeconds)};
}

}  // namespace nanobench::tools
