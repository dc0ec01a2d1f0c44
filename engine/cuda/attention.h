/// Causal attention over the keys that a mask leaves each query, in bf16 on tensor cores, forward and backward. Plain
/// C++: includes no CUDA header.
///
/// Every query i sees one contiguous range of keys, [first_key[i], i], and first_key never decreases: every mask of the
/// records has this form (core/data/block_mask.h). The ranges are device data, so that a captured graph serves every
/// window. Work is O(T * window), memory O(T).
///
/// All functions check their arguments (Error{kInvalidArgument}), enqueue on the stream, never synchronise and throw
/// CudaError if a launch is refused. Deterministic: the shape, the mask and the kind of products fix the order of every
/// sum. Needs compute capability 8.0 and 98 KiB of shared memory per block; warpgroup products need 9.0 and 195 KiB.
#pragma once

#include <cstdint>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

/// Pointers to device memory that attention reads; written by attention_mask.
struct AttentionMask {
  const std::int32_t* first_key = nullptr;   ///< [T] the smallest key that each query sees
  const std::int32_t* last_query = nullptr;  ///< [T] the largest query that sees each key; only backward needs it
};

/// What bounds a window, as in core/config: tokens; tokens and whole blocks; whole blocks only; tokens besides the
/// query.
enum class AttentionWindow { kToken, kTokenBlockClipped, kBlock, kTokenInclusive };

struct AttentionMaskInputs {
  const std::int32_t* tokens = nullptr;  ///< [T] device
  std::int32_t length = 0;               ///< T
  bool document_mask = true;             ///< a token sees only its own document; a separator opens a document
  std::int32_t document_separator = 50256;
  AttentionWindow window = AttentionWindow::kBlock;
  std::int32_t block_size = 128;  ///< block size in tokens, for windows by block
  /// Device memory with the window in tokens at the time the kernel runs; null, or a value of 0: none.
  const std::int32_t* window_tokens = nullptr;
};

/// Writes first_key and last_query, [T] each, as BlockMask defines them. Unlike BlockMask, it accepts any length.
void attention_mask(const AttentionMaskInputs& in, std::int32_t* first_key, std::int32_t* last_query, Stream stream);

struct DeviceAttentionShape {
  std::int32_t length = 0;    ///< T
  std::int32_t heads = 0;     ///< H
  std::int32_t kv_heads = 0;  ///< Hkv, divides H; query head h reads key/value head h / (H / Hkv)
  std::int32_t head_dim = 0;  ///< E, a multiple of 16, at most 128
};

/// The tensor core instructions that attention uses: those of one warp (mma), which all supported GPUs have, or those
/// of four warps (wgmma), which read operands from shared memory and run asynchronously to the warps.
enum class DeviceAttentionProducts { kWarp, kWarpgroup };

/// Device pointers, 16-byte aligned, E contiguous.
struct DeviceAttentionInputs {
  const bf16* q = nullptr;  ///< [T, H, E]
  const bf16* k = nullptr;  ///< [T, Hkv, E]
  const bf16* v = nullptr;  ///< [T, Hkv, E]
  AttentionMask mask;
  float scale = 1.0f;  ///< positive
  /// Sums over keys from the nearest to the first, a tile at a time; false: from the first to the nearest.
  bool nearest_first = false;
  /// Tiles whose keys all queries see get the element mask too, which changes no bit; false: they skip it.
  bool masks_full_tiles = false;
  DeviceAttentionProducts products = DeviceAttentionProducts::kWarp;
};

/// Writes y [T, H, E] = softmax(scale * q k^T) v and log_sums [H, T], the natural logarithm of each row's sum of
/// exponentials. Weights are rounded to bf16 before the product with v.
void attention_forward(const DeviceAttentionShape& shape, const DeviceAttentionInputs& in, bf16* y, float* log_sums,
                       Stream stream);

struct AttentionGradients {
  const bf16* dy = nullptr;         ///< [T, H, E]
  const bf16* y = nullptr;          ///< [T, H, E] of the forward pass
  const float* log_sums = nullptr;  ///< [H, T] of the forward pass
  float* row_sums = nullptr;        ///< [H, T] scratch: the sum of dy * y over each row
  bf16* dq = nullptr;               ///< [T, H, E] written
  bf16* dk = nullptr;               ///< [T, Hkv, E] written
  bf16* dv = nullptr;               ///< [T, Hkv, E] written
};

/// Gradients of attention_forward. Weights are recomputed in each of two passes: one over the keys for dk and dv, one
/// over the queries for dq. That takes seven products instead of five, but needs no atomic sums, whose order would
/// vary.
void attention_backward(const DeviceAttentionShape& shape, const DeviceAttentionInputs& in,
                        const AttentionGradients& gradients, Stream stream);

}  // namespace nanobench::core::cuda
