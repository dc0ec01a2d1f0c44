/// Means with their spread, and the effect of one cell against another. Pure functions, thread-safe. Undefined results
/// are nullopt, never 0: one value has no spread.
///
/// A Summary is for tables, and leaves out values that are not finite. Moments are for tests: they need finite values
/// and n >= 2, and distinguish a spread from mere rounding.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace nanobench::reports {

/// One number per replicate, by seed. Cells with common seeds share their random numbers, so they can be paired.
using BySeed = std::map<std::uint64_t, double>;

struct Summary {
  int n = 0;                   ///< finite values
  std::optional<double> mean;  ///< absent for n = 0
  std::optional<double> sd;    ///< sample standard deviation (n - 1); absent for n < 2
};

/// Ignores values that are not finite.
Summary summarise(const std::vector<double>& values);
Summary summarise(const BySeed& values);

/// Middle value, or the mean of the two middle ones; ignores values that are not finite; nullopt if none is left.
std::optional<double> median(std::vector<double> values);

/// The effect of a cell against its reference.
struct Effect {
  double value = 0.0;
  std::optional<double> sd;  ///< spread of the differences (ratios) seed by seed; absent for n < 2 or unpaired
  int n = 0;                 ///< number of pairs; if unpaired, the smaller n
  bool is_paired = false;    ///< the mean of differences seed by seed; else the difference of the means
};

/// value - reference; nullopt when either side has no value.
std::optional<Effect> difference(const BySeed& values, const BySeed& reference);

/// reference / value: above 1 the cell is faster. nullopt when either side has no value above 0.
std::optional<Effect> speed_up(const BySeed& values, const BySeed& reference);

/// A sum that loses no digits to the order of its terms (Neumaier 1974).
double compensated_sum(std::span<const double> values);

/// nullopt for no value, or one that is not finite.
std::optional<double> mean_of(std::span<const double> values);

/// Variance of the error of a value that is rounded to multiples of `unit`: it is uniform within its last digit.
inline double rounding_variance(double unit) {
  return unit * unit / 12.0;
}

struct Moments {
  int n = 0;
  double mean = 0.0;
  double sd = 0.0;  ///< sample standard deviation (n - 1); exactly 0 when the values differ by no more than rounding

  bool has_spread() const { return sd > 0.0; }
  double se() const;  ///< sd / sqrt(n)
};

/// Two passes, scaled, so neither a large offset nor tiny or huge values lose the spread.
///   magnitude   of the numbers that the values were computed from: differences of numbers near 3 carry the rounding
///               of 3. The largest |value| counts as well.
/// A spread of up to 4 units of rounding of the magnitude is 0, because a test cannot use rounding.
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
