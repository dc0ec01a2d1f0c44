/// The residual stream between the halves of transformer blocks: blend of x, skip and x0, then RMSNorm, each row in one
/// pass. Plain C++: includes no CUDA header. Thread-safe.
///
///   blended = round(a (x + w skip) + b x0)      normed = round(blended / sqrt(mean(blended^2) + eps))
///
/// This pair of kernels serves the start of a block (U-net skip and x0 blend), the sum after attention or MLP (skip =
/// the branch, w = its scale), and the embedding's norm and the final norm (x alone). Arithmetic is float32. round() is
/// to bfloat16, where the engine rounds with PrecisionConfig::activations = kBfloat16; intermediate values are not
/// rounded.
///
/// All pointers are to device memory; row pointers are to [rows, width], row-major, 16-byte aligned. Width is a
/// multiple of 8, at most kMaxResidualWidth. All functions enqueue on the stream and do not synchronise. They throw
/// Error{kInvalidArgument} for an unsupported width, and CudaError if a launch fails.
/// A warp handles a row and keeps it in registers, four rows per block: memory is read and written once.
#pragma once

#include <cstdint>

#include "engine/cuda/partial_sums.h"
#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

inline constexpr std::int64_t kMaxResidualWidth = 1024;

struct ResidualShape {
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

struct DeviceResidualBlend {
  const bf16* x = nullptr;
  const bf16* skip = nullptr;          ///< null: none
  const bf16* x0 = nullptr;            ///< null: none
  const float* skip_weight = nullptr;  ///< w, one number on the device; null: skip_scale
  const float* weights = nullptr;      ///< a and b, two numbers on the device; null: 1 and 0
  float skip_scale = 1.0f;
};

struct ResidualOutputs {
  bf16* blended = nullptr;  ///< null: not written. May be x, skip or x0
  bf16* normed = nullptr;   ///< null: no norm
  float eps = 0.0f;         ///< inside the root
};

void residual_norm_forward(const ResidualShape& shape, const DeviceResidualBlend& blend, const ResidualOutputs& out,
                           Stream stream);

/// With d = round(dblended + the norm's gradient):
///   dx = round(a d)    dskip = round(w a d)    dx0 = round(b d)
///   dweights = sum of d (x + w skip), sum of d x0;    dskip_weight = a * sum of d skip
/// Null outputs are not wanted; null inputs are zero. Each gradient has the type of its row. If a row has several uses,
/// its gradients are rounded before they are added, as autograd does for bfloat16 tensors.
struct ResidualGradients {
  const bf16* blended = nullptr;   ///< from the forward pass; may be null without a norm
  const bf16* dnormed = nullptr;   ///< null: no norm
  const bf16* dblended = nullptr;  ///< from the other uses of `blended`
  float eps = 0.0f;
  bf16* dx = nullptr;
  bf16* dskip = nullptr;
  bf16* dx0 = nullptr;
  float* dweights = nullptr;      ///< two numbers, for a and b
  float* dskip_weight = nullptr;  ///< one number
  float* workspace = nullptr;     ///< kResidualWorkspace numbers if any of the three is wanted
};

inline constexpr std::int64_t kResidualWorkspace = 3 * kPartialBlocks;

void residual_norm_backward(const ResidualShape& shape, const DeviceResidualBlend& blend,
                            const ResidualGradients& gradients, Stream stream);

}  // namespace nanobench::core::cuda
