/// The first words of a comparison: how many changes pay, and what the others need. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/effects/effects.h"
#include "reports/effects/seeds_needed.h"

namespace nanobench::reports {

/// "5 of 9 changes pay on this machine; 2 are barnacles: proved to do neither good nor harm; 2 need more runs: about 14
/// more seeds each."
///   needed   of seeds_needed(), beside the effects
///   place    "this machine"
/// Empty where no effect is judged.
std::string effects_headline(const std::vector<EffectResult>& effects,
                             const std::vector<std::optional<SeedsForVerdict>>& needed, const std::string& place);

/// The same for a plan, and what else its rows say first: runs that failed or are not done, and of a history from where
/// to where it went.
std::string comparison_headline(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                const ComparisonTable& table, const std::vector<EffectResult>& effects,
                                const std::vector<std::optional<SeedsForVerdict>>& needed);

}  // namespace nanobench::reports
