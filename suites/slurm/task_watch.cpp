#include "suites/slurm/task_watch.h"

#include <set>
#include <utility>

#include "core/base/text.h"

namespace nanobench::suites {
namespace {

using core::RunOutcome;

enum class Fault { kRun, kMachinery, kPerson };

struct Meaning {
  const char* state;
  RunOutcome outcome;
  Fault fault;
  const char* text;
};

constexpr Meaning kMeanings[] = {
    {"TIMEOUT", RunOutcome::kTimedOut, Fault::kRun, "reached the time limit that Slurm has for it"},
    {"DEADLINE", RunOutcome::kTimedOut, Fault::kRun, "reached its deadline in Slurm"},
    {"OUT_OF_MEMORY", RunOutcome::kOutOfMemory, Fault::kRun, "was killed by Slurm because memory ran out"},
    {"FAILED", RunOutcome::kCrashed, Fault::kRun, "failed"},
    {"COMPLETED", RunOutcome::kCrashed, Fault::kRun, "ended without a result"},
    {"NODE_FAIL", RunOutcome::kInterrupted, Fault::kMachinery, "was lost with its node"},
    {"BOOT_FAIL", RunOutcome::kInterrupted, Fault::kMachinery, "was lost: its node did not start"},
    {"PREEMPTED", RunOutcome::kInterrupted, Fault::kMachinery, "was preempted"},
    {"REVOKED", RunOutcome::kInterrupted, Fault::kMachinery, "was revoked"},
    {"CANCELLED", RunOutcome::kInterrupted, Fault::kPerson, "was cancelled"},
};
constexpr Meaning kUnknown = {"", RunOutcome::kInterrupted, Fault::kMachinery,
                              "left Slurm's queue without a result, and Slurm does not say why"};

/// A task exits successfully without having started its next run only if its job had been abandoned.
constexpr Meaning kGivenUp = {"COMPLETED", RunOutcome::kInterrupted, Fault::kMachinery, "ended without a result"};

const Meaning& meaning_of(const LostTask& task) {
  if (task.state == kGivenUp.state && !task.has_begun_first) return kGivenUp;
  for (const Meaning& meaning : kMeanings) {
    if (task.state == meaning.state) return meaning;
  }
  return kUnknown;
}

std::string message_of(const LostTask& task, const Meaning& meaning) {
  std::string text = task.name;
  if (!task.node.empty()) text += " on " + task.node;
  text += std::string(" ") + meaning.text;
  if (!task.has_begun_first) text += task.has_begun_any ? " between two runs" : " before its first run";
  if (!task.last_words.empty()) return text + "; its last words: " + task.last_words;
  const bool is_suspect = meaning.fault == Fault::kRun && !task.has_begun_any;
  return is_suspect ? text + " and left no words; do the nodes see the shared folder (--scratch)?" : text;
}

}  // namespace

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
    const bool has_end = found != by_id.end();  // else its last state was reported while it ran
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
  std::vector<std::string> parts;
  if (running > 0) parts.push_back(counted(static_cast<std::int64_t>(running), "task") + " running");
  if (pending > 0) {
    const auto count = static_cast<std::int64_t>(pending);
    parts.push_back((running > 0 ? std::to_string(count) : counted(count, "task")) + " waiting");
  }
  summary_ = joined(parts);
  if (!reasons.empty()) summary_ += " (" + joined(reasons) + ")";
}

LostEnd end_of(const LostTask& task) {
  const Meaning& meaning = meaning_of(task);
  LostEnd end{.outcome = meaning.outcome, .message = message_of(task, meaning)};
  switch (meaning.fault) {
    case Fault::kPerson:
      // A cancellation that we observe is final; after an earlier one, the command was repeated to continue.
      end.is_first_stored = task.has_begun_first || !task.was_gone_before;
      end.is_first_again = task.was_gone_before;
      end.are_others_stored = !task.was_gone_before;
      return end;
    case Fault::kMachinery:
      end.is_first_again = task.times_submitted < kMaxTries;
      end.is_first_stored = task.has_begun_first || !end.is_first_again;
      if (end.is_first_again) return end;
      end.outcome = RunOutcome::kCrashed;
      end.message += " (submitted " + std::to_string(task.times_submitted) + " times)";
      end.are_others_stored = !task.has_begun_any;
      return end;
    case Fault::kRun: break;
  }
  // A task that fails before starting anything would fail again.
  end.is_first_stored = task.has_begun_first || !task.has_begun_any;
  end.is_first_again = !end.is_first_stored;
  end.are_others_stored = !task.has_begun_any;
  return end;
}

}  // namespace nanobench::suites
