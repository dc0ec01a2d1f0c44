/// How a run ended.
#pragma once

#include "core/base/enum_names.h"

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
NB_ENUM_NAMES(RunOutcome, {RunOutcome::kCompleted, "completed"}, {RunOutcome::kDiverged, "diverged"},
              {RunOutcome::kTimedOut, "timed_out"}, {RunOutcome::kCrashed, "crashed"},
              {RunOutcome::kOutOfMemory, "out_of_memory"}, {RunOutcome::kUnsupported, "unsupported"},
              {RunOutcome::kInterrupted, "interrupted"});

}  // namespace nanobench::core
