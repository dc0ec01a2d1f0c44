/// Regular fractions of two-level factorials: which 2^m of the 2^k combinations to run. Pure; thread-safe.
///
/// The first m factors are free; each further one is set to the product of some of them (its generator), signs +1 for
/// the second level and -1 for the first. Effects that such products make equal can no longer be separated. The words
/// of the defining relation are the products that are +1 in every run, and the resolution is the length of the
/// shortest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace nanobench::ablations {

/// A set of factors, bit i being factor i.
using FactorSet = std::uint64_t;

inline constexpr std::size_t kMaxFractionFactors = 64;
inline constexpr std::size_t kMaxFractionRuns = 128;

struct Fraction {
  std::size_t factors = 0;         ///< k
  std::size_t free_factors = 0;    ///< m: 2^m runs
  std::vector<FactorSet> columns;  ///< for each factor: the free factors whose product it is
  std::optional<int> resolution;   ///< absent: the whole factorial, nothing is aliased
  /// The number of words of the defining relation of each length, from 0; empty if there are too many words to list.
  std::vector<std::size_t> word_lengths;
  bool is_proven_best = true;  ///< false: the search ended before trying every choice of generators

  std::size_t runs() const { return std::size_t{1} << free_factors; }
  bool is_whole() const { return factors == free_factors; }
};

/// The fraction of this many runs with the highest resolution and, among those, minimum aberration: the fewest shortest
/// words, then the fewest of the next length, and so on. Throws Error{kInvalidArgument} with valid choices.
Fraction fraction_of_runs(std::size_t factors, std::size_t runs);

/// The smallest fraction of at least this resolution (3 and above); the whole factorial if no smaller one has it.
Fraction fraction_of_resolution(std::size_t factors, int resolution);

/// The words of the defining relation, shortest first, then by their first factors. nullopt if there are too many to
/// list (more than 4095).
std::optional<std::vector<FactorSet>> defining_words(const Fraction& fraction);

/// "III" for 3.
const char* roman(int resolution);

}  // namespace nanobench::ablations
