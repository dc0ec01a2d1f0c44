/// Queries Slurm about its partitions, the tasks of our jobs, and tasks that have ended. Its output is not trusted:
/// lines that cannot be parsed are ignored, and a missing answer is never treated as an empty one. Internal to suites.
/// The parsers are pure.
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
  std::string job_id;  ///< id of the array job
  std::int64_t index = 0;
  std::string state;   ///< Slurm's word: PENDING, RUNNING, NODE_FAIL, ...
  std::string node;    ///< empty before it runs
  std::string reason;  ///< why it is waiting, in Slurm's words

  bool is_pending() const { return state == "PENDING"; }
  /// It will not run (any more), unless Slurm restarts it. An unknown state does not count as ended.
  bool is_over() const;
};

struct Partition {
  std::string name;
  bool is_default = false;
  int cpus = 0;  ///< CPUs of its smallest node
};

/// Parses the output of queue_command(); other lines are skipped.
std::vector<QueuedTask> parse_queue(std::string_view text);
/// Parses the output of `sinfo --format=%P|%c`; each partition appears once.
std::vector<Partition> parse_partitions(std::string_view text);
/// The state in the first line of accounting_command()'s output; nullopt if there is none.
std::optional<std::string> parse_accounting(std::string_view text);

/// Lists the tasks of jobs with these names, including recently ended ones.
std::vector<std::string> queue_command(const std::vector<std::string>& job_names);
std::vector<std::string> accounting_command(const std::string& job_id, std::int64_t index);

struct QueueAnswer {
  bool is_known = false;  ///< false: Slurm gave no answer, so the state of the tasks is unknown
  std::string trouble;    ///< the reason, if not known
  std::vector<QueuedTask> tasks;
};
QueueAnswer ask_queue(const std::vector<std::string>& job_names);

/// The state of an ended task in Slurm's accounting; nullopt if there is none.
std::optional<std::string> ask_accounting(const std::string& job_id, std::int64_t index);

/// Runs a Slurm program with a time limit. Ctrl-C does not reach it, and it finishes even if this process is killed: a
/// job must not be half submitted.
core::CommandResult call_slurm(const std::vector<std::string>& command, double seconds);

/// Cancels all of them with scancel. Returns its message if that failed, else an empty string.
std::string cancel_jobs(const std::vector<std::string>& job_ids);

/// The partition with this name, or the default one if the name is empty. Throws Error: kUnavailable if Slurm is not
/// installed or gives no answer, kNotFound for an unknown partition.
Partition find_partition(const std::string& name);

}  // namespace nanobench::suites
