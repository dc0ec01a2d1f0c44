/// The gates of engine/ops/gates.h by the GPU's kernels: bfloat16 rows, float32 weights.
#pragma once

#include "engine/ops/torch.h"

namespace nanobench::core {

/// Whether the kernels take gates of these shapes (engine/cuda/gates.h).
bool fits_device_head_gate(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight);
bool fits_device_smear(const at::Tensor& e, const at::Tensor& weight);

/// gated_heads. REQUIRES fits_device_head_gate(y, x, weight).
at::Tensor device_gated_heads(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight, double norm_eps);

/// smear. REQUIRES fits_device_smear(e, weight).
at::Tensor device_smear(const at::Tensor& e, const at::Tensor& weight, const at::Tensor& lambda);

}  // namespace nanobench::core
