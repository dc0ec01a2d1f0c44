#include "core/data/corpus_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace {

constexpr double kOne = 4294967296.0;  // 2^32: integer probabilities are multiples of its inverse
constexpr double kLn2 = 0.693147180559945309417;

// Our own exp and log: those of math libraries differ in the last bit, which could round a table entry the other way.
// They use only operations that IEEE 754 defines exactly (CMakeLists.txt disables contraction).
double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0.70710678) {
    mantissa *= 2;
    --exponent;
  }
  const double t = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int i = 25; i >= 1; i -= 2) sum = sum * t * t + 1.0 / i;
  return 2 * t * sum + exponent * kLn2;
}

double portable_exp(double x) {
  if (x < -700) return 0;
  const double power = std::floor(x / kLn2 + 0.5);
  const double rest = x - power * kLn2;
  double sum = 1;
  for (int i = 18; i >= 1; --i) sum = 1 + sum * rest / i;
  return std::ldexp(sum, static_cast<int>(power));
}

double portable_power(double base, double exponent) {
  return portable_exp(exponent * portable_log(base));
}

std::uint64_t to_fixed(double probability) {
  return static_cast<std::uint64_t>(std::floor(probability * kOne + 0.5));
}

std::vector<std::uint64_t> cumulative_of(const std::vector<double>& weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::uint64_t> cumulative(weights.size());
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) cumulative[i] = to_fixed((sum += weights[i]) / total);
  cumulative.back() = to_fixed(1);
  return cumulative;
}

double probability_at(const std::vector<std::uint64_t>& cumulative, std::size_t index) {
  const std::uint64_t before = index == 0 ? 0 : cumulative[index - 1];
  return static_cast<double>(cumulative[index] - before) / kOne;
}

std::size_t draw(const std::vector<std::uint64_t>& cumulative, std::uint32_t bits) {
  return static_cast<std::size_t>(std::upper_bound(cumulative.begin(), cumulative.end(), std::uint64_t{bits}) -
                                  cumulative.begin());
}

double entropy_term(double probability) {
  return probability > 0 ? -probability * std::log(probability) : 0;
}

/// Fisher-Yates with integers.
std::vector<std::size_t> permutation(std::size_t count, RandomStream& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[(std::uint64_t{random.next_32()} * i) >> 32]);
  return order;
}

/// `count` distinct words. If a distribution has too few probable words, the first unused words fill the rest.
void draw_distinct(const std::vector<std::uint64_t>& cumulative, std::size_t count, RandomStream& random,
                   std::vector<std::uint16_t>& out) {
  const std::size_t begin = out.size();
  const auto is_new = [&](std::uint16_t word) {
    return std::find(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), word) == out.end();
  };
  for (std::size_t attempt = 0; attempt < 100 * count && out.size() < begin + count; ++attempt) {
    const auto word = static_cast<std::uint16_t>(draw(cumulative, random.next_32()));
    if (is_new(word)) out.push_back(word);
  }
  for (std::uint16_t word = 0; out.size() < begin + count; ++word) {
    if (is_new(word)) out.push_back(word);
  }
}

template <class Value>
void check_range(const char* name, Value value, Value low, Value high) {
  if (value >= low && value <= high) return;
  throw Refusal(ErrorCode::kInvalidArgument, Reason::kOutOfRange,
                std::string("generated corpus: ") + name + " is " + Json(value).dump() + ", expected " +
                    Json(low).dump() + " to " + Json(high).dump(),
                name);
}

}  // namespace

