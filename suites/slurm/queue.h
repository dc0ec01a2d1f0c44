/// What Slurm says of its partitions, of the tasks of our jobs, and of those that have ended. Its output is not
/// trusted: lines that cannot be understood are ignored, and a missing answer is never taken for an empty one. Internal
/// to suites. The parsers are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/process/command.h"

namespace nanobench::suites {

/// One task of an array.
struct QueuedTask {
  std::string job_id;  ///< of the array
  std::int64_t index = 0;
  std::string state;   ///< Slurm's word: PENDING, RUNNING, NODE_FAIL, ...
  std::string node;    ///< empty before it runs
  std::string reason;  ///< why it waits, in Slurm's words

  bool is_pending() const { return state == "PENDING"; }
  /// It will not run (any more), unless Slurm starts it again. A state that is not known is not an end.
  bool is_over() const;
};

struct Partition {
  std::string name;
  bool is_default = false;
  int cpus = 0;  ///< of its smallest node
};

/// Lines of queue_command(); lines that are no such are passed over.
std::vector<QueuedTask> parse_queue(std::string_view text);
/// Lines of `sinfo --format=%P|%c`, a partition once.
std::vector<Partition> parse_partitions(std::string_view text);
/// The state in the first line of accounting_command(); nullopt when there is none.
std::optional<std::string> parse_accounting(std::string_view text);

/// The tasks of jobs of these names, those that ended lately included.
std::vector<std::string> queue_command(const std::vector<std::string>& job_names);
std::vector<std::string> accounting_command(const std::string& job_id, std::int64_t index);

struct QueueAnswer {
  bool is_known = false;  ///< false: Slurm gave no answer, which says nothing about the tasks
  std::string trouble;    ///< then why
  std::vector<QueuedTask> tasks;
};
QueueAnswer ask_queue(const std::vector<std::string>& job_names);

/// How an ended task is remembered by Slurm's accounting; nullopt where there is none.
std::optional<std::string> ask_accounting(const std::string& job_id, std::int64_t index);

/// A program of Slurm, with a time limit. Ctrl-C is not for it, and it ends what it began although we are killed: a job
/// must not be half submitted.
core::CommandResult call_slurm(const std::vector<std::string>& command, double seconds);

/// scancel for all of them; its words when that failed, else empty.
std::string cancel_jobs(const std::vector<std::string>& job_ids);

/// The partition of this name, or the default one for an empty name. Throws Error: kUnavailable where Slurm is not here
/// or gives no answer, kNotFound for an unknown partition.
Partition find_partition(const std::string& name);

}  // namespace nanobench::suites
