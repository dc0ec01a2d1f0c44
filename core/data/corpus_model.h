/// The random process behind the generated corpus: a hidden topic for each document, and words from a Markov chain.
///
/// A document is the separator, then N words. N is log-normal (discretised, independent of the topic). The topic is
/// uniform. The first word is drawn from the topic's unigram U_k; a word v after word w with
///
///     P_k(v | w) = shared * S_w(v) + topical * D_kw(v) + (1 - shared - topical) * U_k(v)
///
/// U_k is Zipf's law over the words with a factor for the words at home in topic k. S_w gives w's few successors in
/// every topic, D_kw those in topic k; the j-th successor has a weight proportional to 1 / j.
///
/// All probabilities are multiples of 2^-32 held as integers, and drawing uses integers only, so the corpus is the same
/// bit for bit on every machine. Immutable after construction: threads may share it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/random.h"

namespace nanobench::core {

/// What determines the corpus. The defaults are the embedded data set.
struct CorpusConfig {
  std::int64_t seed = 1;
  std::int64_t vocab_size = 256;  ///< words 0 .. vocab_size - 1; the separator is vocab_size
  std::int64_t topics = 4;
  std::int64_t successors = 3;      ///< per word, in S_w and in D_kw
  double shared_transitions = 0.4;  ///< weight of S_w
  double topic_transitions = 0.35;  ///< weight of D_kw; the rest is the weight of U_k
  double zipf_exponent = 0.8;
  double topic_boost = 8.0;      ///< factor of a word's frequency in its home topic
  double log_length_mean = 5.2;  ///< of ln(words in a document): mean about 300 with the deviation 1
  double log_length_deviation = 1.0;
  std::int64_t max_length = 8192;  ///< longest document, in words
  bool operator==(const CorpusConfig&) const = default;

  std::int64_t separator() const { return vocab_size; }
};

/// Throws Error{kInvalidArgument} naming the field, its range and the value.
void check(const CorpusConfig& config);

Json to_json(const CorpusConfig& config);

/// Absent fields take their defaults. Throws Error{kInvalidArgument} with file and JSON pointer.
CorpusConfig corpus_config_from_json(const Json& json, const std::string& source, const std::string& pointer);

class CorpusModel {
 public:
  /// Throws as check() does.
  explicit CorpusModel(const CorpusConfig& config);

  const CorpusConfig& config() const { return config_; }
  std::int64_t topics() const { return config_.topics; }
  std::int64_t vocab_size() const { return config_.vocab_size; }

  /// Draws from the process.
  std::int64_t draw_topic(RandomStream& random) const;
  std::int64_t draw_length(RandomStream& random) const;
  std::uint16_t draw_first_word(std::int64_t topic, RandomStream& random) const;
  std::uint16_t draw_next_word(std::int64_t topic, std::uint16_t word, RandomStream& random) const;

  /// P(N = words), exactly as drawn; 0 outside 1 .. max_length.
  double length_probability(std::int64_t words) const;
  /// P(the document ends | it has `words` words so far), in 0 .. 1; it is 0 for words = 0 and 1 from max_length on.
  double end_probability(std::int64_t words) const { return end_probability_[static_cast<std::size_t>(words)]; }
  /// U_k(word).
  double first_word_probability(std::int64_t topic, std::uint16_t word) const;
  /// P_k(next | word).
  double next_word_probability(std::int64_t topic, std::uint16_t word, std::uint16_t next) const;

  /// The distribution of the next word in topic k, given the `distribution` of this word (vocab_size numbers).
  std::vector<double> propagate(std::int64_t topic, std::span<const double> distribution) const;
  /// Entropy of P_k(. | word), in nats.
  double next_word_entropy(std::int64_t topic, std::uint16_t word) const;
  /// Entropy of U_k, in nats.
  double first_word_entropy(std::int64_t topic) const;

 private:
  /// Cumulative probabilities in units of 2^-32, without the leading 0; the last is 2^32.
  using Cumulative = std::vector<std::uint64_t>;

  void make_unigrams(RandomStream& random);
  void make_successors(RandomStream& random);
  void make_lengths();
  std::span<const std::uint16_t> shared_successors(std::uint16_t word) const;
  std::span<const std::uint16_t> topic_successors(std::int64_t topic, std::uint16_t word) const;
  const Cumulative& unigram(std::int64_t topic) const { return unigrams_[static_cast<std::size_t>(topic)]; }

  CorpusConfig config_;
  std::uint64_t shared_threshold_ = 0;   ///< draws below it use S_w
  std::uint64_t topical_threshold_ = 0;  ///< draws below it use D_kw, others U_k
  double shared_weight_ = 0, topical_weight_ = 0, unigram_weight_ = 0;
  std::vector<Cumulative> unigrams_;       ///< by topic
  std::vector<double> unigram_entropies_;  ///< by topic
  Cumulative successor_weights_;
  std::vector<double> successor_probabilities_;
  std::vector<std::uint16_t> shared_successors_;  ///< [word][index]
  std::vector<std::uint16_t> topic_successors_;   ///< [topic][word][index]
  Cumulative lengths_;
  std::vector<double> end_probability_;
};

/// Random streams derived from one seed. Do not change them: they are part of the data's identity.
enum class CorpusStream : std::uint64_t { kTables = 0, kTrain = 1, kVal = 2, kEntropy = 3, kItems = 4 };

/// The first `count` tokens of a stream: consecutive documents, the last one truncated. A shorter stream is a prefix of
/// a longer one.
std::vector<std::uint16_t> generate_tokens(const CorpusModel& model, CorpusStream stream, std::int64_t count);

}  // namespace nanobench::core
