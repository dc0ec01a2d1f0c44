/// The k-th smallest of numbers that can be counted and need not be listed. Pure, thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>

namespace nanobench::reports {

/// Doubles in their order as integers, so that bisection ends at a double. Not for NaN.
inline std::int64_t ordinal_of(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value + 0.0);
  return bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits;
}

inline double value_of_ordinal(std::int64_t ordinal) {
  return std::bit_cast<double>(ordinal >= 0 ? ordinal : std::numeric_limits<std::int64_t>::min() - ordinal);
}

/// The smallest number in [lowest, highest] of which `count_up_to`, which never falls, says at least `k`.
template <class CountUpTo>
double smallest_with(std::uint64_t k, double lowest, double highest, CountUpTo count_up_to) {
  std::int64_t low = ordinal_of(lowest);
  std::int64_t high = ordinal_of(highest);
  while (low < high) {
    const std::int64_t middle = std::midpoint(low, high);
    if (count_up_to(value_of_ordinal(middle)) >= k) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return value_of_ordinal(low);
}

}  // namespace nanobench::reports
