#include "reports/stats/proportion.h"

#include <boost/math/special_functions/beta.hpp>

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

}  // namespace nanobench::reports
