/// Factorial effects by least squares (internal to ablations): which effects some cells tell apart, the contrast of
/// each, and what else it estimates. Pure; thread-safe.
#pragma once

#include <vector>

#include "ablations/design.h"

namespace nanobench::ablations {

/// Fills contrasts, alias_order, is_orthogonal and not_estimable from factors and cells. Effects are taken in ascending
/// order of factors; one whose column depends on those before it gets no contrast and is their alias. Cost: effects x
/// cells^2.
void estimate_effects(DesignTable& table);

}  // namespace nanobench::ablations
