/// Block-sparse causal attention in float32: forward and backward over the keys that each query sees. Plain C++ with
/// vector units chosen at run time; no LibTorch.
///
/// Each query q sees one contiguous range of keys, [first_key[q], q], and first_key never decreases: every mask of the
/// records has this form (core/data/block_mask.h). Keys are visited block by block with an online softmax, so memory is
/// O(T * E) and work O(T * window). Blocks that every query of a tile sees need no mask. Blocks at the mask's edges are
/// processed a few rows at a time, and keys that those rows do not see are skipped.
///
/// Tried without gain: masking whole edge blocks (10 % slower forward and 16 % backward at T = 1,024 with a window of
/// 256); a separate pass that scales the scores, and lanes summed one by one (together 9 % of the forward pass).
///
/// Thread-safe. Deterministic: the shape fixes the order of every sum, not the number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

struct AttentionShape {
  std::int64_t length = 0;    ///< T
  std::int64_t heads = 0;     ///< H
  std::int64_t kv_heads = 0;  ///< Hkv, divides H; query head h reads key/value head h / (H / Hkv)
  std::int64_t head_dim = 0;  ///< E
};

/// Pointers to [T, heads, E] tensors, E contiguous.
struct AttentionInputs {
  const float* q = nullptr;                 ///< [T, H, E]
  const float* k = nullptr;                 ///< [T, Hkv, E]
  const float* v = nullptr;                 ///< [T, Hkv, E]
  std::span<const std::int64_t> first_key;  ///< [T]
  float scale = 1.0f;
  bool masks_full_blocks = false;  ///< applies the mask everywhere, even where every key is seen; same bits
  bool nearest_first = false;      ///< visits a tile's key blocks from the diagonal backwards; differs only in rounding
};

/// Writes y [T, H, E] = softmax(scale q k^T) v and log_sums [H, T], the logarithm of each row's sum of exponentials.
void attention_forward(const AttentionShape& shape, const AttentionInputs& in, float* y, float* log_sums,
                       ThreadPool& threads);

/// Writes dq [T, H, E], dk and dv [T, Hkv, E] from dy [T, H, E], with y and log_sums of the forward pass.
void attention_backward(const AttentionShape& shape, const AttentionInputs& in, const float* y, const float* log_sums,
                        const float* dy, float* dq, float* dk, float* dv, ThreadPool& threads);

/// Twice the multiply-adds of the visited blocks in the forward pass; the backward pass does 2.5 times as many.
double attention_forward_flops(const AttentionShape& shape, std::span<const std::int64_t> first_key);

}  // namespace nanobench::core
