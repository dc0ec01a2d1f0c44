/// From what is known of an ended engine process to a RunOutcome and one sentence. Pure.
#pragma once

#include <optional>
#include <string>

#include "core/process/child_process.h"
#include "core/protocol/run_event.h"

namespace nanobench::suites {

/// Why the runner itself stopped an engine.
enum class StopReason { kNone, kInterrupted, kTimeLimit, kSilence, kBrokenEvents, kNotFinite };

struct RunEnd {
  StopReason stop = StopReason::kNone;
  std::string stop_message;  ///< for all but kNone
  std::optional<core::FinishedEvent> finished;
  std::optional<core::FailedEvent> failed;
  std::optional<std::string> not_finite;  ///< where the first loss was not a finite number
  core::ProcessExit exit;
  bool has_hello = true;        ///< the engine has begun
  bool was_oom_killed = false;  ///< the kernel's counter of such kills went up meanwhile
  bool has_cut_line = false;    ///< the events end in the middle of a line
  std::string output_tail;      ///< the engine's last words
};

struct Classification {
  core::RunOutcome outcome = core::RunOutcome::kCrashed;
  std::string message;  ///< empty when completed
};

Classification classify(const RunEnd& end);

/// How many processes the kernel has killed for memory (of this cgroup, else of the machine); nullopt when it does not
/// say.
std::optional<std::int64_t> oom_kills();

}  // namespace nanobench::suites
