/// Mean and spread of a sample as tests need them: all values finite, n >= 2, and a spread that is not mere rounding.
/// Unlike summarise() it leaves nothing out. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace nanobench::reports {

/// Sum that loses no digits to the order of its terms (Neumaier 1974).
double compensated_sum(std::span<const double> values);

/// nullopt for no value, or one that is not finite.
std::optional<double> mean_of(std::span<const double> values);

struct Moments {
  int n = 0;
  double mean = 0.0;
  double sd = 0.0;  ///< sample standard deviation (n - 1); exactly 0 when the values differ by no more than rounding

  bool has_spread() const { return sd > 0.0; }
  double se() const;  ///< sd / sqrt(n)
};

/// Two passes, scaled, so neither a large offset nor tiny or huge values lose the spread.
///   magnitude   of what the values were computed from: differences of numbers near 3 carry the rounding of 3. The
///               largest |value| counts as well.
/// A spread of no more than 4 units of rounding of the magnitude is 0: rounding is nothing to test against.
/// nullopt for n < 2, or a value that is not finite.
std::optional<Moments> moments_of(std::span<const double> values, double magnitude = 0.0);

/// first - second, pair by pair, with the moments of the differences. nullopt as above. Throws Error{kInvalidArgument}
/// when the lengths differ.
struct PairedMoments {
  std::vector<double> differences;
  Moments moments;
};
std::optional<PairedMoments> paired_moments(std::span<const double> first, std::span<const double> second);

}  // namespace nanobench::reports
