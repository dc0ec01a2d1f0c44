/// The lowest possible loss on the generated corpus: that of the ideal predictor, which knows the process but not the
/// hidden topic.
///
/// No model can have a lower expected loss, so a measured loss is read as a distance from this floor. All losses are in
/// nats per token and include the separators, which the oracle predicts from the length distribution.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/data/corpus_model.h"

namespace nanobench::core {

/// The ideal predictor, token by token: exact Bayesian filtering of the topic. Not thread-safe.
class CorpusOracle {
 public:
  /// Starts before a separator that opens a document. `model` must outlive it.
  explicit CorpusOracle(const CorpusModel& model);

  /// Returns -ln P(token | all tokens so far), then adds the token to the history. The first token must be the
  /// separator (loss 0). The loss is infinite if the process cannot produce the token; the topic's posterior is then
  /// kept.
  double loss(std::uint16_t token);

  /// P(topic | the document so far); sums to 1.
  std::span<const double> posterior() const { return posterior_; }

 private:
  void open_document();
  double word_probability(std::int64_t topic, std::uint16_t word) const;

  const CorpusModel& model_;
  std::vector<double> posterior_;
  std::vector<double> joint_;
  std::int64_t words_ = -1;  ///< in this document so far; -1 before the first separator
  std::uint16_t last_ = 0;
};

/// Loss of each token from the second on, given all preceding tokens. Throws Error{kInvalidArgument} if the stream does
/// not begin with the separator or holds a token outside the vocabulary.
std::vector<double> oracle_losses(const CorpusModel& model, std::span<const std::uint16_t> tokens);

/// Mean of oracle_losses: the floor for exactly these tokens. Throws as oracle_losses does, and for fewer than two
/// tokens.
double oracle_loss(const CorpusModel& model, std::span<const std::uint16_t> tokens);

/// The entropy rate of the process and its bounds, all in nats per token.
struct EntropyRate {
  double nats_per_token = 0;       ///< lower bound + the sampled information about the topic: the expected oracle loss
  double standard_error = 0;       ///< standard error of the sampled part; documents are the independent units
  double lower_bound = 0;          ///< rate with the topic known; exact, not sampled
  double upper_bound = 0;          ///< lower bound + ln(topics) once per document; exact
  double tokens_per_document = 0;  ///< mean, including the separator; exact
  std::int64_t sampled_documents = 0;
};

/// The part that depends on the length and the words given the topic is computed in closed form (the word distribution
/// is propagated position by position); only I(topic; words), at most ln(topics) per document, is sampled.
EntropyRate entropy_rate(const CorpusModel& model, std::int64_t sampled_documents = 4000);

}  // namespace nanobench::core
