/// What records #82 on do with the output of attention. Stateless, thread-safe.
#pragma once

#include <memory>

#include "engine/ops/attention_plan.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// out[t, h] = y - tanh(alpha[h]) (y . v) / max(v . v, 1e-8) v, the dot products over E.
///   y, v     [T, H, E]; v with everything that was added to it
///   alpha    [H] or [T, H]
///   returns  [T, H, E]; differentiable in all three
/// Source: record #82 (with a norm of at least 1e-4), #86.
at::Tensor without_own_values(const at::Tensor& y, const at::Tensor& v, const at::Tensor& alpha);

/// Composed heads: out[t, h] = share[t, h] sum_s (sum_g m[t, g] P_g(t, s)) v[s, h], with P_g the softmax of head g's
/// scaled logits over the keys of the plan and m = mixture / sqrt(mean over the heads of mixture^2 + eps).
///   q, k, v   [T, H, E]
///   plan      with a range of keys of its own, from the host; its order of blocks does not matter. Each tile reads as
///             many keys as the widest range needs: for short ranges
///   mixture, share  [T, H]
///   returns   [T, H, E], to be added to the heads' own outputs; differentiable
/// Source: record #85 (dynamically composed attention).
at::Tensor composed_heads(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionPlan& plan,
                          double scale, const at::Tensor& mixture, const at::Tensor& share, double eps);

}  // namespace nanobench::core
