/// The null distribution of Mann and Whitney's U without ties. Pure, thread-safe.
#pragma once

#include <vector>

namespace nanobench::reports {

/// Larger arms take the normal approximation.
inline constexpr int kExactRankSumLimit = 20;

/// P(U <= k) for k = 0 ... n * m, exact: counts up to C(40, 20) are whole doubles. 1 <= n, m <= kExactRankSumLimit.
std::vector<double> rank_sum_cdf(int n, int m);

}  // namespace nanobench::reports
