#include "ablations/fraction.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::ablations {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::size_t kMaxListedGenerators = 12;  ///< 4095 words
constexpr std::size_t kMaxSearchedGenerators = 10;
constexpr std::size_t kMaxWordsLookedAt = 50'000'000;  ///< per search: a fifth of a second

FactorSet bit(std::size_t factor) {
  return FactorSet{1} << factor;
}

/// Counts of words by length, compared as aberration is: fewer short words are better.
using WordLengths = std::vector<std::size_t>;

/// Depth-first search over generators in ascending order. Words are only ever added, so a branch that is already no
/// better than the best complete choice cannot become better.
class GeneratorSearch {
 public:
  GeneratorSearch(std::size_t factors, std::size_t free_factors) : factors_(factors), free_factors_(free_factors) {
    for (FactorSet column = 1; column < bit(free_factors); ++column) {
      if (std::popcount(column) >= 2) candidates_.push_back(column);
    }
  }

  Fraction run() {
    extend(0, {}, WordLengths(factors_ + 1, 0));
    Fraction best;
    best.factors = factors_;
    best.free_factors = free_factors_;
    for (std::size_t i = 0; i < free_factors_; ++i) best.columns.push_back(bit(i));
    best.columns.insert(best.columns.end(), best_.begin(), best_.end());
    best.word_lengths = best_lengths_;
    best.is_proven_best = looked_at_ < kMaxWordsLookedAt;
    return best;
  }

 private:
  void extend(std::size_t first, const std::vector<FactorSet>& words, const WordLengths& lengths) {
    if (free_factors_ + chosen_.size() == factors_) {
      best_ = chosen_;
      best_lengths_ = lengths;
      return;
    }
    const std::size_t missing = factors_ - free_factors_ - chosen_.size();
    for (std::size_t i = first; i + missing <= candidates_.size(); ++i) {
      // Without a complete choice there is nothing to fall back on, so the first one is always finished.
      if (looked_at_ >= kMaxWordsLookedAt && !best_.empty()) return;
      const FactorSet generator = candidates_[i] | bit(free_factors_ + chosen_.size());
      std::vector<FactorSet> more = words;
      WordLengths more_lengths = lengths;
      more.push_back(generator);
      for (const FactorSet word : words) more.push_back(word ^ generator);
      for (std::size_t j = words.size(); j < more.size(); ++j)
        ++more_lengths[static_cast<std::size_t>(std::popcount(more[j]))];
      looked_at_ += more.size() - words.size();
      if (!best_.empty() && more_lengths >= best_lengths_) continue;
      chosen_.push_back(candidates_[i]);
      extend(i + 1, more, more_lengths);
      chosen_.pop_back();
    }
  }

  const std::size_t factors_;
  const std::size_t free_factors_;
  std::vector<FactorSet> candidates_;
  std::vector<FactorSet> chosen_;
  std::vector<FactorSet> best_;
  WordLengths best_lengths_;
  std::size_t looked_at_ = 0;
};

/// For many generators: products of an odd number of free factors first. An odd number of them never cancels, so the
/// resolution is IV as long as they suffice.
Fraction odd_products_first(std::size_t factors, std::size_t free_factors) {
  Fraction fraction;
  fraction.factors = factors;
  fraction.free_factors = free_factors;
  fraction.is_proven_best = false;
  for (std::size_t i = 0; i < free_factors; ++i) fraction.columns.push_back(bit(i));
  for (const bool is_odd : {true, false}) {
    for (FactorSet column = 1; column < bit(free_factors) && fraction.columns.size() < factors; ++column) {
      const int size = std::popcount(column);
      if (size >= 2 && (size % 2 == 1) == is_odd) fraction.columns.push_back(column);
    }
  }
  return fraction;
}

int shortest_word(const Fraction& fraction) {
  for (std::size_t length = 1; length < fraction.word_lengths.size(); ++length) {
    if (fraction.word_lengths[length] > 0) return static_cast<int>(length);
  }
  const std::set<FactorSet> columns(fraction.columns.begin(), fraction.columns.end());
  for (std::size_t i = 0; i < fraction.columns.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (columns.contains(fraction.columns[i] ^ fraction.columns[j])) return 3;
    }
  }
  return 4;  // more than ten generators over at most seven free factors leave no room for V
}

