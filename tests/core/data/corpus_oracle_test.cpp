#include "core/data/corpus_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/data/data_set.h"
#include "tests/core/data/data_test_support.h"

namespace nanobench::core {
namespace {
using testing::error_of;

/// Words independent and uniform over 8, documents of 10 words.
CorpusConfig uniform_words() {
  CorpusConfig config;
  config.vocab_size = 8;
  config.topics = 1;
  config.shared_transitions = 0;
  config.topic_transitions = 0;
  config.zipf_exponent = 0;
  config.topic_boost = 1;
  config.log_length_mean = std::log(10.0);
  config.log_length_deviation = 0;
  return config;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(EntropyRate, UniformWordsHaveTheLogarithmOfTheirNumber) {
  const EntropyRate rate = entropy_rate(CorpusModel(uniform_words()));
  EXPECT_EQ(rate.tokens_per_document, 11);
  EXPECT_NEAR(rate.nats_per_token, 10 * std::log(8.0) / 11, 1e-12);
  EXPECT_NEAR(rate.lower_bound, rate.nats_per_token, 1e-12);
  EXPECT_NEAR(rate.upper_bound, rate.nats_per_token, 1e-12);
  EXPECT_NEAR(rate.standard_error, 0, 1e-12);
}

TEST(EntropyRate, DeterministicTransitionsLeaveTheFirstWord) {
  CorpusConfig config = uniform_words();
  config.shared_transitions = 1;
  config.successors = 1;
  EXPECT_NEAR(entropy_rate(CorpusModel(config)).nats_per_token, std::log(8.0) / 11, 1e-12);
}

TEST(EntropyRate, IndependentZipfianWords) {
  CorpusConfig config = uniform_words();
  config.vocab_size = 100;
  config.zipf_exponent = 1;
  double total = 0, sum = 0;
  for (int r = 1; r <= 100; ++r) total += 1.0 / r;
  for (int r = 1; r <= 100; ++r) sum += std::log(r * total) / (r * total);
  EXPECT_NEAR(entropy_rate(CorpusModel(config)).nats_per_token, 10 * sum / 11, 1e-8);
}

TEST(EntropyRate, RandomLengthsAddTheirEntropy) {
  CorpusConfig config = uniform_words();
  config.log_length_deviation = 0.7;
  config.max_length = 200;
  std::vector<double> p;
  for (int n = 1; n <= 200; ++n)
    p.push_back(std::exp(-0.5 * std::pow((std::log(n) - config.log_length_mean) / 0.7, 2)) / n);
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  double nats = 0, length = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    nats -= p[i] / total * std::log(p[i] / total);
    length += p[i] / total * static_cast<double>(i + 1);
  }
  const EntropyRate rate = entropy_rate(CorpusModel(config));
  EXPECT_NEAR(rate.tokens_per_document, length + 1, 1e-6);
  EXPECT_NEAR(rate.nats_per_token, (nats + length * std::log(8.0)) / (length + 1), 1e-7);
}

// Two topics whose words never overlap: the first word tells the topic, so its information is exactly ln 2.
TEST(EntropyRate, DisjointTopicsReachTheUpperBound) {
  CorpusConfig config = uniform_words();
  config.vocab_size = 40;
  config.topics = 2;
  config.topic_boost = 1e6;
  config.log_length_mean = std::log(100.0);
  const EntropyRate rate = entropy_rate(CorpusModel(config));
  EXPECT_NEAR(rate.upper_bound - rate.lower_bound, std::log(2.0) / 101, 1e-12);
  EXPECT_NEAR(rate.nats_per_token, rate.upper_bound, 1e-8);
}

TEST(EntropyRate, AgreesWithTheOracleOnALongStream) {
  CorpusConfig config;
  config.vocab_size = 30;
  config.topics = 3;
  config.topic_boost = 2;  // topics that are hard to tell apart: the sampled part matters
  config.topic_transitions = 0.05;
  config.log_length_mean = 3;
  const CorpusModel model(config);
  const EntropyRate rate = entropy_rate(model);
  EXPECT_GT(rate.nats_per_token, rate.lower_bound + 10 * rate.standard_error);
  EXPECT_LT(rate.nats_per_token, rate.upper_bound - 10 * rate.standard_error);

  const auto tokens = generate_tokens(model, CorpusStream::kTrain, 1500000);
  const std::vector<double> losses = oracle_losses(model, tokens);
  // Documents are independent; the ratio of means has this standard error.
  std::vector<double> nats{0}, sizes{1};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    nats.back() += losses[i];
    if (tokens[i + 1] == 30) {
      nats.push_back(0);
      sizes.push_back(0);
    }
    sizes.back() += 1;
  }
  const double loss = mean(losses);
  double squares = 0;
  for (std::size_t i = 0; i < nats.size(); ++i) squares += std::pow(nats[i] - loss * sizes[i], 2);
  const double error = std::sqrt(squares) / static_cast<double>(losses.size());
  EXPECT_LT(error, 0.003);
  EXPECT_NEAR(loss, rate.nats_per_token, 4 * error);
}

TEST(EntropyRate, DefaultsLieWhereALossIsInformative) {
  const CorpusModel model(CorpusConfig{});
  const EntropyRate rate = entropy_rate(model);
  EXPECT_GT(rate.nats_per_token, 2.5);
  EXPECT_LT(rate.nats_per_token, 3.2);
  EXPECT_LT(rate.standard_error, 1e-4);
  const auto tokens = generate_tokens(model, CorpusStream::kTrain, 500000);
  const double oracle = oracle_loss(model, tokens);
  EXPECT_GT(unigram_entropy(tokens), 4.5);
  EXPECT_LT(unigram_entropy(tokens), 4.8);
  EXPECT_LT(oracle, bigram_entropy(tokens) - 0.2);
  EXPECT_LT(bigram_entropy(tokens), unigram_entropy(tokens) - 1);
  EXPECT_NEAR(oracle, rate.nats_per_token, 0.02);
}

TEST(CorpusOracle, LossesAreThoseOfTheJointProbability) {
  CorpusConfig config;
  config.vocab_size = 12;
  config.topics = 3;
  config.log_length_mean = 2;
  const CorpusModel model(config);
  const auto tokens = generate_tokens(model, CorpusStream::kTrain, 60);
  double log_probability = 0;
  std::size_t i = 0;
  while (i < tokens.size()) {  // documents one by one, each summed over the topics
    std::size_t end = i + 1;
    while (end < tokens.size() && tokens[end] != 12) ++end;
    double sum = 0;
    for (std::int64_t k = 0; k < 3; ++k) {
      double p = model.first_word_probability(k, tokens[i + 1]) / 3;
      for (std::size_t j = i + 2; j < end; ++j) p *= model.next_word_probability(k, tokens[j - 1], tokens[j]);
      sum += p;
    }
    const auto words = static_cast<std::int64_t>(end - i - 1);
    double lengths = 0;
    for (std::int64_t n = words; n <= config.max_length; ++n) lengths += model.length_probability(n);
    log_probability += std::log(sum * (end < tokens.size() ? model.length_probability(words) : lengths));
    i = end;
  }
  EXPECT_NEAR(oracle_loss(model, tokens) * 59, -log_probability, 1e-7);
}

TEST(CorpusOracle, PredictionsAndPosteriorSumToOne) {
  const CorpusModel model(CorpusConfig{});
  const auto tokens = generate_tokens(model, CorpusStream::kTrain, 1500);
  CorpusOracle oracle(model);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    oracle.loss(tokens[i]);
    const auto posterior = oracle.posterior();
    EXPECT_NEAR(std::accumulate(posterior.begin(), posterior.end(), 0.0), 1, 1e-12);
    if (i % 50 != 0) continue;
    double sum = 0;
    for (std::uint16_t next = 0; next <= 256; ++next) {
      CorpusOracle copy = oracle;
      sum += std::exp(-copy.loss(next));
    }
    EXPECT_NEAR(sum, 1, 1e-9) << i;
  }
}

