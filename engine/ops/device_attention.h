/// Attention by the GPU's kernel (engine/cuda/attention.h). Stateless.
#pragma once

#include <memory>

#include "engine/ops/attention_plan.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Whether the kernel computes what the plan asks for, where q lies: a GPU with kernels, tiled in
/// either order, heads of a multiple of 16 up to 128 numbers.
bool fits_device_attention(const at::Tensor& q, const AttentionPlan& plan);

/// As attention() (engine/ops/attention.h), for q, k and v that hold bfloat16 values; so do the result and the
/// gradients. REQUIRES fits_device_attention(q, plan). Enqueues, waits for nothing.
at::Tensor device_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::shared_ptr<const AttentionPlan>& plan, double scale);

}  // namespace nanobench::core
