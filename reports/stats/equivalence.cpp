#include "reports/stats/equivalence.h"

#include <algorithm>

#include "core/base/error.h"
#include "reports/stats/checks.h"

namespace nanobench::reports {
namespace {

void require_alpha(double alpha) {
  if (alpha > 0.0 && alpha < 0.5) return;
  throw core::Error(core::ErrorCode::kInvalidArgument, "alpha must be between 0 and 0.5, without the ends");
}

}  // namespace

Equivalence equivalence(const Estimate& effect, const Margins& margins, double alpha) {
  require_alpha(alpha);
  require_positive(margins.low, "the lower margin");
  require_positive(margins.high, "the upper margin");
  Equivalence result;
  result.p_above_low = p_of(effect, Tail::kGreater, -margins.low);
  result.p_below_high = p_of(effect, Tail::kLess, margins.high);
  result.p = std::max(result.p_above_low, result.p_below_high);
  result.interval = interval_of(effect, 1.0 - 2.0 * alpha);
  result.is_equivalent = result.p < alpha;
  return result;
}

NonInferiority non_inferiority(const Estimate& effect, double margin, Better better, double alpha) {
  require_alpha(alpha);
  require_positive(margin, "the margin");
  const Tail tail = better == Better::kLower ? Tail::kLess : Tail::kGreater;
  NonInferiority result;
  result.p = p_of(effect, tail, better == Better::kLower ? margin : -margin);
  result.interval = interval_of(effect, 1.0 - alpha, tail);
  result.is_proved = result.p < alpha;
  return result;
}

}  // namespace nanobench::reports
