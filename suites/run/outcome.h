/// Classifies an ended engine process: a RunOutcome and one sentence. Pure.
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
  std::string stop_message;  ///< set unless `stop` is kNone
  std::optional<core::FinishedEvent> finished;
  std::optional<core::FailedEvent> failed;
  std::optional<std::string> not_finite;  ///< where the first non-finite loss occurred
  core::ProcessExit exit;
  bool has_hello = true;        ///< the engine sent its hello event
  bool was_oom_killed = false;  ///< the kernel's counter of such kills rose meanwhile
  bool has_cut_line = false;    ///< the events end in the middle of a line
  std::string output_tail;      ///< the engine's last words
};

struct Classification {
  core::RunOutcome outcome = core::RunOutcome::kCrashed;
  std::string message;  ///< empty when completed
};

Classification classify(const RunEnd& end);

/// The number of processes that the kernel has killed for lack of memory (in this cgroup, else on the machine); nullopt
/// if the kernel does not report it.
std::optional<std::int64_t> oom_kills();

}  // namespace nanobench::suites
