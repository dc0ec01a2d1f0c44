// Seeded simulation: how often something holds, and whether that is what was promised.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "reports/stats/distributions.h"

namespace nanobench::reports {

class NormalDraws {
 public:
  explicit NormalDraws(std::uint64_t seed) : random_(seed, 1) {}

  double next(double mean = 0.0, double sd = 1.0) { return mean + sd * normal_quantile(random_.fraction() + 0x1p-54); }

  std::vector<double> sample(int n, double mean = 0.0, double sd = 1.0) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(next(mean, sd));
    return values;
  }

 private:
  core::RandomStream random_;
};

inline double share_of(int repetitions, const std::function<bool()>& happens) {
  int count = 0;
  for (int i = 0; i < repetitions; ++i) count += happens() ? 1 : 0;
  return static_cast<double>(count) / repetitions;
}

/// Four standard errors of a binomial share: a true promise fails in 1 of 16,000 seeds.
inline double slack(double promised, int repetitions) {
  return 4.0 * std::sqrt(promised * (1.0 - promised) / repetitions);
}

inline void expect_share(double share, double promised, int repetitions, const std::string& what) {
  EXPECT_NEAR(share, promised, slack(promised, repetitions)) << what;
}

}  // namespace nanobench::reports
