/// Which keys a query may see, by block and by token. Plain C++: no LibTorch. Immutable after construction.
///
/// Every rule of the records (causal, document, window by token or by block) leaves each query one contiguous range of
/// keys: [first_key[q], q]. The block lists express the same per pair of blocks, in the form the records' kernels use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/config/train_config.h"

namespace nanobench::core {

struct BlockMaskOptions {
  std::int64_t block_size = 128;  ///< tokens
  bool document_mask = true;
  std::int64_t document_separator = 50256;
  WindowGranularity granularity = WindowGranularity::kBlock;
  /// Window in tokens; nullopt: none. With kBlock it is a multiple of block_size.
  std::optional<std::int64_t> window_tokens;
};

/// Key blocks of every query block: row i of `indices` holds its `counts[i]` key blocks, then all others, both
/// ascending.
struct BlockList {
  std::vector<std::int32_t> counts;   ///< [blocks]
  std::vector<std::int32_t> indices;  ///< [blocks * blocks]
};

/// Semantics of the granularities for a query q in block i and a key k <= q in block j:
///   kToken              same document, q - k < window
///   kTokenBlockClipped  that, and i - j < ceil(window / block_size): the intersection that record #15 has
///   kBlock              same document, i - j < window / block_size; no limit in tokens
///   kTokenInclusive     same document, q - k <= window: one key more than kToken, the left window of FlashAttention
/// Source: records #12, #15, #16, #29 (facts in the records' published scripts).
class BlockMask {
 public:
  /// Throws Error{kInvalidArgument} when the length is not a multiple of the block size.
  BlockMask(std::span<const std::uint16_t> tokens, const BlockMaskOptions& options);

  std::int64_t length() const { return static_cast<std::int64_t>(first_key_.size()); }
  std::int64_t block_size() const { return options_.block_size; }
  std::int64_t num_blocks() const { return length() / block_size(); }

  /// [T] document of each token: the number of separators up to and including it; all 0 without document mask.
  const std::vector<std::int32_t>& documents() const { return documents_; }
  /// [T] smallest key that query q sees; q sees all of [first_key[q], q].
  const std::vector<std::int64_t>& first_key() const { return first_key_; }

  /// Blocks whose pairs are all allowed. kToken, kTokenInclusive: found by counting. kBlock: blocks strictly below the
  /// diagonal, in the window, with both blocks inside one document. kTokenBlockClipped: none.
  BlockList full_blocks() const;
  /// Visited blocks that need the element mask.
  BlockList partial_blocks() const;
  /// Number of allowed (query, key) pairs: the minimum that attention must compute.
  std::int64_t allowed_pairs() const;

 private:
  enum class BlockKind { kNone, kPartial, kFull };
  BlockKind kind_of(std::int64_t query_block, std::int64_t key_block) const;
  BlockList list_of(BlockKind kind) const;
  std::int64_t window_blocks() const;

  BlockMaskOptions options_;
  std::vector<std::int32_t> documents_;
  std::vector<std::int64_t> first_key_;
};

}  // namespace nanobench::core
