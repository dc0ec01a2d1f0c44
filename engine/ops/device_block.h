/// The halves of a transformer block before and after its attention, in bfloat16 on a GPU, like fused_qkv and fused_mlp
/// (engine/ops/fused_block.h), and their residual stream: RMSNorm and blend. They use the kernels of engine/cuda and
/// the library's matrix products. Values that a record stores in bfloat16 are bfloat16 tensors; weights are float32 and
/// rounded before use. All functions enqueue their work and do not wait.
#pragma once

#include <utility>

#include "engine/ops/fused_block.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {

/// Replaces an undefined tensor, which autograd does not accept, with an empty one.
inline at::Tensor present(const at::Tensor& tensor, const at::Tensor& like) {
  return tensor.defined() ? tensor : like.new_empty({0});
}

/// Order of the blend's inputs; absent inputs are empty.
enum BlendSlot { kBlendX, kBlendSkip, kBlendSkipWeights, kBlendX0, kBlendLambdas, kBlendSlots };

inline torch::autograd::variable_list blend_slots(const BlendInputs& blend) {
  const auto slot = [&](const at::Tensor& tensor) { return present(tensor, blend.x).contiguous(); };
  return {slot(blend.x), slot(blend.skip), slot(blend.skip_weights), slot(blend.x0), slot(blend.lambdas)};
}

/// Carries the options of fused_qkv through autograd's saved data.
struct QkvHolder : torch::CustomClassHolder {
  QkvHolder(const QkvOptions& o, std::int64_t index) : options(o), skip_index(index) {}
  QkvOptions options;
  std::int64_t skip_index;
};

/// Order of all inputs of fused_qkv, after those of its blend.
enum QkvSlot { kWq = kBlendSlots, kWk, kWv, kCos, kSin, kValueEmbedding, kValueLambdas, kQkvSlots };

/// Whether rows of this width fit the kernel.
bool fits_device_rows(std::int64_t width);

/// round(x / sqrt(mean(x^2) + eps)).
///   x  [rows, C] bfloat16; returns the same. Differentiable
/// REQUIRES takes_device_kernels(x), fits_device_rows(C).
at::Tensor device_rms_norm(const at::Tensor& x, double eps);

/// Like fused_blend, for bfloat16 rows and float32 weights.
at::Tensor device_blend(const BlendInputs& inputs);

/// Kernel arguments from an op's slots; other inputs of the op may follow the blend's slots.
cuda::ResidualShape residual_shape(const at::Tensor& rows);
cuda::DeviceResidualBlend residual_blend(const torch::autograd::variable_list& slots, std::int64_t skip_index);

/// Inputs to the backward pass of a blend.
struct ResidualBackward {
  at::Tensor blended;   ///< from the forward pass; undefined without a norm
  at::Tensor dnormed;   ///< undefined: no norm
  at::Tensor dblended;  ///< undefined: zero
  double eps = 0.0;
};
/// Gradients by slot; undefined for absent inputs.
torch::autograd::variable_list blend_gradients(const torch::autograd::variable_list& slots, std::int64_t skip_index,
                                               const ResidualBackward& backward);

/// x, skip, x0, value_embedding and the results are bfloat16; gradients of the weights hold bfloat16 values.
QkvOutput device_qkv(const BlendInputs& blend, const at::Tensor& wq, const at::Tensor& wk, const at::Tensor& wv,
                     const RotaryTables& tables, const at::Tensor& value_embedding, const at::Tensor& value_lambdas,
                     const QkvOptions& options);

/// Rounds after each product, after relu^2 and after each sum.
at::Tensor device_mlp(const at::Tensor& x, const at::Tensor& y, const at::Tensor& wo, const at::Tensor& w1,
                      const at::Tensor& w2, double branch_scale, double norm_eps);

}  // namespace nanobench::core