Fraction best_fraction(std::size_t factors, std::size_t free_factors) {
  Fraction fraction = factors - free_factors <= kMaxSearchedGenerators ? GeneratorSearch(factors, free_factors).run()
                                                                       : odd_products_first(factors, free_factors);
  if (!fraction.is_whole()) fraction.resolution = shortest_word(fraction);
  return fraction;
}

void check_factors(std::size_t factors) {
  if (factors == 0)
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kEmpty,
                        "a fractional factorial needs at least one feature");
  if (factors > kMaxFractionFactors) {
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kTooManyFeatures,
                        "a fractional factorial has at most " + std::to_string(kMaxFractionFactors) +
                            " features, and there are " + std::to_string(factors),
                        std::to_string(factors));
  }
}

std::size_t least_free_factors(std::size_t factors) {
  std::size_t free_factors = 0;
  while (bit(free_factors) <= factors) ++free_factors;
  return std::min(free_factors, factors);
}

}  // namespace

Fraction fraction_of_runs(std::size_t factors, std::size_t runs) {
  check_factors(factors);
  const std::string given = "a fraction of " + std::to_string(runs) + " runs for " + std::to_string(factors) +
                            (factors == 1 ? " feature" : " features");
  if (!std::has_single_bit(runs) || runs < 2 || runs > kMaxFractionRuns) {
    throw core::Refusal(
        ErrorCode::kInvalidArgument, core::Reason::kNoPowerOfTwo,
        given + " does not exist: the runs are a power of two from 2 to " + std::to_string(kMaxFractionRuns),
        std::to_string(runs));
  }
  if (runs <= factors) {
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kTooFewRuns,
                        given + " cannot tell their effects apart; it takes at least " +
                            std::to_string(std::size_t{1} << least_free_factors(factors)) + " runs",
                        std::to_string(runs));
  }
  const auto free_factors = static_cast<std::size_t>(std::countr_zero(runs));
  if (free_factors > factors) {
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kTooManyRuns,
                        given + " repeats runs: the whole factorial has " + std::to_string(std::size_t{1} << factors) +
                            "; give several seeds instead",
                        std::to_string(runs));
  }
  return best_fraction(factors, free_factors);
}

Fraction fraction_of_resolution(std::size_t factors, int resolution) {
  check_factors(factors);
  if (resolution < 3) {
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kOutOfRange,
                        "a resolution of " + std::to_string(resolution) +
                            " mixes the effects of single features with each other; ask for at least 3",
                        std::to_string(resolution));
  }
  for (std::size_t m = least_free_factors(factors); bit(m) <= kMaxFractionRuns && m <= factors; ++m) {
    Fraction fraction = best_fraction(factors, m);
    if (!fraction.resolution || *fraction.resolution >= resolution) return fraction;
  }
  throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kNoFraction,
                      "no fraction of at most " + std::to_string(kMaxFractionRuns) + " runs for " +
                          std::to_string(factors) + " features has resolution " + std::to_string(resolution) +
                          "; ask for less, or name fewer features",
                      std::to_string(resolution));
}

std::optional<std::vector<FactorSet>> defining_words(const Fraction& fraction) {
  if (fraction.factors - fraction.free_factors > kMaxListedGenerators) return std::nullopt;
  std::vector<FactorSet> words;
  for (std::size_t i = fraction.free_factors; i < fraction.factors; ++i) {
    const FactorSet generator = fraction.columns[i] | bit(i);
    const std::size_t before = words.size();
    words.push_back(generator);
    for (std::size_t j = 0; j < before; ++j) words.push_back(words[j] ^ generator);
  }
  const auto reversed = [](FactorSet word) {  // the earliest factor is most significant: ABD before ACE
    FactorSet result = 0;
    for (std::size_t i = 0; i < 64; ++i) result |= ((word >> i) & 1) << (63 - i);
    return result;
  };
  std::sort(words.begin(), words.end(), [&](FactorSet a, FactorSet b) {
    const int a_size = std::popcount(a);
    const int b_size = std::popcount(b);
    return a_size != b_size ? a_size < b_size : reversed(a) > reversed(b);
  });
  return words;
}

const char* roman(int resolution) {
  static constexpr std::array<const char*, 13> kNames = {"0",   "I",    "II", "III", "IV", "V",  "VI",
                                                         "VII", "VIII", "IX", "X",   "XI", "XII"};
  return resolution >= 0 && static_cast<std::size_t>(resolution) < kNames.size()
             ? kNames[static_cast<std::size_t>(resolution)]
             : "above XII";
}

}  // namespace nanobench::ablations
