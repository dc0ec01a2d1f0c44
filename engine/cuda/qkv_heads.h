/// Turns a block's projections into the inputs of attention: RMSNorm of each head of q and k, rotation, and the blend
/// of v with a value embedding, forward and backward. Plain C++: includes no CUDA header. Thread-safe.
///
/// Storage is bfloat16, arithmetic float32, rounded where the engine rounds (engine/nn/attention_layer.cpp): after the
/// norm, after the rotation, after the blend; with `rounds_rotation` each product and sum of the rotation too.
///
/// All pointers are to device memory, 16-byte aligned. Head sizes are multiples of 16 up to kMaxHeadDim, row strides
/// multiples of 8. All functions enqueue on the stream and do not synchronise. They throw Error{kInvalidArgument} for
/// unsupported sizes, and CudaError if a launch fails.
/// A group of neighbouring lanes handles a head, 8 pairs (j, j + E / 2) per lane: 8 lanes for a head of 128.
#pragma once

#include <cstdint>

#include "engine/cuda/partial_sums.h"
#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

inline constexpr std::int64_t kMaxHeadDim = 256;

struct QkvHeadsShape {
  std::int64_t length = 0;    ///< T
  std::int64_t heads = 0;     ///< H
  std::int64_t kv_heads = 0;  ///< Hkv
  std::int64_t head_dim = 0;  ///< E
};

/// Rows of a matrix [T, columns] that may be part of a wider one: [T, 3 C] holds three of them with stride 3 C.
template <class Number>
struct HeadRows {
  Number* data = nullptr;
  std::int64_t stride = 0;  ///< row stride in numbers
};

enum class HeadNorm { kNone, kBeforeRotation, kAfterRotation };

enum class HeadValueBlend {
  kNone,       ///< v
  kFirstOnly,  ///< w[0] v
  kPair,       ///< w[0] v + w[1] e
  kLerp,       ///< (1 - w[0]) v + w[0] e
};

struct QkvHeadsOptions {
  HeadNorm norm = HeadNorm::kBeforeRotation;
  float eps = 0.0f;            ///< inside the root
  const float* cos = nullptr;  ///< [T, E / 2] or more rows; null: no rotation. Rounded to bfloat16 or not
  const float* sin = nullptr;  ///< likewise
  bool rounds_rotation = false;
  HeadValueBlend blend = HeadValueBlend::kNone;
  const float* value_weights = nullptr;  ///< w, one or two numbers on the device
  HeadRows<const bf16> value_embedding;  ///< e [T, Hkv E]; may be v itself
};

struct QkvProjections {
  HeadRows<const bf16> q;  ///< [T, H E]
  HeadRows<const bf16> k;  ///< [T, Hkv E]
  HeadRows<const bf16> v;  ///< [T, Hkv E]
};

/// Contiguous: q [T, H, E], k and v [T, Hkv, E]. Null: not wanted.
struct QkvHeads {
  bf16* q = nullptr;
  bf16* k = nullptr;
  bf16* v = nullptr;
};

/// y1 = x1 cos + x2 sin, y2 = x2 cos - x1 sin for each pair.
void qkv_heads_forward(const QkvHeadsShape& shape, const QkvProjections& in, const QkvHeadsOptions& options,
                       const QkvHeads& out, Stream stream);

/// Gradients of the projections from those of the heads. dv = round((w[0] or 1 - w[0]) dv_heads); the value embedding's
/// gradient is round((w[1] or w[0]) dv_heads). For layers that share it, and values mixed with themselves, rounded
/// gradients are added, as autograd does for bfloat16 tensors.
struct QkvHeadsGradients {
  const bf16* q_heads = nullptr;    ///< [T, H, E]
  const bf16* k_heads = nullptr;    ///< [T, Hkv, E]
  const bf16* v_heads = nullptr;    ///< [T, Hkv, E]
  HeadRows<bf16> q;                 ///< [T, H E]
  HeadRows<bf16> k;                 ///< [T, Hkv E]
  HeadRows<bf16> v;                 ///< [T, Hkv E]
  bf16* value_embedding = nullptr;  ///< [T, Hkv E] contiguous; null: not wanted
  float* value_weights = nullptr;   ///< one number (kLerp) or two; null: not wanted
  float* workspace = nullptr;       ///< kQkvHeadsWorkspace numbers if value_weights is wanted
};

inline constexpr std::int64_t kQkvHeadsWorkspace = 2 * kPartialBlocks;

/// `in` and `options` are those of the forward pass; norms and rotations are recomputed.
void qkv_heads_backward(const QkvHeadsShape& shape, const QkvProjections& in, const QkvHeadsOptions& options,
                        const QkvHeadsGradients& gradients, Stream stream);

}  // namespace nanobench::core::cuda
