/// Causal attention under a BlockMask, by the kernels of the CPU or of a GPU (engine/cuda/attention.h). Stateless,
/// thread-safe.
#pragma once

#include <memory>

#include "engine/ops/attention_plan.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Whether the kernel can run this plan on q's device: a GPU with kernels, a tiled plan in
/// either order, head widths that are multiples of 16 up to 128.
bool fits_device_attention(const at::Tensor& q, const AttentionPlan& plan);

/// Like attention(), for q, k and v with bfloat16 values; the result and the gradients also
/// hold bfloat16 values. REQUIRES fits_device_attention(q, plan). Enqueues its work and does not wait.
at::Tensor device_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::shared_ptr<const AttentionPlan>& plan, double scale);

/// softmax(scale * q k^T) v over the keys that the plan allows.
///   q        [T, H, E]   float32 or float64
///   k, v     [T, Hkv, E] query head h reads key/value head h / (H / Hkv)
///   returns  [T, H, E]; differentiable in q, k, v
/// Never materialises T x T (unless the plan is dense): works block by block and recomputes the weights in the backward
/// pass. Deterministic: the shape fixes the order of every sum.
///   is_bfloat16  q, k and v hold bfloat16 values, and the caller rounds the result to bfloat16: a GPU may then use
///                its tensor cores
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const std::shared_ptr<const AttentionPlan>& plan, double scale, bool is_bfloat16 = false);

/// The same with one dense T x T product per head, through plain autograd: the reference for tests of `attention`.
at::Tensor dense_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const BlockMask& mask,
                           double scale);

}  // namespace nanobench::core
