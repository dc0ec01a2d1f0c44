/// Runs a plan as one Slurm array job. The submitting process submits the runs that the store lacks and collects
/// results as they arrive. It may be interrupted or killed at any moment: the array continues, and the same call finds
/// it again. A task of the array runs its runs one after the other with the usual runner, and publishes each result in
/// the shared folder as soon as it exists.
///
/// One call at a time per process, like run_plan.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "results/provenance.h"
#include "suites/run/runner.h"
#include "suites/slurm/queue.h"

namespace nanobench::suites {

/// The runs of one array task, which run one after the other on one node.
enum class SlurmChunk {
  kSeed,  ///< all cells of one seed, in the plan's order: their times come from one host
  kRun    ///< a single run: max parallelism, but times come from different hosts
};
NB_ENUM_NAMES(SlurmChunk, {SlurmChunk::kSeed, "seed"}, {SlurmChunk::kRun, "run"});

struct SlurmOptions {
  std::filesystem::path program;  ///< path of our program, as seen by the nodes
  std::filesystem::path folder;   ///< folder shared by the nodes
  Partition partition;
  std::optional<int> max_at_once;           ///< tasks
  std::vector<std::string> sbatch_options;  ///< one option each
  SlurmChunk chunk = SlurmChunk::kSeed;
  bool cancels_on_interrupt = false;
  double poll_seconds = 10;  ///< interval between queries to Slurm
};

/// Describes the nodes of a partition as the machine of a plan; its runs are distinct from those of this machine. Each
/// run's row records its actual hardware.
results::MachineInfo machine_of(const Partition& partition);

/// Like run_plan. Also throws Error if Slurm refuses, another submitter is working on the plan, or a run needs several
/// processes; nothing new was then submitted.
SuiteRunResult run_on_slurm(const Plan& plan, results::Store& store, const RunnerOptions& options,
                            const SlurmOptions& slurm, RunnerObserver& observer);

/// The hidden command of our program that runs a task on its node.
inline constexpr const char* kSlurmTaskCommand = "slurm-task";

/// `arguments`: the submission's folder and the array index. Returns the process's exit code: 0 if every run has a
/// result, however it ended. Writes to stdout and stderr, which form the task's log.
int slurm_task_main(const std::vector<std::string>& arguments);

}  // namespace nanobench::suites
