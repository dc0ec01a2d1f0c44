#include "reports/stats/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

#include "core/base/error.h"
#include "reports/stats/distributions.h"

namespace nanobench::reports {

namespace {

template <class Value>
[[noreturn]] void refuse_value(const char* name, const char* expected, Value value) {
  std::ostringstream message;
  message << name << " must be " << expected << ", got " << value;
  throw core::Error(core::ErrorCode::kInvalidArgument, message.str());
}

}  // namespace

void refuse(const std::string& message) {
  throw core::Error(core::ErrorCode::kInvalidArgument, message);
}

void require_fraction(double value, const char* name) {
  if (!(value > 0.0 && value < 1.0)) refuse_value(name, "between 0 and 1, without the ends", value);
}

void require_finite(double value, const char* name) {
  if (!std::isfinite(value)) refuse_value(name, "a finite number", value);
}

void require_positive(double value, const char* name) {
  if (!std::isfinite(value) || value <= 0.0) refuse_value(name, "a finite number above 0", value);
}

void require_count(long count, long min, const char* name) {
  if (count < min) refuse_value(name, ("at least " + std::to_string(min)).c_str(), count);
}

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
