/// Learned sigmoid gates of records #28 to #41: of attention heads, and of the smear of embeddings. Stateless,
/// thread-safe.
#pragma once

#include "engine/ops/torch.h"

namespace nanobench::core {

/// out[t, h] = y[t, h] sigmoid(sum_g n[t, g] weight[h, g]) with n = RMSNorm(x), which is not computed in full.
///   y       [T, H, E]  output of attention, float32; or bfloat16 on a GPU
///   x       [T, D]     the block's input before its norm, dtype of y
///   weight  [H, G]     G <= D; float32
///   returns [T, H, E]; differentiable in y, x and weight
/// On a CPU with kernels one pass forward and one backward (engine/kernels/gates.h), for widths that are multiples of
/// 16. Source: record #28.
at::Tensor gated_heads(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight, double norm_eps);

/// out[t] = e[t] + lambda sigmoid(sum_g e[t, g] weight[0, g]) e[t - 1]; out[0] = e[0]. Documents do not matter.
///   e       [T, D]  rows of the token table; float32 or float64; or bfloat16 on a GPU
///   weight  [1, G]  G <= D
///   lambda  []
///   returns [T, D], dtype of e; differentiable in all three
/// Source: record #34.
at::Tensor smear(const at::Tensor& e, const at::Tensor& weight, const at::Tensor& lambda);

}  // namespace nanobench::core
