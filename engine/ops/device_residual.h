/// The residual stream in bfloat16 on a GPU (engine/cuda/residual_norm.h): RMSNorm and blend, and what the other
/// device ops share of them. Enqueues, waits for nothing.
#pragma once

#include "engine/ops/blend_slots.h"
#include "engine/ops/device_tensor.h"

namespace nanobench::core {

/// Whether rows of this width fit the kernel.
bool fits_device_rows(std::int64_t width);

/// round(x / sqrt(mean(x^2) + eps)).
///   x  [rows, C] bfloat16; returns the same. Differentiable
/// REQUIRES takes_device_kernels(x), fits_device_rows(C).
at::Tensor device_rms_norm(const at::Tensor& x, double eps);

/// As fused_blend, of bfloat16 rows and float32 weights.
at::Tensor device_blend(const BlendInputs& inputs);

/// Of the slots that an op was called with, and of what follows behind them.
cuda::ResidualShape residual_shape(const at::Tensor& rows);
cuda::ResidualBlend residual_blend(const torch::autograd::variable_list& slots, std::int64_t skip_index);

/// What flows back to a blend.
struct ResidualBackward {
  at::Tensor blended;   ///< as the forward pass left it; undefined without a norm
  at::Tensor dnormed;   ///< undefined: no norm
  at::Tensor dblended;  ///< undefined: zero
  double eps = 0.0;
};
/// Gradients by slot; undefined where there is no input.
torch::autograd::variable_list blend_gradients(const torch::autograd::variable_list& slots, std::int64_t skip_index,
                                               const ResidualBackward& backward);

}  // namespace nanobench::core
