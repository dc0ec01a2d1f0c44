/// The wording of a gate: why two sides are not compared, what a check rests on, what was missing. Pure, thread-safe.
/// Texts hold stored names: escape them when printing.
#pragma once

#include <string>

#include "reports/gate/gate.h"

namespace nanobench::reports {

/// "the GPU differs: the baseline has none, the candidate NVIDIA H100"
std::string text_of(const Mismatch& mismatch);

/// "at worst +1.20 % (95 % confidence), which is beyond the margin"; empty for CheckReason::kNone.
std::string reason_text(const GateCheck& check);

/// "candidate, base, seed 3: crashed: SIGSEGV"
std::string text_of(const GateProblem& problem);

}  // namespace nanobench::reports
