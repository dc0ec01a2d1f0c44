#include "reports/stats/proportion.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

#include "reports/stats/distributions.h"

namespace nanobench::reports {

std::optional<ConfidenceInterval> clopper_pearson(int hits, int trials, double level) {
  require_fraction(level, "the confidence level");
  require_count(hits, 0, "the number of hits");
  require_count(trials, hits, "the number of trials");
  if (trials == 0) return std::nullopt;
  const double tail = (1.0 - level) / 2.0;
  const double k = hits, n = trials;
  return ConfidenceInterval{.low = hits == 0 ? 0.0 : boost::math::ibeta_inv(k, n - k + 1.0, tail),
                            .high = hits == trials ? 1.0 : boost::math::ibetac_inv(k + 1.0, n - k, tail),
                            .level = level};
}

std::optional<ConfidenceInterval> wilson(double hits, int trials, double level) {
  require_fraction(level, "the confidence level");
  require_count(trials, 0, "the number of trials");
  if (!(hits >= 0.0 && hits <= trials)) refuse("the number of hits must be from 0 to the number of trials");
  if (trials == 0) return std::nullopt;
  const double z = normal_quantile((1.0 + level) / 2.0), n = trials, share = hits / n;
  const double middle = share + z * z / (2.0 * n), whole = 1.0 + z * z / n;
  const double half = z * std::sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n));
  return ConfidenceInterval{
      .low = std::max(0.0, (middle - half) / whole), .high = std::min(1.0, (middle + half) / whole), .level = level};
}

std::optional<double> mcnemar(int only_first, int only_second) {
  require_count(only_first, 0, "the number of cases that only the first has right");
  require_count(only_second, 0, "the number of cases that only the second has right");
  const int fewer = std::min(only_first, only_second), more = std::max(only_first, only_second);
  if (more == 0) return std::nullopt;
  if (fewer == more) return 1.0;
  return 2.0 * boost::math::ibeta(static_cast<double>(more), fewer + 1.0, 0.5);  // 2 P(at most `fewer` of all)
}

}  // namespace nanobench::reports
