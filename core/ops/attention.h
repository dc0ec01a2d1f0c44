/// Causal attention under a BlockMask. Stateless, thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/config/train_config.h"
#include "core/ops/block_mask.h"
#include "core/ops/torch.h"

namespace nanobench::core {

/// A BlockMask laid out for tensors: tiles of consecutive queries, each with the one range of keys that any of them
/// sees. Made once per sequence and window, shared by all layers. Memory: O(T * (window + tile)); a dense plan O(T *
/// T).
struct AttentionPlan {
  struct Tile {
    std::int64_t query_begin = 0;
    std::int64_t query_count = 0;
    std::int64_t key_begin = 0;
    std::int64_t key_count = 0;
    /// Columns [unmasked_begin, unmasked_end) are seen by every query of the tile: they need no bias.
    std::int64_t unmasked_begin = 0;
    std::int64_t unmasked_end = 0;
    at::Tensor bias;  ///< [query_count, key_count], 0 where allowed and -inf elsewhere
  };
  std::int64_t length = 0;
  std::vector<Tile> tiles;
  /// Tiles count keys from the end, block by block (KeyBlockOrder::kNearestFirst); 0: in order.
  std::int64_t reversed_blocks_of = 0;
};

/// Queries per tile of a tiled plan.
inline constexpr std::int64_t kTileQueries = 128;

struct AttentionPlanOptions {
  AttentionImplementation implementation = AttentionImplementation::kTiled;  ///< kDense: one tile of all pairs
  bool split_full_blocks = true;  ///< columns that every query sees are left alone; false: the bias goes everywhere
  KeyBlockOrder block_order = KeyBlockOrder::kAscending;
};

AttentionPlan make_attention_plan(const BlockMask& mask, at::ScalarType dtype,
                                  const AttentionPlanOptions& options = {});

/// softmax(scale * q k^T) v over the keys that the plan allows.
///   q        [T, H, E]   float32 or float64
///   k, v     [T, Hkv, E] query head h reads key/value head h / (H / Hkv)
///   returns  [T, H, E]; differentiable in q, k, v
/// Never materialises T x T: works tile by tile and computes the weights again in the backward pass.
/// Deterministic for a given number of threads: tiles are added in order.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const std::shared_ptr<const AttentionPlan>& plan, double scale);

/// The same by one dense T x T product per head, through plain autograd: the reference that `attention` is tested
/// against.
at::Tensor dense_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const BlockMask& mask,
                           double scale);

}  // namespace nanobench::core
