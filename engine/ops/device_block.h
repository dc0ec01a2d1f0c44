/// The halves of a transformer block around its attention in bfloat16 on a GPU: as fused_qkv and fused_mlp
/// (engine/ops/fused_block.h), on the kernels of engine/cuda and the library's matrix products. What a record
/// stores in bfloat16 is a bfloat16 tensor; weights are float32 and rounded on the way. Enqueues, waits for nothing.
#pragma once

#include "engine/ops/fused_block.h"

namespace nanobench::core {

/// x, skip, x0, value_embedding and the results bfloat16; gradients of the weights are bfloat16 values.
QkvOutput device_qkv(const BlendInputs& blend, const at::Tensor& wq, const at::Tensor& wk, const at::Tensor& wv,
                     const RotaryTables& tables, const at::Tensor& value_embedding, const at::Tensor& value_lambdas,
                     const QkvOptions& options);

/// Rounds after each product, after relu^2 and after each sum.
at::Tensor device_mlp(const at::Tensor& x, const at::Tensor& y, const at::Tensor& wo, const at::Tensor& w1,
                      const at::Tensor& w2, double branch_scale, double norm_eps);

}  // namespace nanobench::core
