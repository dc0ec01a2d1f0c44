/// Means with their spread, and the effect of one cell against another. Pure functions, thread-safe. Undefined is
/// nullopt, never 0: one value has no spread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace nanobench::reports {

/// One number per replicate, by seed. Two cells with common seeds share their random numbers, so they can be paired.
using BySeed = std::map<std::uint64_t, double>;

struct Summary {
  int n = 0;                   ///< finite values
  std::optional<double> mean;  ///< absent for n = 0
  std::optional<double> sd;    ///< sample standard deviation (n - 1); absent for n < 2
};

/// Ignores values that are not finite.
Summary summarise(const std::vector<double>& values);
Summary summarise(const BySeed& values);

/// Middle value, or the mean of the two middle ones; ignores values that are not finite; nullopt when none is left.
std::optional<double> median(std::vector<double> values);

/// What a cell changes against its reference.
struct Effect {
  double value = 0.0;
  std::optional<double> sd;  ///< of the differences (ratios) seed by seed; absent for n < 2 or unpaired
  int n = 0;                 ///< pairs; for unpaired the smaller n
  bool is_paired = false;    ///< means of differences seed by seed; else the difference of the means
};

/// value - reference; nullopt when either side has no value.
std::optional<Effect> difference(const BySeed& values, const BySeed& reference);

/// reference / value: above 1 the cell is faster. nullopt when either side has no value above 0.
std::optional<Effect> speed_up(const BySeed& values, const BySeed& reference);

}  // namespace nanobench::reports