void check(const CorpusConfig& c) {
  check_range<std::int64_t>("seed", c.seed, 0, std::int64_t{1} << 62);
  check_range<std::int64_t>("vocab_size", c.vocab_size, 1, 65535);
  check_range<std::int64_t>("topics", c.topics, 1, 256);
  check_range<std::int64_t>("successors", c.successors, 1, std::min<std::int64_t>(c.vocab_size, 64));
  check_range<double>("shared_transitions", c.shared_transitions, 0, 1);
  check_range<double>("topic_transitions", c.topic_transitions, 0, 1 - c.shared_transitions);
  check_range<double>("zipf_exponent", c.zipf_exponent, 0, 8);
  check_range<double>("topic_boost", c.topic_boost, 1, 1e6);
  check_range<std::int64_t>("max_length", c.max_length, 1, std::int64_t{1} << 20);
  check_range<double>("log_length_mean", c.log_length_mean, 0, std::log(static_cast<double>(c.max_length)));
  check_range<double>("log_length_deviation", c.log_length_deviation, 0, 8);
}

Json to_json(const CorpusConfig& c) {
  return {{"seed", c.seed},
          {"vocab_size", c.vocab_size},
          {"topics", c.topics},
          {"successors", c.successors},
          {"shared_transitions", c.shared_transitions},
          {"topic_transitions", c.topic_transitions},
          {"zipf_exponent", c.zipf_exponent},
          {"topic_boost", c.topic_boost},
          {"log_length_mean", c.log_length_mean},
          {"log_length_deviation", c.log_length_deviation},
          {"max_length", c.max_length}};
}

CorpusConfig corpus_config_from_json(const Json& json, const std::string& source, const std::string& pointer) {
  JsonObject object(json, source, pointer);
  CorpusConfig c;
  const auto integer = [&](const char* key, std::int64_t& field) {
    field = object.integer_or(key, field, 0, std::int64_t{1} << 62);
  };
  const auto number = [&](const char* key, double& field) {
    if (object.has(key)) field = object.number(key, 0, 1e6);
  };
  integer("seed", c.seed);
  integer("vocab_size", c.vocab_size);
  integer("topics", c.topics);
  integer("successors", c.successors);
  integer("max_length", c.max_length);
  number("shared_transitions", c.shared_transitions);
  number("topic_transitions", c.topic_transitions);
  number("zipf_exponent", c.zipf_exponent);
  number("topic_boost", c.topic_boost);
  number("log_length_mean", c.log_length_mean);
  number("log_length_deviation", c.log_length_deviation);
  object.finish();
  try {
    check(c);
  } catch (const Error& error) {
    throw_again(error, json_location(source, pointer) + ": " + error.what());
  }
  return c;
}

CorpusModel::CorpusModel(const CorpusConfig& config) : config_(config) {
  check(config_);
  shared_threshold_ = to_fixed(config_.shared_transitions);
  topical_threshold_ = std::min(to_fixed(1), shared_threshold_ + to_fixed(config_.topic_transitions));
  shared_weight_ = static_cast<double>(shared_threshold_) / kOne;
  topical_weight_ = static_cast<double>(topical_threshold_ - shared_threshold_) / kOne;
  unigram_weight_ = static_cast<double>(to_fixed(1) - topical_threshold_) / kOne;
  RandomStream random(static_cast<std::uint64_t>(config_.seed), static_cast<std::uint64_t>(CorpusStream::kTables));
  make_unigrams(random);
  make_successors(random);
  make_lengths();
}

void CorpusModel::make_unigrams(RandomStream& random) {
  const auto words = static_cast<std::size_t>(config_.vocab_size);
  const auto topics = static_cast<std::size_t>(config_.topics);
  const std::vector<std::size_t> rank = permutation(words, random);
  std::vector<std::size_t> home(words);
  for (std::size_t& topic : home) topic = (std::uint64_t{random.next_32()} * topics) >> 32;
  for (std::size_t topic = 0; topic < topics; ++topic) {
    std::vector<double> weights(words);
    for (std::size_t word = 0; word < words; ++word) {
      weights[word] = portable_power(static_cast<double>(rank[word] + 1), -config_.zipf_exponent) *
                      (home[word] == topic ? config_.topic_boost : 1.0);
    }
    unigrams_.push_back(cumulative_of(weights));
    double entropy = 0;
    for (std::size_t word = 0; word < words; ++word) entropy += entropy_term(probability_at(unigrams_.back(), word));
    unigram_entropies_.push_back(entropy);
  }
}

