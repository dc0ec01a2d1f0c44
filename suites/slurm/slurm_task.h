/// An array task on its node: runs its runs one after the other with the usual runner, and publishes each result in the
/// shared folder as soon as it exists.
#pragma once

#include <string>
#include <vector>

namespace nanobench::suites {

/// The hidden command of our program that runs a task on its node.
inline constexpr const char* kSlurmTaskCommand = "slurm-task";

/// `arguments`: the submission's folder and the array index. Returns the process's exit code: 0 if every run has a
/// result, however it ended. Writes to stdout and stderr, which form the task's log.
int slurm_task_main(const std::vector<std::string>& arguments);

}  // namespace nanobench::suites
