#include "reports/stats/time_to_target.h"

#include <cmath>

namespace nanobench::reports {

TimeToTarget time_to_target(const std::vector<CurvePoint>& curve, double target) {
  TimeToTarget result;
  const CurvePoint* previous = nullptr;
  for (const CurvePoint& point : curve) {
    if (!std::isfinite(point.loss)) continue;
    if (point.clock_s) result.status = TimeToTarget::Status::kNotReached;
    if (point.loss > target) {
      previous = &point;
      continue;
    }
    if (!point.clock_s) return {.status = TimeToTarget::Status::kBeforeClock};
    result = {.status = TimeToTarget::Status::kReached, .seconds = *point.clock_s};
    if (previous != nullptr) {
      const double start = previous->clock_s.value_or(0.0);
      const double fraction = (previous->loss - target) / (previous->loss - point.loss);
      result.seconds = start + fraction * (*point.clock_s - start);
    }
    return result;
  }
  return result;
}

}  // namespace nanobench::reports
