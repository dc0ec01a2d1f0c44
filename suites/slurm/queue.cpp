#include "suites/slurm/queue.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/json.h"
#include "core/base/text.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

constexpr double kPatienceSeconds = 60;
constexpr std::size_t kMaxTasks = 1'000'000;

/// Calls `read` with each line that is not blank.
template <class Read>
void for_each_line(std::string_view text, Read read) {
  for (const std::string_view line : split_lines(text)) {
    if (!trimmed(line).empty()) read(trimmed(line));
  }
}

/// At most `count` fields; the last one holds the rest, including bars.
std::vector<std::string> fields_of(std::string_view line, std::size_t count) {
  std::vector<std::string> fields;
  while (fields.size() + 1 < count) {
    const std::size_t end = line.find('|');
    if (end == std::string_view::npos) break;
    fields.emplace_back(trimmed(line.substr(0, end)));
    line.remove_prefix(end + 1);
  }
  fields.emplace_back(trimmed(line));
  return fields;
}

bool is_state_word(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

}  // namespace

bool QueuedTask::is_over() const {
  static constexpr std::array<const char*, 10> kOver = {"BOOT_FAIL", "CANCELLED", "COMPLETED",     "DEADLINE",
                                                        "FAILED",    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
                                                        "REVOKED",   "TIMEOUT"};
  return std::find(kOver.begin(), kOver.end(), state) != kOver.end();
}

std::vector<QueuedTask> parse_queue(std::string_view text) {
  std::vector<QueuedTask> tasks;
  for_each_line(text, [&](std::string_view line) {
    std::vector<std::string> fields = fields_of(line, 5);
    if (fields.size() != 5 || tasks.size() >= kMaxTasks) return;
    const std::optional<std::int64_t> index = parse_count(fields[1]);
    if (!parse_count(fields[0]) || !index || !is_state_word(fields[2])) return;
    tasks.push_back({fields[0], *index, fields[2], fields[3], fields[4]});
  });
  return tasks;
}

std::vector<Partition> parse_partitions(std::string_view text) {
  std::vector<Partition> partitions;
  for_each_line(text, [&](std::string_view line) {
    std::vector<std::string> fields = fields_of(line, 2);
    if (fields.size() != 2 || fields[0].empty()) return;
    Partition found{.name = fields[0]};
    if (found.name.back() == '*') {
      found.is_default = true;
      found.name.pop_back();
    }
    std::string cpus = fields[1];
    if (!cpus.empty() && cpus.back() == '+') cpus.pop_back();  // "8+": nodes with 8 and with more
    const std::optional<std::int64_t> count = parse_count(cpus);
    if (!count || *count < 1 || *count > 65536) return;
    found.cpus = static_cast<int>(*count);
    const auto known = std::find_if(partitions.begin(), partitions.end(),
                                    [&](const Partition& partition) { return partition.name == found.name; });
    if (known == partitions.end())
      partitions.push_back(found);
    else
      known->cpus = std::min(known->cpus, found.cpus);
  });
  return partitions;
}

std::optional<std::string> parse_accounting(std::string_view text) {
  std::optional<std::string> state;
  for_each_line(text, [&](std::string_view line) {
    const std::string word(line.substr(0, line.find(' ')));  // "CANCELLED by 1000"
    if (!state && is_state_word(word)) state = word;
  });
  return state;
}

std::vector<std::string> queue_command(const std::vector<std::string>& job_names) {
  return {
      "squeue", "--noheader", "--array", "--states=all", "--name=" + joined(job_names, ","), "--format=%F|%K|%T|%N|%r"};
}

std::vector<std::string> accounting_command(const std::string& job_id, std::int64_t index) {
  return {"sacct",         "--noheader",     "--parsable2",
          "--allocations", "--format=State", "--jobs=" + job_id + "_" + std::to_string(index)};
}

core::CommandResult call_slurm(const std::vector<std::string>& command, double seconds) {
  return core::run_command(command, {.seconds = seconds, .group = core::ChildGroup::kDetached});
}

QueueAnswer ask_queue(const std::vector<std::string>& job_names) {
  const std::vector<std::string> command = queue_command(job_names);
  const core::CommandResult result = call_slurm(command, kPatienceSeconds);
  if (!result.is_success()) return {.is_known = false, .trouble = core::failure_text(command, result), .tasks = {}};
  return {.is_known = true, .trouble = "", .tasks = parse_queue(result.out)};
}

std::optional<std::string> ask_accounting(const std::string& job_id, std::int64_t index) {
  const core::CommandResult result = call_slurm(accounting_command(job_id, index), kPatienceSeconds);
  return result.is_success() ? parse_accounting(result.out) : std::nullopt;
}

std::string cancel_jobs(const std::vector<std::string>& job_ids) {
  std::vector<std::string> command = {"scancel"};
  command.insert(command.end(), job_ids.begin(), job_ids.end());
  const core::CommandResult result = call_slurm(command, kPatienceSeconds);
  return result.is_success() ? "" : core::failure_text(command, result);
}

Partition find_partition(const std::string& name) {
  const std::vector<std::string> command = {"sinfo", "--noheader", "--format=%P|%c"};
  const core::CommandResult result = call_slurm(command, kPatienceSeconds);
  if (result.start_error == ENOENT) {
    throw Error(ErrorCode::kUnavailable,
                "--executor slurm: sinfo and sbatch are not on PATH; run this where jobs are submitted to Slurm");
  }
  if (!result.is_success())
    throw Error(ErrorCode::kUnavailable,
                "Slurm gives no list of its partitions: " + core::failure_text(command, result));
  const std::vector<Partition> partitions = parse_partitions(result.out);
  std::vector<std::string> names;
  for (const Partition& partition : partitions) {
    names.push_back(partition.name);
    if (name.empty() ? partition.is_default : partition.name == name) return partition;
  }
  if (name.empty()) throw Error(ErrorCode::kNotFound, "Slurm has no default partition here; name one with --partition");
  throw Error(ErrorCode::kNotFound,
              "Slurm has no partition " + name + core::suggestion(name, names) + "; `sinfo` lists them all");
}

}  // namespace nanobench::suites
