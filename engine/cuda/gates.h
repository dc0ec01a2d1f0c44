/// Learned sigmoid gates of records #28 to #41, forward and backward. Plain C++: includes no CUDA header. Thread-safe.
///
///   heads   out[t, h] = round(y[t, h] s), s = sigmoid(sum_g n[t, g] w[h, g]), n = RMSNorm(x), g < G
///   smear   out[t] = round(e[t] + lambda s e[t - 1]), s = sigmoid(sum_g e[t, g] w[g]); out[0] = e[0]
///
/// Arithmetic is float32. round() is to bfloat16; intermediate values are not rounded. All pointers are to device
/// memory; row pointers are 16-byte aligned, widths of rows and heads multiples of 8, H and G at most kMaxGateHeads and
/// kMaxGateDim. All functions enqueue on the stream and do not synchronise. They throw Error{kInvalidArgument} for an
/// unsupported shape, and CudaError if a launch fails. A warp handles a row. Sums have a fixed order.
#pragma once

#include <cstdint>

#include "engine/cuda/partial_sums.h"
#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

inline constexpr std::int64_t kMaxGateHeads = 32, kMaxGateDim = 32;

struct DeviceHeadGateShape {
  std::int64_t length = 0;    ///< T
  std::int64_t width = 0;     ///< D
  std::int64_t heads = 0;     ///< H
  std::int64_t head_dim = 0;  ///< E
  std::int64_t gate_dim = 0;  ///< G <= D
};

struct DeviceHeadGate {
  const bf16* x = nullptr;        ///< [T, D] not normalised
  const float* weight = nullptr;  ///< [H, G]
  const bf16* y = nullptr;        ///< [T, H, E]
  float eps = 0.0f;               ///< inside the root
};

/// `gates` [T, H] is for the backward pass.
void head_gate_forward(const DeviceHeadGateShape& shape, const DeviceHeadGate& in, float* gates, bf16* out,
                       Stream stream);

struct DeviceHeadGateGradients {
  const bf16* dout = nullptr;    ///< [T, H, E]
  const float* gates = nullptr;  ///< from the forward pass
  bf16* x = nullptr;             ///< [T, D] overwritten, as all outputs
  bf16* y = nullptr;             ///< [T, H, E]
  float* weight = nullptr;       ///< [H, G]
  float* workspace = nullptr;    ///< H G kPartialBlocks numbers
};
void head_gate_backward(const DeviceHeadGateShape& shape, const DeviceHeadGate& in,
                        const DeviceHeadGateGradients& gradients, Stream stream);

struct DeviceSmearShape {
  std::int64_t length = 0;    ///< T
  std::int64_t width = 0;     ///< D
  std::int64_t gate_dim = 0;  ///< G <= D
};

struct DeviceSmear {
  const bf16* e = nullptr;        ///< [T, D]
  const float* weight = nullptr;  ///< [G]
  const float* lambda = nullptr;  ///< one number
};

/// `gates` [T] is for the backward pass.
void smear_forward(const DeviceSmearShape& shape, const DeviceSmear& in, float* gates, bf16* out, Stream stream);

struct DeviceSmearGradients {
  const bf16* dout = nullptr;    ///< [T, D]
  const float* gates = nullptr;  ///< from the forward pass
  bf16* e = nullptr;             ///< [T, D] overwritten, as all outputs; may not be dout
  float* weight = nullptr;       ///< [G]
  float* lambda = nullptr;       ///< one number
  float* workspace = nullptr;    ///< (G + 1) kPartialBlocks numbers
};
void smear_backward(const DeviceSmearShape& shape, const DeviceSmear& in, const DeviceSmearGradients& gradients,
                    Stream stream);

}  // namespace nanobench::core::cuda