void CorpusModel::make_successors(RandomStream& random) {
  const auto words = static_cast<std::size_t>(config_.vocab_size);
  const auto topics = static_cast<std::size_t>(config_.topics);
  const auto count = static_cast<std::size_t>(config_.successors);
  std::vector<double> weights(count);
  for (std::size_t i = 0; i < count; ++i) weights[i] = 1.0 / static_cast<double>(i + 1);
  successor_weights_ = cumulative_of(weights);
  for (std::size_t i = 0; i < count; ++i) successor_probabilities_.push_back(probability_at(successor_weights_, i));
  for (std::size_t word = 0; word < words; ++word)
    draw_distinct(unigrams_[word % topics], count, random, shared_successors_);
  for (std::size_t topic = 0; topic < topics; ++topic) {
    for (std::size_t word = 0; word < words; ++word) draw_distinct(unigrams_[topic], count, random, topic_successors_);
  }
}

void CorpusModel::make_lengths() {
  const auto longest = static_cast<std::size_t>(config_.max_length);
  std::vector<double> weights(longest, 0.0);  // of length index + 1
  if (config_.log_length_deviation > 0) {
    std::vector<double> exponents(longest);
    for (std::size_t i = 0; i < longest; ++i) {
      const double log_length = portable_log(static_cast<double>(i + 1));
      const double z = (log_length - config_.log_length_mean) / config_.log_length_deviation;
      exponents[i] = -0.5 * z * z - log_length;
    }
    const double largest = *std::max_element(exponents.begin(), exponents.end());
    for (std::size_t i = 0; i < longest; ++i) weights[i] = portable_exp(exponents[i] - largest);
  } else {
    const auto length = static_cast<std::size_t>(std::floor(portable_exp(config_.log_length_mean) + 0.5));
    weights[std::clamp<std::size_t>(length, 1, longest) - 1] = 1;
  }
  lengths_ = cumulative_of(weights);
  end_probability_.assign(longest + 1, 0.0);
  for (std::size_t words = 1; words <= longest; ++words) {
    const std::uint64_t before = words == 1 ? 0 : lengths_[words - 2];
    const std::uint64_t at_least = to_fixed(1) - before;
    end_probability_[words] =
        at_least == 0 ? 1.0 : static_cast<double>(lengths_[words - 1] - before) / static_cast<double>(at_least);
  }
}

std::span<const std::uint16_t> CorpusModel::shared_successors(std::uint16_t word) const {
  const auto count = static_cast<std::size_t>(config_.successors);
  return std::span(shared_successors_).subspan(word * count, count);
}

std::span<const std::uint16_t> CorpusModel::topic_successors(std::int64_t topic, std::uint16_t word) const {
  const auto count = static_cast<std::size_t>(config_.successors);
  const auto row = static_cast<std::size_t>(topic * config_.vocab_size + word);
  return std::span(topic_successors_).subspan(row * count, count);
}

std::int64_t CorpusModel::draw_topic(RandomStream& random) const {
  return static_cast<std::int64_t>((std::uint64_t{random.next_32()} * static_cast<std::uint64_t>(config_.topics)) >>
                                   32);
}

std::int64_t CorpusModel::draw_length(RandomStream& random) const {
  return static_cast<std::int64_t>(draw(lengths_, random.next_32())) + 1;
}

std::uint16_t CorpusModel::draw_first_word(std::int64_t topic, RandomStream& random) const {
  return static_cast<std::uint16_t>(draw(unigram(topic), random.next_32()));
}

