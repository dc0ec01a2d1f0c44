/// Rounding to bfloat16, for emulating its storage with float32 arithmetic. Stateless, thread-safe.
///
/// A CPU without bfloat16 units multiplies such matrices two orders of magnitude more slowly, so values are kept in
/// float32 (or float64) and rounded where a bfloat16 program would store them.
#pragma once

#include <cstdint>

#include "engine/ops/torch.h"

namespace nanobench::core {

/// The nearest bfloat16 value of every element (ties to even), in the dtype of x. Not differentiable.
///   x  float32 or float64, any shape. Infinities stay, NaN stays NaN; finite values that round beyond the largest
///      bfloat16 become infinite, as in hardware.
at::Tensor round_to_bfloat16(const at::Tensor& x);

/// The same, in place.
void round_to_bfloat16_(at::Tensor& x);

/// x as a bfloat16 tensor would hold it: the value is rounded, and on the way back its gradient.
at::Tensor stored_as_bfloat16(const at::Tensor& x);

/// One of the two bfloat16 neighbours of every element, in place: the upper with the probability of its distance to the
/// lower. Element i of stream (seed, stream) draws the same number always.
///   x  float32 or float64
void round_stochastically_(at::Tensor& x, std::uint64_t seed, std::uint64_t stream);

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
