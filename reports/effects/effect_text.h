/// The wording of what is odd about an effect. Pure, thread-safe.
#pragma once

#include <string>

#include "reports/effects/effects.h"

namespace nanobench::reports {

/// "n = 2; a verdict needs 3"; empty with a verdict.
std::string reason_text(const EffectResult& effect);

/// That two tests judge the loss differently. REQUIRES effect.second.beside(effect.loss).
std::string disagreement_text(const EffectResult& effect);

}  // namespace nanobench::reports
