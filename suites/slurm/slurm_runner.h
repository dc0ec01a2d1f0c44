/// Runs a plan as one array job of Slurm. The submitting process hands over what the store lacks, collects results as
/// they come, and may be interrupted or killed at any moment: the array goes on, and the same call finds it again.
///
/// One call at a time per process, as run_plan.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/provenance.h"
#include "suites/run/runner.h"
#include "suites/slurm/queue.h"

namespace nanobench::suites {

/// What one task of the array runs, one run after the other on one node.
enum class SlurmChunk {
  kSeed,  ///< all cells of one seed, in the plan's order: their times are of one host
  kRun    ///< a single run: the most at once, and times of different hosts
};

struct SlurmOptions {
  std::filesystem::path program;  ///< ours, as the nodes see it
  std::filesystem::path folder;   ///< that the nodes share
  Partition partition;
  std::optional<int> max_at_once;           ///< tasks
  std::vector<std::string> sbatch_options;  ///< one option each
  SlurmChunk chunk = SlurmChunk::kSeed;
  bool cancels_on_interrupt = false;
  double poll_seconds = 10;  ///< between questions to Slurm
};

/// The nodes of a partition as the machine of a plan: runs of it are other runs than those of this machine. Each run's
/// row names the hardware that it really had.
results::MachineInfo machine_of(const Partition& partition);

/// As run_plan. Throws Error also where Slurm refuses, another submitter is at work on the plan, or a run takes several
/// processes; then nothing new was handed over.
SuiteRunResult run_on_slurm(const Plan& plan, results::Store& store, const RunnerOptions& options,
                            const SlurmOptions& slurm, RunnerObserver& observer);

}  // namespace nanobench::suites
