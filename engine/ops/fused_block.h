/// The halves of a transformer block before and after its attention, each as one differentiable op on the fused kernels
/// of engine/kernels/block_kernel.h: float32 on the CPU, no rounding. bfloat16 rows on a GPU use the GPU kernels, with
/// the rounding of their storage (device_block.h). They cover RMSNorm without weights, linear layers without biases,
/// and ReLU^2; anything else needs the ops they replace (blend.h, rms_norm.h, rotary.h). Stateless, thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/ops/rotary.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// x = lambdas[0] (x + skip_weights[skip_index] skip) + lambdas[1] x0, where the terms of undefined tensors are
/// omitted.
struct BlendInputs {
  at::Tensor x;             ///< [T, D]
  at::Tensor skip;          ///< [T, D]
  at::Tensor skip_weights;  ///< [n]
  std::int64_t skip_index = 0;
  at::Tensor x0;       ///< [T, D]
  at::Tensor lambdas;  ///< [2]
};

/// The blended x; differentiable in all inputs.
at::Tensor fused_blend(const BlendInputs& inputs);

/// How values are mixed: v = v, lambdas[0] v + lambdas[1] embedding (kPair; without embedding lambdas[0] v), or
/// (1 - lambda) v + lambda embedding (kLerp).
enum class ValueBlend { kNone, kPair, kLerp };

struct QkvOptions {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 16;
  double norm_eps = 0.0;
  std::optional<double> head_norm_eps;  ///< nullopt: heads are not normalised
  ValueBlend value_blend = ValueBlend::kNone;
  bool norm_after_rotation = false;  ///< heads are rotated first; GPU only
  bool rounds_rotation = false;      ///< rounds each product and sum of the rotation to bfloat16; GPU only
};

struct QkvOutput {
  at::Tensor x;        ///< [T, D] blended
  at::Tensor q, k, v;  ///< [T, H, E], [T, Hkv, E], [T, Hkv, E]
};

/// Blend, norm, projections, head norm, rotation and value mixing.
///   weights          wq [H E, D], wk and wv [Hkv E, D]; or wq alone, [3, D, D] or [3 D, D], with the others undefined
///   tables           rotary tables of at least T rows; undefined: no rotation
///   value_embedding  [T, Hkv E] or [T, Hkv, E]; undefined: none
///   value_lambdas    [2] (kPair) or [] (kLerp)
/// Differentiable in the blend's inputs, the weights, value_embedding and value_lambdas.
QkvOutput fused_qkv(const BlendInputs& blend, const at::Tensor& wq, const at::Tensor& wk, const at::Tensor& wv,
                    const RotaryTables& tables, const at::Tensor& value_embedding, const at::Tensor& value_lambdas,
                    const QkvOptions& options);

/// Computes x + branch_scale y wo^T, of a block without MLP; shapes as in fused_mlp. Differentiable in x, y and wo.
at::Tensor fused_output(const at::Tensor& x, const at::Tensor& y, const at::Tensor& wo, double branch_scale);

/// Computes m = x + branch_scale y wo^T and returns m + relu(RMSNorm(m) w1^T)^2 w2^T.
///   x   [T, D]
///   y   [T, H E] or [T, H, E]; undefined: a block without attention, wo is ignored
///   wo  [D, H E], w1 [hidden, D], w2 [D, hidden]
/// Differentiable in all five.
at::Tensor fused_mlp(const at::Tensor& x, const at::Tensor& y, const at::Tensor& wo, const at::Tensor& w1,
                     const at::Tensor& w2, double branch_scale, double norm_eps);

}  // namespace nanobench::core
