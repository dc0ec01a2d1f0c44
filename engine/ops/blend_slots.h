/// The inputs of a residual blend, and of what begins with one, as autograd sees them: what the fused ops of the CPU
/// and of a GPU share. Stateless.
#pragma once

#include <utility>

#include "engine/ops/fused_block.h"

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

/// Carries the options of fused_qkv through autograd's saved data.
struct QkvHolder : torch::CustomClassHolder {
  QkvHolder(QkvOptions o, std::int64_t index) : options(std::move(o)), skip_index(index) {}
  QkvOptions options;
  std::int64_t skip_index;
};

/// All inputs of fused_qkv, behind those of its blend.
enum QkvSlot { kWq = kBlendSlots, kWk, kWv, kCos, kSin, kValueEmbedding, kValueLambdas, kQkvSlots };

}  // namespace nanobench::core
