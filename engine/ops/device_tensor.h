/// Tensors as the GPU's kernels take them. Stateless.
#pragma once

#include "engine/ops/cuda_kernels.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Null for a tensor that is undefined or empty.
inline cuda::bf16* bf16_data(const at::Tensor& x) {
  if (!x.defined() || x.numel() == 0) return nullptr;
  return reinterpret_cast<cuda::bf16*>(x.data_ptr<at::BFloat16>());
}
inline float* float_data(const at::Tensor& x) {
  return x.defined() && x.numel() > 0 ? x.data_ptr<float>() : nullptr;
}

/// Contiguous, of bfloat16 numbers.
inline at::Tensor as_bfloat16(const at::Tensor& x) {
  return x.to(at::kBFloat16).contiguous();
}

/// Whether the kernels of a GPU that is open take this tensor: it lies there and holds bfloat16.
inline bool takes_device_kernels(const at::Tensor& x) {
  return takes_device_tensors(x.device()) && x.scalar_type() == at::kBFloat16;
}

}  // namespace nanobench::core