std::uint16_t CorpusModel::draw_next_word(std::int64_t topic, std::uint16_t word, RandomStream& random) const {
  const std::uint64_t bits = random.next();
  const auto source = static_cast<std::uint32_t>(bits >> 32);
  const auto choice = static_cast<std::uint32_t>(bits);
  if (source < shared_threshold_) return shared_successors(word)[draw(successor_weights_, choice)];
  if (source < topical_threshold_) return topic_successors(topic, word)[draw(successor_weights_, choice)];
  return static_cast<std::uint16_t>(draw(unigram(topic), choice));
}

double CorpusModel::length_probability(std::int64_t words) const {
  return words < 1 || words > config_.max_length ? 0.0 : probability_at(lengths_, static_cast<std::size_t>(words - 1));
}

double CorpusModel::first_word_probability(std::int64_t topic, std::uint16_t word) const {
  return probability_at(unigram(topic), word);
}

double CorpusModel::next_word_probability(std::int64_t topic, std::uint16_t word, std::uint16_t next) const {
  double probability = unigram_weight_ * first_word_probability(topic, next);
  const auto shared = shared_successors(word);
  const auto topical = topic_successors(topic, word);
  for (std::size_t i = 0; i < shared.size(); ++i) {
    if (shared[i] == next) probability += shared_weight_ * successor_probabilities_[i];
    if (topical[i] == next) probability += topical_weight_ * successor_probabilities_[i];
  }
  return probability;
}

std::vector<double> CorpusModel::propagate(std::int64_t topic, std::span<const double> distribution) const {
  std::vector<double> next(distribution.size());
  for (std::size_t word = 0; word < next.size(); ++word) {
    next[word] = unigram_weight_ * first_word_probability(topic, static_cast<std::uint16_t>(word));
  }
  for (std::size_t word = 0; word < next.size(); ++word) {
    const auto shared = shared_successors(static_cast<std::uint16_t>(word));
    const auto topical = topic_successors(topic, static_cast<std::uint16_t>(word));
    for (std::size_t i = 0; i < shared.size(); ++i) {
      next[shared[i]] += distribution[word] * shared_weight_ * successor_probabilities_[i];
      next[topical[i]] += distribution[word] * topical_weight_ * successor_probabilities_[i];
    }
  }
  return next;
}

double CorpusModel::next_word_entropy(std::int64_t topic, std::uint16_t word) const {
  // Words that are not successors contribute only the unigram term; only successors differ.
  const double p = unigram_weight_;
  double entropy = p * first_word_entropy(topic) + entropy_term(p);
  std::vector<std::uint16_t> successors(shared_successors(word).begin(), shared_successors(word).end());
  successors.insert(successors.end(), topic_successors(topic, word).begin(), topic_successors(topic, word).end());
  std::sort(successors.begin(), successors.end());
  successors.erase(std::unique(successors.begin(), successors.end()), successors.end());
  for (const std::uint16_t next : successors) {
    entropy +=
        entropy_term(next_word_probability(topic, word, next)) - entropy_term(p * first_word_probability(topic, next));
  }
  return entropy;
}

double CorpusModel::first_word_entropy(std::int64_t topic) const {
  return unigram_entropies_[static_cast<std::size_t>(topic)];
}

std::vector<std::uint16_t> generate_tokens(const CorpusModel& model, CorpusStream stream, std::int64_t count) {
  RandomStream random(static_cast<std::uint64_t>(model.config().seed), static_cast<std::uint64_t>(stream));
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  std::vector<std::uint16_t> tokens;
  tokens.reserve(wanted + static_cast<std::size_t>(model.config().max_length) + 1);
  while (tokens.size() < wanted) {
    tokens.push_back(static_cast<std::uint16_t>(model.config().separator()));
    const std::int64_t topic = model.draw_topic(random);
    const std::int64_t length = model.draw_length(random);
    std::uint16_t word = model.draw_first_word(topic, random);
    tokens.push_back(word);
    for (std::int64_t i = 1; i < length; ++i) tokens.push_back(word = model.draw_next_word(topic, word, random));
  }
  tokens.resize(wanted);
  return tokens;
}

}  // namespace nanobench::core
