/// The inputs of a residual blend as autograd sees them: what the fused ops of the CPU and of a GPU share. Stateless.
#pragma once

#include "core/ops/fused_block.h"

namespace nanobench::core {

/// An empty tensor in the place of an undefined one, which autograd does not take.
inline at::Tensor present(const at::Tensor& tensor, const at::Tensor& like) {
  return tensor.defined() ? tensor : like.new_empty({0});
}

/// In this order; absent inputs are empty.
enum BlendSlot { kBlendX, kBlendSkip, kBlendSkipWeights, kBlendX0, kBlendLambdas, kBlendSlots };

inline torch::autograd::variable_list blend_slots(const BlendInputs& blend) {
  const auto slot = [&](const at::Tensor& tensor) { return present(tensor, blend.x).contiguous(); };
  return {slot(blend.x), slot(blend.skip), slot(blend.skip_weights), slot(blend.x0), slot(blend.lambdas)};
}

}  // namespace nanobench::core
