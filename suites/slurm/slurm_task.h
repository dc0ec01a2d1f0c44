/// A task of the array, on its node: runs one after the other, by the usual runner, and puts each result into the
/// shared folder as soon as it exists.
#pragma once

#include <string>
#include <vector>

namespace nanobench::suites {

/// The hidden command of our program that is a task on its node.
inline constexpr const char* kSlurmTaskCommand = "slurm-task";

/// `arguments`: the submission's folder and the array index. Returns the process's exit code: 0 when every run has a
/// result, however it ended. Writes to stdout and stderr, which are the task's log.
int slurm_task_main(const std::vector<std::string>& arguments);

}  // namespace nanobench::suites
