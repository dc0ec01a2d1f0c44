#include "core/data/corpus_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace {

/// Nats of the words of one document with known topic, averaged over documents: the n-th word exists with P(N >= n).
double word_entropy(const CorpusModel& model, std::int64_t topic, std::span<const double> at_least) {
  const auto words = static_cast<std::size_t>(model.vocab_size());
  std::vector<double> entropies(words);
  std::vector<double> distribution(words);
  for (std::size_t word = 0; word < words; ++word) {
    entropies[word] = model.next_word_entropy(topic, static_cast<std::uint16_t>(word));
    distribution[word] = model.first_word_probability(topic, static_cast<std::uint16_t>(word));
  }
  double nats = model.first_word_entropy(topic);
  bool is_stationary = false;
  for (std::size_t n = 2; n < at_least.size(); ++n) {
    nats += at_least[n] * std::inner_product(distribution.begin(), distribution.end(), entropies.begin(), 0.0);
    if (is_stationary) continue;
    std::vector<double> next = model.propagate(topic, distribution);
    double change = 0;
    for (std::size_t word = 0; word < words; ++word) change += std::abs(next[word] - distribution[word]);
    is_stationary = change < 1e-13;
    distribution = std::move(next);
  }
  return nats;
}

/// ln P(words | topic) - ln P(words) of one document drawn from the process; its mean is I(topic; words).
double topic_information(const CorpusModel& model, RandomStream& random, std::vector<double>& log_likelihoods) {
  const std::int64_t topic = model.draw_topic(random);
  const std::int64_t length = model.draw_length(random);
  std::uint16_t word = model.draw_first_word(topic, random);
  for (std::int64_t k = 0; k < model.topics(); ++k) {
    log_likelihoods[static_cast<std::size_t>(k)] = std::log(model.first_word_probability(k, word));
  }
  for (std::int64_t i = 1; i < length; ++i) {
    const std::uint16_t next = model.draw_next_word(topic, word, random);
    for (std::int64_t k = 0; k < model.topics(); ++k) {
      log_likelihoods[static_cast<std::size_t>(k)] += std::log(model.next_word_probability(k, word, next));
    }
    word = next;
  }
  const double truth = log_likelihoods[static_cast<std::size_t>(topic)];
  double ratio = 0;
  for (const double log_likelihood : log_likelihoods) ratio += std::exp(log_likelihood - truth);
  return -std::log(ratio / static_cast<double>(model.topics()));
}

}  // namespace

CorpusOracle::CorpusOracle(const CorpusModel& model)
    : model_(model), posterior_(static_cast<std::size_t>(model.topics())), joint_(posterior_.size()) {
  open_document();
  words_ = -1;
}

void CorpusOracle::open_document() {
  std::fill(posterior_.begin(), posterior_.end(), 1.0 / static_cast<double>(posterior_.size()));
  words_ = 0;
}

double CorpusOracle::word_probability(std::int64_t topic, std::uint16_t word) const {
  return words_ == 0 ? model_.first_word_probability(topic, word) : model_.next_word_probability(topic, last_, word);
}

double CorpusOracle::loss(std::uint16_t token) {
  const bool is_separator = token == model_.config().separator();
  if (words_ < 0) {
    if (is_separator) open_document();
    return is_separator ? 0.0 : std::numeric_limits<double>::infinity();
  }
  const double end = model_.end_probability(std::min(words_, model_.config().max_length));
  if (is_separator) {
    open_document();
    return -std::log(end);
  }
  double sum = 0;
  for (std::size_t k = 0; k < posterior_.size(); ++k) {
    joint_[k] = posterior_[k] * word_probability(static_cast<std::int64_t>(k), token);
    sum += joint_[k];
  }
  if (sum > 0) {
    for (std::size_t k = 0; k < posterior_.size(); ++k) posterior_[k] = joint_[k] / sum;
  }
  ++words_;
  last_ = token;
  return -std::log((1 - end) * sum);
}

std::vector<double> oracle_losses(const CorpusModel& model, std::span<const std::uint16_t> tokens) {
  const std::int64_t separator = model.config().separator();
  if (tokens.empty() || tokens.front() != separator) {
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kMissingMark,
                  "the oracle needs a stream that begins with the separator " + std::to_string(separator) +
                      ", got one that begins inside a document; use the generated val shard from its start",
                  std::to_string(separator));
  }
  const auto bad = std::find_if(tokens.begin(), tokens.end(), [=](std::uint16_t token) { return token > separator; });
  if (bad != tokens.end()) {
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kOutOfRange,
                  "token " + std::to_string(*bad) + " at position " + std::to_string(bad - tokens.begin()) +
                      " is not one of the generated corpus, expected 0 to " + std::to_string(separator),
                  std::to_string(*bad));
  }
  CorpusOracle oracle(model);
  oracle.loss(tokens.front());
  std::vector<double> losses;
  losses.reserve(tokens.size() - 1);
  for (const std::uint16_t token : tokens.subspan(1)) losses.push_back(oracle.loss(token));
  return losses;
}

double oracle_loss(const CorpusModel& model, std::span<const std::uint16_t> tokens) {
  const std::vector<double> losses = oracle_losses(model, tokens);
  if (losses.empty())
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kTooShort, "the oracle needs at least two tokens, got one");
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

EntropyRate entropy_rate(const CorpusModel& model, std::int64_t sampled_documents) {
  NB_CHECK(sampled_documents >= 2, "the standard error needs two documents");
  const std::int64_t longest = model.config().max_length;
  std::vector<double> at_least(static_cast<std::size_t>(longest) + 1, 0.0);  // P(N >= n)
  double length_entropy = 0;
  double mean_length = 0;
  for (std::int64_t n = longest; n >= 1; --n) {
    const double p = model.length_probability(n);
    at_least[static_cast<std::size_t>(n)] = p + (n < longest ? at_least[static_cast<std::size_t>(n) + 1] : 0.0);
    length_entropy -= p > 0 ? p * std::log(p) : 0.0;
    mean_length += at_least[static_cast<std::size_t>(n)];
  }
  double words = 0;
  for (std::int64_t k = 0; k < model.topics(); ++k)
    words += word_entropy(model, k, at_least) / static_cast<double>(model.topics());

  RandomStream random(static_cast<std::uint64_t>(model.config().seed),
                      static_cast<std::uint64_t>(CorpusStream::kEntropy));
  std::vector<double> log_likelihoods(static_cast<std::size_t>(model.topics()));
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = 0; i < sampled_documents; ++i) {
    const double nats = topic_information(model, random, log_likelihoods);
    sum += nats;
    squares += nats * nats;
  }
  const auto count = static_cast<double>(sampled_documents);
  const double variance = std::max(0.0, (squares - sum * sum / count) / (count - 1));
  EntropyRate rate;
  rate.tokens_per_document = mean_length + 1;
  rate.lower_bound = (length_entropy + words) / rate.tokens_per_document;
  rate.upper_bound = rate.lower_bound + std::log(static_cast<double>(model.topics())) / rate.tokens_per_document;
  rate.nats_per_token = rate.lower_bound + sum / count / rate.tokens_per_document;
  rate.standard_error = std::sqrt(variance / count) / rate.tokens_per_document;
  rate.sampled_documents = sampled_documents;
  return rate;
}

}  // namespace nanobench::core
