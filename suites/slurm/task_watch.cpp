#include "suites/slurm/task_watch.h"

#include <set>
#include <utility>

namespace nanobench::suites {

std::vector<GoneTask> TaskWatch::look(const std::vector<ExpectedTask>& expected, const std::vector<QueuedTask>& queue,
                                      double now_s) {
  std::map<std::pair<std::string, std::int64_t>, const QueuedTask*> by_id;
  for (const QueuedTask& task : queue) by_id[{task.job_id, task.index}] = &task;
  std::vector<GoneTask> gone;
  std::vector<const QueuedTask*> present;
  for (const ExpectedTask& task : expected) {
    const auto found = by_id.find({task.job_id, task.index});
    Seen& seen = seen_[task.key()];
    const bool is_first_look = std::exchange(seen.is_new, false);
    if (found != by_id.end()) {
      seen.state = found->second->state;
      if (!found->second->node.empty()) seen.node = found->second->node;
    }
    if (found != by_id.end() && !found->second->is_over()) {
      seen.gone_since_s.reset();
      present.push_back(found->second);
      continue;
    }
    if (!seen.gone_since_s) {
      seen.gone_since_s = now_s;
      seen.was_gone_before = task.is_former && is_first_look;
    }
    if (seen.is_told || now_s - *seen.gone_since_s < settle_seconds_) continue;
    seen.is_told = true;
    const bool has_end = found != by_id.end();  // else its last word was said while it ran
    gone.push_back({task, has_end || QueuedTask{.state = seen.state}.is_over() ? seen.state : "", seen.node,
                    seen.was_gone_before});
  }
  summarise(present);
  return gone;
}

void TaskWatch::summarise(const std::vector<const QueuedTask*>& present) {
  std::size_t pending = 0;
  std::set<std::string> reasons;
  for (const QueuedTask* task : present) {
    if (!task->is_pending()) continue;
    ++pending;
    if (!task->reason.empty() && task->reason != "None") reasons.insert(task->reason);
  }
  const std::size_t running = present.size() - pending;
  summary_.clear();
  if (running > 0) summary_ = std::to_string(running) + (running == 1 ? " task running" : " tasks running");
  if (pending == 0) return;
  summary_ += (running == 0 ? "" : ", ") + std::to_string(pending) +
              (running > 0    ? " waiting"
               : pending == 1 ? " task waiting"
                              : " tasks waiting");
  std::string why;
  for (const std::string& reason : reasons) why += (why.empty() ? "" : ", ") + reason;
  if (!why.empty()) summary_ += " (" + why + ")";
}

}  // namespace nanobench::suites
