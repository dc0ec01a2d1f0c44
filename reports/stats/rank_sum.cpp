#include "reports/stats/rank_sum.h"

#include "core/base/error.h"

namespace nanobench::reports {

std::vector<double> rank_sum_cdf(int n, int m) {
  NB_CHECK(n >= 1 && m >= 1 && n <= kExactRankSumLimit && m <= kExactRankSumLimit, "arms outside the exact range");
  // counts[i][u]: ways to place i of the first arm among those seen so far with statistic u. The largest value is the
  // first arm's (it beats all of the second) or the second's.
  const std::size_t top = static_cast<std::size_t>(n) * static_cast<std::size_t>(m);
  std::vector<std::vector<double>> counts(static_cast<std::size_t>(n) + 1, std::vector<double>(top + 1, 0.0));
  for (auto& row : counts) row[0] = 1.0;
  for (std::size_t j = 1; j <= static_cast<std::size_t>(m); ++j) {
    for (std::size_t i = 1; i <= static_cast<std::size_t>(n); ++i) {
      for (std::size_t u = top; u >= j; --u) counts[i][u] = counts[i - 1][u - j] + counts[i][u];
      // Below j only the second arm's value can be the largest: the count for j - 1 stands.
    }
  }
  std::vector<double> cdf = counts[static_cast<std::size_t>(n)];
  for (std::size_t u = 1; u <= top; ++u) cdf[u] += cdf[u - 1];
  const double total = cdf[top];
  for (double& value : cdf) value /= total;
  return cdf;
}

}  // namespace nanobench::reports
