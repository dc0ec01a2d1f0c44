#include "reports/charts/axis_range.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/summary.h"

namespace nanobench::reports {

AxisRange axis_range(const std::vector<double>& values, const std::vector<ConfidenceInterval>& intervals,
                     double anchor) {
  AxisRange core{.low = anchor, .high = anchor};
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    core.low = std::min(core.low, value);
    core.high = std::max(core.high, value);
  }
  std::vector<double> lengths;
  for (const ConfidenceInterval& interval : intervals) lengths.push_back(interval.high - interval.low);
  const double reach = std::max(core.high - core.low, median(lengths).value_or(0.0));
  AxisRange range = core;
  for (const ConfidenceInterval& interval : intervals) {
    if (!std::isnan(interval.low)) range.low = std::min(range.low, std::max(interval.low, core.low - reach));
    if (!std::isnan(interval.high)) range.high = std::max(range.high, std::min(interval.high, core.high + reach));
  }
  return range;
}

}  // namespace nanobench::reports
