// Counts of masks for the cost model.
#include <algorithm>
#include <vector>

#include "core/config/cost_model.h"
#include "core/config/schedule.h"

namespace nanobench::core {
namespace {

/// Counts of a sequence that is one document.
MaskCounts counts_of_one_document(const TrainConfig& config, std::optional<std::int64_t> window) {
  const std::int64_t block = config.attention.block_size;
  const WindowGranularity granularity = config.attention.window.granularity;
  std::vector<std::int64_t> first_key(static_cast<std::size_t>(config.data.sequence_length), 0);
  for (std::int64_t query = 0; window && query < config.data.sequence_length; ++query) {
    std::int64_t& first = first_key[static_cast<std::size_t>(query)];
    first = std::max(first, first_key_of_window(granularity, *window, block, query));
  }
  return count_mask(first_key, block, granularity);
}

MaskCounts times(const MaskCounts& counts, std::int64_t factor) {
  return {counts.visited_blocks * factor, counts.full_blocks * factor, counts.visible_pairs * factor};
}

}  // namespace

MaskCounts count_mask(std::span<const std::int64_t> first_key, std::int64_t block_size, WindowGranularity granularity) {
  const auto length = static_cast<std::int64_t>(first_key.size());
  MaskCounts counts;
  for (std::int64_t query_block = 0; query_block < length / block_size; ++query_block) {
    const std::int64_t begin = query_block * block_size;
    const std::int64_t first_of_first = first_key[static_cast<std::size_t>(begin)];
    const std::int64_t first_of_last = first_key[static_cast<std::size_t>(begin + block_size - 1)];
    counts.visited_blocks += query_block - first_of_first / block_size + 1;
    if (granularity == WindowGranularity::kTokenBlockClipped) continue;
    // A diagonal block is full only if it is one token, and only where pairs are counted.
    const std::int64_t end = granularity == WindowGranularity::kBlock ? query_block : (begin + 1) / block_size;
    counts.full_blocks += std::max<std::int64_t>(0, end - (first_of_last + block_size - 1) / block_size);
  }
  for (std::int64_t query = 0; query < length; ++query)
    counts.visible_pairs += query + 1 - first_key[static_cast<std::size_t>(query)];
  return counts;
}

AttentionCounts counts_without_documents(const TrainConfig& config, std::optional<std::int64_t> window_tokens,
                                         std::optional<std::int64_t> half_window_tokens) {
  const std::int64_t sequences = config.data.sequences_per_step;
  AttentionCounts counts;
  counts.whole = times(counts_of_one_document(config, window_tokens), sequences);
  if (!config.attention.window.narrow_layers().empty())
    counts.half = times(counts_of_one_document(config, half_window_tokens), sequences);
  return counts;
}

}  // namespace nanobench::core
