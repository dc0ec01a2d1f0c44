#include "ablations/fraction.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <set>
#include <string>

#include "core/base/error.h"
#include "tests/core/base/refusal_support.h"

namespace nanobench::ablations {
namespace {

/// "ABD" for the factors 0, 1 and 3.
std::string letters(FactorSet set) {
  std::string text;
  for (int i = 0; i < 26; ++i) {
    if ((set >> i) & 1) text += static_cast<char>('A' + i);
  }
  return text;
}

std::vector<std::string> words_of(std::size_t factors, std::size_t runs) {
  std::vector<std::string> texts;
  const std::optional<std::vector<FactorSet>> words = defining_words(fraction_of_runs(factors, runs));
  for (const FactorSet word : words.value()) texts.push_back(letters(word));
  return texts;
}

void expect_refused(const std::function<void()>& action, core::Reason reason, const std::string& subject,
                    const std::string& number) {
  const core::Refused refused = core::refusal_of(action);
  EXPECT_REFUSED_AS(refused, core::ErrorCode::kInvalidArgument, reason, subject);
  EXPECT_TRUE(refused.names(number)) << refused.message;
}

TEST(Fraction, HasThePublishedDefiningRelations) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of(3, 4), (Words{"ABC"}));
  EXPECT_EQ(words_of(4, 8), (Words{"ABCD"}));
  EXPECT_EQ(words_of(5, 16), (Words{"ABCDE"}));
  EXPECT_EQ(words_of(5, 8), (Words{"ABD", "ACE", "BCDE"}));
  // 2^(6-3): D = AB, E = AC, F = BC.
  EXPECT_EQ(words_of(6, 8), (Words{"ABD", "ACE", "BCF", "DEF", "ABEF", "ACDF", "BCDE"}));
  // 2^(7-4): D = AB, E = AC, F = BC, G = ABC.
  EXPECT_EQ(words_of(7, 8), (Words{"ABD", "ACE", "AFG", "BCF", "BEG", "CDG", "DEF", "ABCG", "ABEF", "ACDF", "ADEG",
                                   "BCDE", "BDFG", "CEFG", "ABCDEFG"}));
}

struct PublishedFraction {
  std::size_t factors;
  std::size_t runs;
  int resolution;
  std::vector<std::size_t> from_three;  ///< words of length 3, 4, ...; empty: not compared
};

/// Resolutions: the table of Box, Hunter and Hunter. Word lengths: minimum aberration, Fries and Hunter (1980), Chen,
/// Sun and Wu (1993).
TEST(Fraction, HasThePublishedResolutionAndAberration) {
  const std::vector<PublishedFraction> published = {
      {3, 4, 3, {1}},
      {4, 8, 4, {0, 1}},
      {5, 8, 3, {2, 1}},
      {6, 8, 3, {4, 3}},
      {7, 8, 3, {7, 7, 0, 0, 1}},
      {5, 16, 5, {0, 0, 1}},
      {6, 16, 4, {0, 3}},
      {7, 16, 4, {0, 7}},
      {8, 16, 4, {0, 14, 0, 0, 0, 1}},
      {9, 16, 3, {4, 14}},
      {10, 16, 3, {8, 18}},
      {11, 16, 3, {12, 26}},
      {15, 16, 3, {}},
      {6, 32, 6, {0, 0, 0, 1}},
      {7, 32, 4, {0, 1, 2}},
      {8, 32, 4, {0, 3, 4}},
      {9, 32, 4, {0, 6, 8}},
      {10, 32, 4, {0, 10, 16}},
      {11, 32, 4, {0, 25}},
      {16, 32, 4, {}},
      {17, 32, 3, {}},
      {7, 64, 7, {0, 0, 0, 0, 1}},
      {8, 64, 5, {0, 0, 2, 1}},
      {9, 64, 4, {0, 1, 4}},
      {10, 64, 4, {0, 2, 8}},
      {11, 64, 4, {0, 4, 14}},
      {32, 64, 4, {}},
      {8, 128, 8, {}},
      {9, 128, 6, {}},
      {10, 128, 5, {}},
      {11, 128, 5, {}},
      {64, 128, 4, {}},
  };
  for (const PublishedFraction& known : published) {
    SCOPED_TRACE(std::to_string(known.factors) + " factors in " + std::to_string(known.runs) + " runs");
    const Fraction fraction = fraction_of_runs(known.factors, known.runs);
    EXPECT_EQ(fraction.resolution, known.resolution);
    EXPECT_EQ(fraction.runs(), known.runs);
    for (std::size_t i = 0; i < known.from_three.size(); ++i) {
      ASSERT_LT(i + 3, fraction.word_lengths.size());
      EXPECT_EQ(fraction.word_lengths[i + 3], known.from_three[i]) << "words of length " << i + 3;
    }
    if (known.factors <= 11) {
      EXPECT_TRUE(fraction.is_proven_best);
    }
  }
}

