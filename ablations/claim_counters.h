/// Measures claims of the kind `counter`: counts parameters, tables and attention masks of a configuration at its
/// official size, without training. Pure; thread-safe.
///
/// Masks need documents. These are generated, the same for every configuration: log-normal like the default corpus, but
/// as long as web pages. Four steps spread over the run represent all steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/config/cost_model.h"
#include "core/config/train_config.h"

namespace nanobench::ablations {

/// Mean number of tokens in a generated document.
inline constexpr std::int64_t kCountedDocumentTokens = 1024;

/// The value of the metric for the configuration. nullopt for a metric that only a run can measure
/// (rank_parameter_difference), and for a configuration to which the metric does not apply. Throws Error{kInternal} for
/// a metric that is not in claim_metrics().
std::optional<double> counted(const std::string& metric, const core::TrainConfig& config);

/// Sums over the counted steps.
struct DocumentMaskCounts {
  core::AttentionCounts attention;
  std::int64_t steps = 0;
  std::int64_t mask_evaluations = 0;        ///< pairs of tokens whose mask is computed
  std::int64_t cross_document_pairs = 0;    ///< visible pairs of tokens in two documents
  std::int64_t pairs_inside_documents = 0;  ///< causal pairs, visible or not
  std::int64_t documents = 0;               ///< documents that begin in the counted tokens
  std::int64_t unaligned_documents = 0;     ///< those that begin inside a block
  std::int64_t cut_documents = 0;           ///< those that a sequence's end cuts
};

/// Counts the attention masks of the counted steps.
DocumentMaskCounts count_masks(const core::TrainConfig& config);

/// Positions where documents begin in a stream of this many tokens, ascending from 0.
std::vector<std::int64_t> document_starts(std::int64_t tokens);

}  // namespace nanobench::ablations
