#include "suites/slurm/lost_task.h"

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
    {"OUT_OF_MEMORY", RunOutcome::kOutOfMemory, Fault::kRun, "was killed by Slurm for want of memory"},
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

/// A task ends well without having begun its next run only when it was told that its job had been given up.
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

LostEnd end_of(const LostTask& task) {
  const Meaning& meaning = meaning_of(task);
  LostEnd end{.outcome = meaning.outcome, .message = message_of(task, meaning)};
  switch (meaning.fault) {
    case Fault::kPerson:
      // Cancelled while we look on, it stays so; cancelled before, the same command was given again to go on.
      end.is_first_stored = task.has_begun_first || !task.was_gone_before;
      end.is_first_again = task.was_gone_before;
      end.are_others_stored = !task.was_gone_before;
      return end;
    case Fault::kMachinery:
      end.is_first_again = task.times_submitted < kMostSubmissions;
      end.is_first_stored = task.has_begun_first || !end.is_first_again;
      if (end.is_first_again) return end;
      end.outcome = RunOutcome::kCrashed;
      end.message += " (submitted " + std::to_string(task.times_submitted) + " times)";
      end.are_others_stored = !task.has_begun_any;
      return end;
    case Fault::kRun: break;
  }
  // A task that fails before it has begun anything would fail again.
  end.is_first_stored = task.has_begun_first || !task.has_begun_any;
  end.is_first_again = !end.is_first_stored;
  end.are_others_stored = !task.has_begun_any;
  return end;
}

}  // namespace nanobench::suites
