#include "core/data/corpus_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/digest.h"
#include "tests/core/data/data_test_support.h"

namespace nanobench::core {
namespace {
using testing::error_of;

/// Pearson's statistic in standard deviations above its expectation. Cells expecting fewer than 5 are pooled.
double chi_square_z(const std::vector<double>& probabilities, const std::vector<std::int64_t>& counts) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  double statistic = 0, pooled_expected = 0, pooled_count = 0;
  double cells = 0;
  const auto add = [&](double expected, double count) {
    statistic += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = probabilities[i] * total;
    if (expected >= 5) {
      add(expected, static_cast<double>(counts[i]));
    } else {
      pooled_expected += expected;
      pooled_count += static_cast<double>(counts[i]);
    }
  }
  if (pooled_expected > 0) add(pooled_expected, pooled_count);
  return (statistic - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

std::vector<double> next_word_row(const CorpusModel& model, std::int64_t topic, std::uint16_t word) {
  std::vector<double> row;
  for (std::int64_t next = 0; next < model.vocab_size(); ++next) {
    row.push_back(model.next_word_probability(topic, word, static_cast<std::uint16_t>(next)));
  }
  return row;
}

double entropy(const std::vector<double>& p) {
  double nats = 0;
  for (const double x : p) nats -= x > 0 ? x * std::log(x) : 0;
  return nats;
}

TEST(CorpusModel, RowsAreDistributions) {
  const CorpusModel model(CorpusConfig{});
  for (std::int64_t topic = 0; topic < model.topics(); ++topic) {
    double first = 0;
    for (std::uint16_t word = 0; word < model.vocab_size(); ++word) {
      const std::vector<double> row = next_word_row(model, topic, word);
      EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1.0, 1e-12);
      EXPECT_NEAR(model.next_word_entropy(topic, word), entropy(row), 1e-12);
      first += model.first_word_probability(topic, word);
    }
    EXPECT_NEAR(first, 1.0, 1e-12);
  }
}

TEST(CorpusModel, PropagateIsTheProductWithTheTransitionMatrix) {
  CorpusConfig config;
  config.vocab_size = 20;
  const CorpusModel model(config);
  std::vector<double> start(20, 0.0), expected(20, 0.0);
  start[3] = 0.25;
  start[7] = 0.75;
  for (const std::uint16_t word : std::vector<std::uint16_t>{3, 7}) {
    const std::vector<double> row = next_word_row(model, 1, word);
    for (std::size_t i = 0; i < row.size(); ++i) expected[i] += start[word] * row[i];
  }
  const std::vector<double> got = model.propagate(1, start);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-14);
}

TEST(CorpusModel, WordsAreZipfianWithTopicsOfTheirOwn) {
  CorpusConfig config;
  config.topic_boost = 1;
  const CorpusModel plain(config);
  std::vector<double> p;
  for (std::uint16_t word = 0; word < 256; ++word) p.push_back(plain.first_word_probability(2, word));
  std::sort(p.rbegin(), p.rend());
  for (const std::size_t rank : {2U, 10U, 100U, 256U}) {
    EXPECT_NEAR(p[rank - 1] / p[0], std::pow(static_cast<double>(rank), -config.zipf_exponent), 1e-6) << rank;
  }
  const CorpusModel topical(CorpusConfig{});
  int differing = 0;
  for (std::uint16_t word = 0; word < 256; ++word) {
    differing += topical.first_word_probability(0, word) > 3 * topical.first_word_probability(1, word) ? 1 : 0;
  }
  EXPECT_GT(differing, 30);
}

TEST(CorpusModel, LengthsAreLogNormalAndTheHazardFollows) {
  const CorpusConfig config;
  const CorpusModel model(config);
  const auto density = [&](double n) { return std::exp(-0.5 * std::pow(std::log(n) - config.log_length_mean, 2)) / n; };
  EXPECT_NEAR(model.length_probability(500) / model.length_probability(100), density(500) / density(100), 1e-5);
  double sum = 0, survivors = 1;
  for (std::int64_t n = 1; n <= config.max_length; ++n) {
    sum += model.length_probability(n);
    EXPECT_NEAR(model.end_probability(n) * survivors, model.length_probability(n), 1e-9);
    survivors -= model.length_probability(n);
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_EQ(model.end_probability(0), 0);
  EXPECT_EQ(model.end_probability(config.max_length), 1);
}

TEST(CorpusModel, DrawsFollowTheTables) {
  const CorpusModel model(CorpusConfig{});
  RandomStream random(7, 7);
  constexpr int kDraws = 200000;
  for (const std::int64_t topic : {0, 3}) {
    for (const std::uint16_t word : std::vector<std::uint16_t>{0, 17, 255}) {
      std::vector<std::int64_t> counts(256, 0);
      for (int i = 0; i < kDraws; ++i) ++counts[model.draw_next_word(topic, word, random)];
      EXPECT_LT(std::abs(chi_square_z(next_word_row(model, topic, word), counts)), 4) << topic << " " << word;
    }
  }
  std::vector<std::int64_t> topics(4, 0), lengths(8192, 0), firsts(256, 0);
  std::vector<double> length_p, first_p;
  for (std::int64_t n = 1; n <= 8192; ++n) length_p.push_back(model.length_probability(n));
  for (std::uint16_t word = 0; word < 256; ++word) first_p.push_back(model.first_word_probability(2, word));
  for (int i = 0; i < kDraws; ++i) {
    ++topics[static_cast<std::size_t>(model.draw_topic(random))];
    ++lengths[static_cast<std::size_t>(model.draw_length(random) - 1)];
    ++firsts[model.draw_first_word(2, random)];
  }
  EXPECT_LT(std::abs(chi_square_z(std::vector<double>(4, 0.25), topics)), 4);
  EXPECT_LT(std::abs(chi_square_z(length_p, lengths)), 4);
  EXPECT_LT(std::abs(chi_square_z(first_p, firsts)), 4);
}

TEST(CorpusModel, FixedLengthWithoutDeviation) {
  CorpusConfig config;
  config.log_length_deviation = 0;
  config.log_length_mean = std::log(10.0);
  const CorpusModel model(config);
  EXPECT_EQ(model.length_probability(10), 1);
  EXPECT_EQ(model.end_probability(9), 0);
  EXPECT_EQ(model.end_probability(10), 1);
}

TEST(CorpusModel, NearlyNoDeviationDoesNotUnderflow) {
  CorpusConfig config;
  config.log_length_deviation = 1e-6;
  config.log_length_mean = 3.5;  // between ln 33 and ln 34, far from both in deviations
  EXPECT_EQ(CorpusModel(config).length_probability(33), 1);
}

TEST(CorpusModel, MoreSuccessorsThanProbableWordsEnds) {
  CorpusConfig config;
  config.vocab_size = 8;
  config.successors = 8;
  config.zipf_exponent = 8;
  config.topic_boost = 1e6;
  const CorpusModel model(config);
  const std::vector<double> row = next_word_row(model, 0, 0);
  EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1.0, 1e-12);
}

TEST(GenerateTokens, DocumentsOpenWithTheSeparatorAndHoldWords) {
  const CorpusModel model(CorpusConfig{});
  const auto tokens = generate_tokens(model, CorpusStream::kTrain, 100000);
  ASSERT_EQ(tokens.size(), 100000u);
  EXPECT_EQ(tokens[0], 256);
  const auto documents = std::count(tokens.begin(), tokens.end(), 256);
  EXPECT_NEAR(static_cast<double>(documents), 100000 / 299.15, 60);
  EXPECT_LE(*std::max_element(tokens.begin(), tokens.end()), 256);
  for (std::size_t i = 1; i < tokens.size(); ++i) EXPECT_FALSE(tokens[i] == 256 && tokens[i - 1] == 256);
}

TEST(GenerateTokens, SameOnEveryMachine) {
  const auto digest = [](const std::vector<std::uint16_t>& tokens) {
    return digest_of({reinterpret_cast<const char*>(tokens.data()), tokens.size() * 2});
  };
  const CorpusModel model(CorpusConfig{});
  EXPECT_EQ(digest(generate_tokens(model, CorpusStream::kTrain, 50000)), "4bf27a582982ebfe1f724e496288d76e");
  EXPECT_EQ(digest(generate_tokens(model, CorpusStream::kVal, 50000)), "7bc69fe845739be8d29a0df14c97fa52");
}

TEST(GenerateTokens, LongerStreamBeginsWithTheShorter) {
  const CorpusModel model(CorpusConfig{});
  const auto small = generate_tokens(model, CorpusStream::kTrain, 1000);
  auto large = generate_tokens(model, CorpusStream::kTrain, 5000);
  large.resize(1000);
  EXPECT_EQ(small, large);
  EXPECT_NE(small, generate_tokens(model, CorpusStream::kVal, 1000));
  CorpusConfig other;
  other.seed = 2;
  EXPECT_NE(small, generate_tokens(CorpusModel(other), CorpusStream::kTrain, 1000));
}

TEST(CorpusConfig, JsonRoundTrip) {
  CorpusConfig config;
  config.seed = 5;
  config.topic_boost = 2.5;
  config.max_length = 99;
  config.log_length_mean = 3;
  EXPECT_EQ(corpus_config_from_json(to_json(config), "x.json", ""), config);
  EXPECT_EQ(corpus_config_from_json(Json::object(), "x.json", ""), CorpusConfig{});
}

TEST(CorpusConfig, BadValuesAreNamed) {
  const auto refused = [](const char* text) {
    return error_of(ErrorCode::kInvalidArgument,
                    [&] { corpus_config_from_json(Json::parse(text), "x.json", "/corpus"); });
  };
  EXPECT_REFUSED_WITH(refused(R"({"topic":3})"), Reason::kUnknownKey, "/corpus/topic", "\"topics\"");
  EXPECT_REFUSED_WITH(refused(R"({"topics":0})"), Reason::kOutOfRange, "topics", "topics", " 0,", " 1 ", " 256");
  EXPECT_REFUSED_WITH(refused(R"({"vocab_size":65536})"), Reason::kOutOfRange, "vocab_size", "vocab_size", "65536",
                      "65535");
  EXPECT_REFUSED_WITH(refused(R"({"vocab_size":2})"), Reason::kOutOfRange, "successors", "successors", " 3,", " 2");
  EXPECT_REFUSED_WITH(refused(R"({"shared_transitions":0.8})"), Reason::kOutOfRange, "topic_transitions",
                      "topic_transitions", "0.35", "0.0");
  EXPECT_REFUSED(refused(R"({"zipf_exponent":"steep"})"), Reason::kWrongType, "/corpus/zipf_exponent");
  EXPECT_REFUSED_WITH(refused(R"([])"), Reason::kWrongType, "/corpus", "x.json");
}

}  // namespace
}  // namespace nanobench::core
