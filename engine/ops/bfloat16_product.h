/// Matrix products of bfloat16 values that are kept in float32: by the kernels, with the rounding of the result on the
/// way. Stateless, thread-safe. What computes them: engine/kernels/bfloat16_gemm.h.
#pragma once

#include "engine/ops/torch.h"

namespace nanobench::core {

/// Do the kernels take these? float32 on the CPU, and EngineContext::uses_kernels().
bool fits_bfloat16_kernel(const at::Tensor& a, const at::Tensor& b);

/// round(x round(W)^T), as a bfloat16 linear layer stores its result. Back: dy is rounded as it comes; dW is rounded;
/// dx is not, as that happens where x was stored, after the gradients of all its uses have been added.
///   x       [T, in], bfloat16 values
///   weight  [out, in], any values
///   returns [T, out]
/// REQUIRES fits_bfloat16_kernel(x, weight).
at::Tensor bfloat16_linear(const at::Tensor& x, const at::Tensor& weight);

/// round(a b) of each matrix. Not differentiable.
///   a  [n, rows, inner], b [n, inner, columns]: bfloat16 values; of each, one of the last two strides is 1
///   returns [n, rows, columns]
/// REQUIRES fits_bfloat16_kernel(a, b).
at::Tensor bfloat16_bmm(const at::Tensor& a, const at::Tensor& b);

}  // namespace nanobench::core
