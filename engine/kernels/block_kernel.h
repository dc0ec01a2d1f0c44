/// The two halves of a transformer block, before and after its attention, each as one fused kernel, forward and
/// backward, in float32. Plain C++ with vector units chosen at run time; no LibTorch. Thread-safe.
///
///   before attention   x = x_weight (x + skip_weight skip) + x0_weight x0; q, k, v = RMSNorm(x) W^T;
///                      RMSNorm of each head of q and k; rotation;
///                      v = value_weight v + embedding_weight value_embedding
///   after attention    x += branch_scale y Wo^T; x += relu(RMSNorm(x) W1^T)^2 W2^T
///
/// A thread takes a few rows through the whole half while they are in its cache, and writes only the intermediate
/// values that the backward pass needs. model_dim and head_dim must be multiples of 16; everything is row-major.
/// Deterministic: the number of threads changes no bit.
///
/// Tried without gain: the library's sgemm for the products (77 to 101 GFLOP/s, while these reach 97 to 114, one core
/// of an AMD EPYC, 128 to 768 columns); 48 rows at a time for narrow models (8 % slower on two cores at 1,024 tokens).
/// Not tried: keeping packed weights from sequence to sequence; packing is 3 % of the forward pass at 1,024 tokens.
#pragma once

#include <cstdint>

#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

/// x = x_weight (x + skip_weight skip) + x0_weight x0.
struct ResidualBlend {
  const float* x = nullptr;     ///< [T, D]
  const float* skip = nullptr;  ///< [T, D]; null: none
  const float* x0 = nullptr;    ///< [T, D]; null: none
  float skip_weight = 0.0f;
  float x_weight = 1.0f;
  float x0_weight = 0.0f;

  bool is_identity() const { return skip == nullptr && x0 == nullptr && x_weight == 1.0f; }
};

/// Each may be null if not wanted.
struct ResidualBlendGradients {
  float* x = nullptr;             ///< [T, D]
  float* skip = nullptr;          ///< [T, D]
  float* x0 = nullptr;            ///< [T, D]
  double* skip_weight = nullptr;  ///< one number each
  double* x_weight = nullptr;
  double* x0_weight = nullptr;
};

struct QkvShape {
  std::int64_t length = 0;     ///< T
  std::int64_t model_dim = 0;  ///< D
  std::int64_t heads = 0;      ///< H
  std::int64_t kv_heads = 0;   ///< Hkv
  std::int64_t head_dim = 0;   ///< E
};

struct QkvInputs {
  ResidualBlend blend;
  float norm_eps = 0.0f;
  const float* wq = nullptr;  ///< [H E, D]
  const float* wk = nullptr;  ///< [Hkv E, D]
  const float* wv = nullptr;  ///< [Hkv E, D]
  bool normalizes_heads = true;
  float head_norm_eps = 0.0f;
  const float* cos = nullptr;              ///< [T, E / 2] or more rows; null: no rotation
  const float* sin = nullptr;              ///< likewise; cos^2 + sin^2 = 1
  const float* value_embedding = nullptr;  ///< [T, Hkv E]; null: none
  float value_weight = 1.0f;
  float embedding_weight = 0.0f;
};

/// Values that the forward pass writes and the backward pass reads.
struct QkvActivations {
  float* x = nullptr;          ///< [T, D] blended; not written if the blend is the identity: then use blend.x
  float* inverse = nullptr;    ///< [T] 1 / RMS of x
  float* q = nullptr;          ///< [T, H, E]
  float* k = nullptr;          ///< [T, Hkv, E]
  float* v = nullptr;          ///< [T, Hkv, E]
  float* q_inverse = nullptr;  ///< [T, H] 1 / RMS of each head; unused without head norm
  float* k_inverse = nullptr;  ///< [T, Hkv]
};

struct QkvGradients {
  const float* dx = nullptr;  ///< [T, D] of the blended x, from its other uses; null: zero
  const float* dq = nullptr;  ///< [T, H, E]
  const float* dk = nullptr;  ///< [T, Hkv, E]
  const float* dv = nullptr;  ///< [T, Hkv, E]
  ResidualBlendGradients blend;
  float* wq = nullptr;               ///< [H E, D] overwritten
  float* wk = nullptr;               ///< [Hkv E, D]
  float* wv = nullptr;               ///< [Hkv E, D]
  float* value_embedding = nullptr;  ///< [T, Hkv E]; null: not wanted
  double* value_weight = nullptr;
  double* embedding_weight = nullptr;
};

void qkv_forward(const QkvShape& shape, const QkvInputs& in, const QkvActivations& out, ThreadPool& threads);
void qkv_backward(const QkvShape& shape, const QkvInputs& in, const QkvActivations& saved,
                  const QkvGradients& gradients, ThreadPool& threads);

struct MlpShape {
  std::int64_t length = 0;           ///< T
  std::int64_t model_dim = 0;        ///< D
  std::int64_t attention_width = 0;  ///< H E
  std::int64_t hidden = 0;
};

struct MlpInputs {
  const float* x = nullptr;   ///< [T, D]
  const float* y = nullptr;   ///< [T, H E] output of attention; null: a block without attention
  const float* wo = nullptr;  ///< [D, H E]
  float branch_scale = 1.0f;
  float norm_eps = 0.0f;
  const float* w1 = nullptr;  ///< [hidden, D]
  const float* w2 = nullptr;  ///< [D, hidden]
};

struct MlpActivations {
  float* middle = nullptr;   ///< [T, D] x + branch_scale y Wo^T; not written without attention: then use x
  float* inverse = nullptr;  ///< [T] 1 / RMS of middle
  float* relu = nullptr;     ///< [T, hidden] relu(RMSNorm(middle) W1^T)
  float* out = nullptr;      ///< [T, D]; not read by the backward pass
};

struct MlpGradients {
  const float* dout = nullptr;  ///< [T, D]
  float* x = nullptr;           ///< [T, D] overwritten
  float* y = nullptr;           ///< [T, H E]
  float* wo = nullptr;          ///< [D, H E]
  float* w1 = nullptr;          ///< [hidden, D]
  float* w2 = nullptr;          ///< [D, hidden]
};

void mlp_forward(const MlpShape& shape, const MlpInputs& in, const MlpActivations& out, ThreadPool& threads);
void mlp_backward(const MlpShape& shape, const MlpInputs& in, const MlpActivations& saved,
                  const MlpGradients& gradients, ThreadPool& threads);

/// Computes only the blended x [T, D], for blocks without attention.
void blend_forward(std::int64_t length, std::int64_t model_dim, const ResidualBlend& blend, float* x,
                   ThreadPool& threads);
void blend_backward(std::int64_t length, std::int64_t model_dim, const ResidualBlend& blend, const float* dx,
                    const ResidualBlendGradients& gradients, ThreadPool& threads);

/// y = x / RMS(x) of rows, [rows, D], and inverse [rows] = 1 / RMS; dx from dy.
void rms_norm_forward(std::int64_t rows, std::int64_t width, const float* x, float eps, float* y, float* inverse,
                      ThreadPool& threads);
void rms_norm_backward(std::int64_t rows, std::int64_t width, const float* x, const float* inverse, const float* dy,
                       float* dx, ThreadPool& threads);

}  // namespace nanobench::core
