#include "core/data/generated_items.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/data/corpus_oracle.h"
#include "tests/core/data/data_test_support.h"

namespace nanobench::core {
namespace {
using testing::error_of;

CorpusConfig few_words() {
  CorpusConfig config;
  config.vocab_size = 4;
  config.topics = 2;
  config.successors = 1;
  return config;
}

/// P(words) of a document's beginning, as the sum over the topics of products.
double probability(const CorpusModel& model, const std::vector<std::uint16_t>& words) {
  double sum = 0;
  for (std::int64_t topic = 0; topic < model.topics(); ++topic) {
    double product = model.first_word_probability(topic, words[0]);
    for (std::size_t i = 1; i < words.size(); ++i)
      product *= model.next_word_probability(topic, words[i - 1], words[i]);
    sum += product / static_cast<double>(model.topics());
  }
  return sum;
}

std::vector<std::uint16_t> joined_words(const std::vector<std::uint16_t>& context,
                                        const std::vector<std::uint16_t>& ending) {
  std::vector<std::uint16_t> words = context;
  words.insert(words.end(), ending.begin(), ending.end());
  return words;
}

/// P(ending at this place), by adding up every context that there can be.
double prior_by_counting(const CorpusModel& model, std::size_t context, const std::vector<std::uint16_t>& ending) {
  double sum = 0;
  std::vector<std::uint16_t> words(context);
  const auto last = static_cast<std::uint16_t>(model.vocab_size() - 1);
  for (;;) {
    sum += probability(model, joined_words(words, ending));
    const auto next = std::find_if(words.begin(), words.end(), [&](std::uint16_t word) { return word < last; });
    if (next == words.end()) return sum;
    ++*next;
    std::fill(words.begin(), next, std::uint16_t{0});
  }
}

TEST(GeneratedItems, HaveTheChancesThatCountingAllDocumentsGives) {
  const CorpusModel model(few_words());
  const ChoiceTask task = generated_items(model, 20, {.context_words = 4, .ending_words = 2, .endings = 3});
  double best = 0;
  for (const ChoiceItem& item : task.items) {
    std::vector<double> expected;
    for (const auto& ending : item.endings)
      expected.push_back(probability(model, joined_words(item.context, ending)) /
                         prior_by_counting(model, item.context.size(), ending));
    const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
    const std::vector<double> chances = ending_chances(model, item);
    for (std::size_t i = 0; i < chances.size(); ++i) EXPECT_NEAR(chances[i], expected[i] / sum, 1e-12);
    best += *std::max_element(expected.begin(), expected.end()) / sum;
  }
  EXPECT_NEAR(*task.best_accuracy, best / 20, 1e-12);
}

TEST(GeneratedItems, AreLikelyAsTheOracleSays) {
  const CorpusModel model{CorpusConfig{}};
  for (const ChoiceItem& item : generated_items(model, 5).items) {
    CorpusOracle oracle(model);
    oracle.loss(static_cast<std::uint16_t>(model.config().separator()));
    for (const std::uint16_t word : item.context) oracle.loss(word);
    double log_probability = 0;
    std::int64_t words = static_cast<std::int64_t>(item.context.size());
    for (const std::uint16_t word : item.endings[item.right])  // without the chance that the document goes on
      log_probability -= oracle.loss(word) + std::log1p(-model.end_probability(words++));
    EXPECT_NEAR(ending_log_probability(model, item.context, item.endings[item.right]), log_probability, 1e-9);
  }
}

/// The best answers are right as often as their chances say, and no rule that looks at the endings alone is.
TEST(GeneratedItems, AreAnsweredBestByTheirChances) {
  const CorpusModel model{CorpusConfig{}};
  const ChoiceTask task = generated_items(model, 4000);
  double right = 0, by_likelihood = 0;
  std::array<int, 4> labels{};
  for (const ChoiceItem& item : task.items) {
    const std::vector<double> chances = ending_chances(model, item);
    EXPECT_NEAR(std::accumulate(chances.begin(), chances.end(), 0.0), 1.0, 1e-12);
    right += std::max_element(chances.begin(), chances.end()) - chances.begin() == std::ptrdiff_t(item.right) ? 1 : 0;
    std::vector<double> likelihoods;
    for (const auto& ending : item.endings) likelihoods.push_back(ending_log_probability(model, item.context, ending));
    by_likelihood +=
        std::max_element(likelihoods.begin(), likelihoods.end()) - likelihoods.begin() == std::ptrdiff_t(item.right)
            ? 1
            : 0;
    ++labels[item.right];
    EXPECT_EQ(item.context.size(), 24U);
    for (const auto& ending : item.endings) EXPECT_EQ(ending.size(), 6U);
  }
  const double best = *task.best_accuracy, deviation = std::sqrt(best * (1 - best) / 4000);
  EXPECT_NEAR(right / 4000, best, 4 * deviation);
  EXPECT_GT(best, 0.5);
  EXPECT_LT(best, 0.98) << "some items cannot be answered";
  EXPECT_GT(by_likelihood / 4000, 0.5) << "the answers of the ideal language model, by the sum of losses";
  EXPECT_LE(by_likelihood / 4000, best + 4 * deviation);
  for (const int count : labels) EXPECT_NEAR(count, 1000, 4 * std::sqrt(4000 * 0.25 * 0.75));
}

TEST(GeneratedItems, AreTheSameEverywhereAndFewerAreABeginning) {
  const CorpusModel model{CorpusConfig{}};
  const ChoiceTask ten = generated_items(model, 10);
  const ChoiceTask three = generated_items(model, 3);
  EXPECT_TRUE(std::equal(three.items.begin(), three.items.end(), ten.items.begin()));
  EXPECT_EQ(digest_of(ten), "f6a121d260363dd3422c625bf13ac2f3");
  CorpusConfig other;
  other.seed = 2;
  EXPECT_NE(digest_of(generated_items(CorpusModel(other), 10)), digest_of(ten));
}

TEST(GeneratedItems, RefuseWhatNoDocumentHolds) {
  const CorpusModel model{CorpusConfig{}};
  const auto refused = [&](std::size_t count, const GeneratedItemShape& shape) {
    error_of(ErrorCode::kInvalidArgument, [&] { generated_items(model, count, shape); });
  };
  refused(0, {});
  refused(65536, {});
  refused(1, {.context_words = 8192, .ending_words = 6, .endings = 4});
  refused(1, {.context_words = 4, .ending_words = 6, .endings = 1});
  refused(1, {.context_words = 0, .ending_words = 6, .endings = 4});
}

}  // namespace
}  // namespace nanobench::core
