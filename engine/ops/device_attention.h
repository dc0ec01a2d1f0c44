/// Attention with the GPU kernel (engine/cuda/attention.h). Stateless.
#pragma once

#include <memory>

#include "engine/ops/attention_plan.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Whether the kernel can run this plan on q's device: a GPU with kernels, a tiled plan in
/// either order, head widths that are multiples of 16 up to 128.
bool fits_device_attention(const at::Tensor& q, const AttentionPlan& plan);

/// Like attention() (engine/ops/attention.h), for q, k and v with bfloat16 values; the result and the gradients also
/// hold bfloat16 values. REQUIRES fits_device_attention(q, plan). Enqueues its work and does not wait.
at::Tensor device_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::shared_ptr<const AttentionPlan>& plan, double scale);

}  // namespace nanobench::core
