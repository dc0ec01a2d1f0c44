#include "suites/run/outcome.h"

#include <csignal>
#include <fstream>

#include "core/base/error.h"
#include "core/base/text.h"

namespace nanobench::suites {
namespace {

using core::RunOutcome;

bool speaks_of_memory(const std::string& output) {
  for (const char* phrase : {"std::bad_alloc", "out of memory", "Out of memory", "can't allocate memory",
                             "not enough memory", "Cannot allocate memory"}) {
    if (output.find(phrase) != std::string::npos) return true;
  }
  return false;
}

std::string with_last_words(std::string message, const std::string& output) {
  const std::string words = last_line(output);
  if (!words.empty()) message += "; its last words: " + words;
  return message;
}

Classification of_exit(const RunEnd& end) {
  const std::string cut = end.has_cut_line ? ", in the middle of an event line" : "";
  if (end.exit.signal != 0) {
    const bool is_memory = (end.exit.signal == SIGKILL && end.was_oom_killed) || speaks_of_memory(end.output_tail);
    return {is_memory ? RunOutcome::kOutOfMemory : RunOutcome::kCrashed,
            with_last_words("the engine was ended by " + end.exit.text() + cut +
                                (is_memory ? "; the machine had no memory left" : ""),
                            end.output_tail)};
  }
  if (end.finished && end.exit.is_success()) return {RunOutcome::kCompleted, ""};
  if (!end.has_hello && end.exit.exit_code == core::kExitUsage && !end.output_tail.empty())
    return {RunOutcome::kUnsupported, "the engine refused the run: " + last_line(end.output_tail)};
  const std::string code = end.exit.text();
  if (end.finished)
    return {RunOutcome::kCrashed, with_last_words("the engine finished, but then ended with " + code, end.output_tail)};
  return {speaks_of_memory(end.output_tail) ? RunOutcome::kOutOfMemory : RunOutcome::kCrashed,
          with_last_words("the engine ended with " + code + " and without saying that it had finished" + cut,
                          end.output_tail)};
}

std::optional<std::int64_t> counter_in(const char* file, const std::string& name) {
  std::ifstream in(file);
  std::string key;
  std::int64_t value = 0;
  while (in >> key >> value) {
    if (key == name) return value;
  }
  return std::nullopt;
}

}  // namespace

Classification classify(const RunEnd& end) {
  const bool is_whole = end.finished && end.exit.is_success();
  switch (end.stop) {
    case StopReason::kTimeLimit:
    case StopReason::kSilence: return {RunOutcome::kTimedOut, with_last_words(end.stop_message, end.output_tail)};
    case StopReason::kBrokenEvents: return {RunOutcome::kCrashed, with_last_words(end.stop_message, end.output_tail)};
    case StopReason::kInterrupted:
      if (!is_whole) return {RunOutcome::kInterrupted, end.stop_message};
      break;
    case StopReason::kNotFinite:
    case StopReason::kNone: break;
  }
  if (end.not_finite) return {RunOutcome::kDiverged, *end.not_finite};
  if (end.failed) {
    const bool is_contradiction = end.failed->outcome == RunOutcome::kCompleted;
    return {is_contradiction ? RunOutcome::kCrashed : end.failed->outcome, end.failed->message};
  }
  return of_exit(end);
}

std::optional<std::int64_t> oom_kills() {
  if (const auto count = counter_in("/sys/fs/cgroup/memory.events", "oom_kill")) return count;
  return counter_in("/proc/vmstat", "oom_kill");
}

}  // namespace nanobench::suites
