#include "reports/stats/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "reports/stats/distributions.h"
#include "reports/stats/interval.h"

namespace nanobench::reports {
namespace {

void require_usable(const Estimate& estimate) {
  if (estimate.is_usable()) return;
  throw core::Error(core::ErrorCode::kInvalidArgument,
                    "an estimate needs a finite value, a standard error above 0 and degrees of freedom above 0");
}

}  // namespace

bool Estimate::is_usable() const {
  return std::isfinite(value) && std::isfinite(se) && se > 0.0 && df > 0.0;
}

double t_of(const Estimate& estimate, double null) {
  return (estimate.value - null) / estimate.se;
}

double p_of(const Estimate& estimate, Tail tail, double null) {
  require_usable(estimate);
  require_finite(null, "the null value");
  const double largest = std::numeric_limits<double>::max();
  return t_p_value(std::clamp(t_of(estimate, null), -largest, largest), estimate.df, tail);
}

ConfidenceInterval interval_of(const Estimate& estimate, double level, Tail tail) {
  require_usable(estimate);
  require_fraction(level, "the confidence level");
  const double alpha = tail == Tail::kTwoSided ? (1.0 - level) / 2.0 : 1.0 - level;
  const double reach = -t_quantile(alpha, estimate.df) * estimate.se;
  return {.low = tail == Tail::kLess ? -kInfinity : estimate.value - reach,
          .high = tail == Tail::kGreater ? kInfinity : estimate.value + reach,
          .level = level};
}

std::optional<Estimate> combine(std::span<const Term> terms) {
  std::vector<double> values;
  double largest = 0.0;
  for (const Term& term : terms) {
    values.push_back(term.factor * term.estimate.value);
    largest = std::max(largest, std::abs(term.factor) * term.estimate.se);
  }
  // Relative to the largest error, so that squares neither overflow nor underflow.
  double variance = 0.0;
  double weighted = 0.0;
  for (const Term& term : terms) {
    const double share = term.factor * term.estimate.se / largest;
    if (share == 0.0) continue;
    variance += share * share;
    weighted += share * share * share * share / term.estimate.df;
  }
  const double df = weighted > 0.0 ? variance * variance / weighted : kInfinity;
  const Estimate sum{.value = compensated_sum(values), .se = largest * std::sqrt(variance), .df = df};
  if (!sum.is_usable()) return std::nullopt;
  return sum;
}

Estimate estimate_of(const Moments& moments) {
  return {.value = moments.mean, .se = moments.se(), .df = moments.n - 1.0};
}

}  // namespace nanobench::reports
