/// The order of a plan's changes by what they do to one metric, and how sure each place is. Pure, thread-safe.
///
/// Two effects of a plan share cells, so their difference is a contrast of its own: its error is that of the plan's
/// spread with the difference of both effects' coefficients.
#pragma once

#include <vector>

#include "reports/effects/effects.h"

namespace nanobench::reports {

struct LikelyOrder {
  std::vector<std::size_t> places;  ///< indexes of the effects, best (lowest) first
  /// The probability that an effect is below the next one, if nothing was known before; one less than places.
  std::vector<double> chances;
};

/// Single changes only. Effects whose cells scatter in their own way, or that have another number of seeds than the
/// first one, are left out: the plan's spread says nothing about them. No places if fewer than two remain.
///   metric   &EffectResult::loss or &EffectResult::log_time
LikelyOrder likely_order(const std::vector<EffectResult>& effects, MeasuredEffect EffectResult::*metric);

}  // namespace nanobench::reports
