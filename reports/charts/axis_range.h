/// How far a chart's axis reaches. Pure, thread-safe.
#pragma once

#include <vector>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

struct AxisRange {
  double low = 0.0;
  double high = 0.0;

  double inside(double value) const { return value < low ? low : value > high ? high : value; }
};

/// The range of all values and `anchor` (0 of differences, 1 of ratios). Intervals widen it on each side by at most the
/// larger of that range and the length of the middle interval: one wide interval must not hide the others. Values that
/// are not finite do not count.
AxisRange axis_range(const std::vector<double>& values, const std::vector<ConfidenceInterval>& intervals,
                     double anchor);

}  // namespace nanobench::reports
