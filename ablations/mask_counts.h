/// Masks of the attention of some steps of a run, over generated documents (internal to ablations). Pure; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/cost_model.h"
#include "core/config/train_config.h"

namespace nanobench::ablations {

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

DocumentMaskCounts count_masks(const core::TrainConfig& config);

/// Where documents begin, ascending from 0, in a stream of this many tokens.
std::vector<std::int64_t> document_starts(std::int64_t tokens);

}  // namespace nanobench::ablations