/// The stated resolution by brute force: the fewest columns whose product is constant.
int brute_resolution(const Fraction& fraction) {
  int shortest = 99;
  for (FactorSet set = 1; set < (FactorSet{1} << fraction.factors); ++set) {
    FactorSet product = 0;
    for (std::size_t i = 0; i < fraction.factors; ++i) {
      if ((set >> i) & 1) product ^= fraction.columns[i];
    }
    if (product == 0) shortest = std::min(shortest, std::popcount(set));
  }
  return shortest;
}

TEST(Fraction, StatesTheResolutionThatItHas) {
  for (std::size_t factors = 3; factors <= 16; ++factors) {
    for (std::size_t runs = 4; runs <= 32; runs *= 2) {
      if (runs <= factors || runs >= (std::size_t{1} << factors)) continue;
      const Fraction fraction = fraction_of_runs(factors, runs);
      EXPECT_EQ(fraction.resolution, brute_resolution(fraction)) << factors << " in " << runs;
      EXPECT_EQ(std::set<FactorSet>(fraction.columns.begin(), fraction.columns.end()).size(), factors);
    }
  }
}

TEST(Fraction, OfAResolutionIsTheSmallest) {
  EXPECT_EQ(fraction_of_resolution(5, 3).runs(), 8u);
  EXPECT_EQ(fraction_of_resolution(5, 4).runs(), 16u);
  EXPECT_EQ(fraction_of_resolution(5, 5).runs(), 16u);
  EXPECT_EQ(fraction_of_resolution(8, 4).runs(), 16u);
  EXPECT_EQ(fraction_of_resolution(14, 3).runs(), 16u);
  EXPECT_EQ(fraction_of_resolution(14, 4).runs(), 32u);
  EXPECT_EQ(fraction_of_resolution(40, 4).runs(), 128u);
  EXPECT_TRUE(fraction_of_resolution(2, 4).is_whole()) << "four runs of two factors are all there are";
  EXPECT_FALSE(fraction_of_resolution(2, 4).resolution.has_value());
}

TEST(Fraction, RefusesInOneSentence) {
  expect_refused([] { fraction_of_runs(5, 12); }, core::Reason::kNoPowerOfTwo, "12", "128");
  expect_refused([] { fraction_of_runs(8, 8); }, core::Reason::kTooFewRuns, "8", " 16 ");
  expect_refused([] { fraction_of_runs(3, 16); }, core::Reason::kTooManyRuns, "16", " 8;");
  expect_refused([] { fraction_of_runs(65, 128); }, core::Reason::kTooManyFeatures, "65", " 64 ");
  expect_refused([] { fraction_of_resolution(5, 2); }, core::Reason::kOutOfRange, "2", " 3");
  expect_refused([] { fraction_of_resolution(30, 5); }, core::Reason::kNoFraction, "5", " 128 ");
}

}  // namespace
}  // namespace nanobench::ablations
