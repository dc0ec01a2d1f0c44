/// A task of the array, on its node: its runs one after the other, by the usual runner, each result into the shared
/// folder as soon as it is there.
#pragma once

#include <string>
#include <vector>

namespace nanobench::suites {

/// `arguments`: the submission's folder and the array index. Returns the process's exit code: 0 when every run has a
/// result, however it ended. Speaks on stdout and stderr, which are the task's log.
int slurm_task_main(const std::vector<std::string>& arguments);

}  // namespace nanobench::suites
