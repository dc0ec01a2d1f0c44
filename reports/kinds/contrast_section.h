/// "What estimates what": the contrasts of a plan, and what they come to where something was measured. Pure.
#pragma once

#include <vector>

#include "reports/document/document.h"
#include "reports/effects/effects.h"
#include "reports/effects/seeds_needed.h"

namespace nanobench::reports {

/// Before anything is measured: which combination of the cells estimates which effect.
Section contrast_section(const std::vector<results::PlanContrast>& contrasts);

/// With the estimates, which stand in the same order, and the seeds that those without a verdict need.
Section contrast_section(const std::vector<results::PlanContrast>& contrasts, const std::vector<EffectResult>& effects,
                         const std::vector<std::optional<SeedsForVerdict>>& needed);

}  // namespace nanobench::reports
