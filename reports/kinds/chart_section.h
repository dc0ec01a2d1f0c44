/// The pictures of a comparison report. Pure but for reading the store.
#pragma once

#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/document/document.h"
#include "reports/effects/effects.h"

namespace nanobench::reports {

/// `cells`, `table` and `effects` are the plan's. Charts that have nothing to show are left out.
Section chart_section(const results::Store& store, const results::PlanRecord& plan,
                      const std::vector<CellMeasures>& cells, const ComparisonTable& table,
                      const std::vector<EffectResult>& effects);

}  // namespace nanobench::reports