TEST(CorpusOracle, EveryOtherPredictorIsWorse) {
  const CorpusModel model(CorpusConfig{});
  const auto tokens = generate_tokens(model, CorpusStream::kVal, 100000);
  const double floor = oracle_loss(model, tokens);
  CorpusConfig changed;
  changed.shared_transitions = 0.35;
  EXPECT_GT(oracle_loss(CorpusModel(changed), tokens), floor);
  changed = {};
  changed.zipf_exponent = 0.9;
  EXPECT_GT(oracle_loss(CorpusModel(changed), tokens), floor);
  changed = {};
  changed.log_length_mean = 5;
  EXPECT_GT(oracle_loss(CorpusModel(changed), tokens), floor);
  changed = {};
  changed.seed = 2;
  EXPECT_GT(oracle_loss(CorpusModel(changed), tokens), floor + 1);
}

TEST(CorpusOracle, ImpossibleTokensHaveInfiniteLoss) {
  const CorpusModel model(uniform_words());
  EXPECT_TRUE(std::isinf(oracle_loss(model, std::vector<std::uint16_t>{8, 8})));
  std::vector<std::uint16_t> too_long(13, 0);
  too_long[0] = 8;
  EXPECT_TRUE(std::isinf(oracle_losses(model, too_long)[10]));
  CorpusOracle oracle(model);
  EXPECT_TRUE(std::isinf(oracle.loss(3)));
}

TEST(CorpusOracle, StreamsOfOtherDataAreRefused) {
  const CorpusModel model(uniform_words());
  const auto reading = [&](const std::vector<std::uint16_t>& tokens) {
    return error_of(ErrorCode::kInvalidArgument, [&] { oracle_loss(model, tokens); });
  };
  EXPECT_REFUSED_WITH(reading({1, 2, 3}), Reason::kMissingMark, "8", " 8,");
  EXPECT_REFUSED_WITH(reading({8, 2, 9}), Reason::kOutOfRange, "9", " 9 ", " 2 ");
  error_of(ErrorCode::kInvalidArgument, [&] { oracle_loss(model, {}); });
  error_of(ErrorCode::kInvalidArgument, [&] { oracle_loss(model, std::vector<std::uint16_t>{8}); });
}

}  // namespace
}  // namespace nanobench::core
