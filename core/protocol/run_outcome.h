/// How a run ended. Stored by name: do not change the names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nanobench::core {

enum class RunOutcome {
  kCompleted,    ///< all steps done
  kDiverged,     ///< a loss was NaN or infinite
  kTimedOut,     ///< killed by the runner's limit, or silent for too long
  kCrashed,      ///< a signal, a non-zero exit, or a broken event stream
  kOutOfMemory,  ///< the engine or the kernel said so
  kUnsupported,  ///< the engine cannot do what the run asks for
  kInterrupted,  ///< the user stopped it; `run` continues it
};

std::string to_string(RunOutcome outcome);
std::optional<RunOutcome> run_outcome_from(std::string_view name);

}  // namespace nanobench::core
