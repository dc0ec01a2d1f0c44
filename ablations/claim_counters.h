/// What claims of the kind `counter` are measured by: parameters, tables and attention masks of a configuration at its
/// official size, counted without training anything. Pure; thread-safe.
///
/// Masks need documents: theirs are generated, log-normal as the default corpus's but as long as web pages are, the
/// same for every configuration. Four steps spread over the run stand for all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/config/cost_model.h"
#include "core/config/train_config.h"

namespace nanobench::ablations {

/// Mean tokens of a generated document here.
inline constexpr std::int64_t kCountedDocumentTokens = 1024;

/// The metric of the configuration. nullopt for what only a run can measure (rank_parameter_difference), and for a
/// configuration that the metric does not fit. Throws Error{kInternal} for a metric that claim_metrics() does not have.
std::optional<double> counted(const std::string& metric, const core::TrainConfig& config);

/// Sums over the counted steps.
struct DocumentMaskCounts {
  core::AttentionCounts attention;
  std::int64_t steps = 0;
  std::int64_t mask_evaluations = 0;        ///< pairs of tokens whose mask is computed
  std::int64_t cross_document_pairs = 0;    ///< visible pairs of tokens in two documents
  std::int64_t pairs_inside_documents = 0;  ///< causal ones, visible or not
  std::int64_t documents = 0;               ///< that begin in the counted tokens
  std::int64_t unaligned_documents = 0;     ///< of them those that begin inside a block
  std::int64_t cut_documents = 0;           ///< of them those that a sequence's end cuts
};

/// Masks of the attention of the counted steps.
DocumentMaskCounts count_masks(const core::TrainConfig& config);

/// Where documents begin, ascending from 0, in a stream of this many tokens.
std::vector<std::int64_t> document_starts(std::int64_t tokens);

}  // namespace nanobench::ablations
