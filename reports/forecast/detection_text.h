/// The wording of where a plan's noise is known from, and of why an effect has no number. Pure, thread-safe.
#pragma once

#include <string>

#include "reports/forecast/forecast.h"

namespace nanobench::reports {

/// "plan 3, one configuration against itself (a_a)"
std::string source_text(const NoiseFigure& noise);

/// "2 seeds give no verdict: --seeds 3 or more"
std::string text_of(const Undetectable& why, const NoiseFigure& noise);

}  // namespace nanobench::reports
