/// Rounding to bfloat16 and to 8-bit floating point (e4m3, e5m2, saturated), to emulate their storage with float32
/// arithmetic. Stateless, thread-safe.
///
/// A CPU without bfloat16 units multiplies bfloat16 matrices two orders of magnitude more slowly, so values are kept in
/// float32 (or float64) and rounded where a bfloat16 program would store them.
///
/// Source of the 8-bit emulation: the head of records #19 to #21 (operands scaled, rounded, multiplied with float32
/// accumulation, scaled back) and the saturating conversion of the GPU (values beyond the largest finite one become
/// it).
#pragma once

#include <cstdint>

#include "engine/ops/torch.h"

namespace nanobench::core {

/// The nearest bfloat16 value of every element (ties to even), in the dtype of x. Not differentiable.
///   x  float32 or float64, any shape. Infinities stay, NaN stays NaN; finite values that round beyond the largest
///      bfloat16 become infinite, as in hardware.
at::Tensor round_to_bfloat16(const at::Tensor& x);

/// In-place version of round_to_bfloat16.
void round_to_bfloat16_(at::Tensor& x);

/// Cuts every element off to bfloat16, in place: toward zero, as the upper 16 bits of a float32.
///   x  float32 or float64, contiguous; of float64 the same digits stay
void truncate_to_bfloat16_(at::Tensor& x);

/// x as a bfloat16 tensor would hold it: rounds the value, and its gradient in the backward pass.
at::Tensor stored_as_bfloat16(const at::Tensor& x);

/// Rounds every element in place to one of its two bfloat16 neighbours. The probability of the upper one is the
/// element's relative distance from the lower one. Element i of stream (seed, stream) always draws the same number.
///   x  float32 or float64
void round_stochastically_(at::Tensor& x, std::uint64_t seed, std::uint64_t stream);

/// Whether the kernels take these tensors: float32 on the CPU, and EngineContext::uses_kernels().
bool fits_bfloat16_kernel(const at::Tensor& a, const at::Tensor& b);

/// round(x round(W)^T), as a bfloat16 linear layer stores its result. Backward: the incoming dy is rounded, and so is
/// dW. dx is not rounded: that happens where x was stored, after the gradients of all its uses have been added.
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

/// a b of matrices of bfloat16 values, of which each product is exact and sums are of the dtype of a: by the CPU's
/// kernel, by the tensor cores of a GPU, or by LibTorch where neither fits. Not differentiable.
at::Tensor product_of_bfloat16(const at::Tensor& a, const at::Tensor& b);

inline constexpr double kE4m3Max = 448.0;    ///< largest finite value: 4 exponent bits, 3 of mantissa, no infinity
inline constexpr double kE5m2Max = 57344.0;  ///< 5 exponent bits, 2 of mantissa

/// round(x * scale) with round to the nearest e4m3 value (ties to even), saturated; dtype of x. Such values are
/// bfloat16 values. Not differentiable.
at::Tensor in_e4m3(const at::Tensor& x, double scale);

/// The same for e5m2: for gradients.
at::Tensor in_e5m2(const at::Tensor& x, double scale);

/// round(x / unit) with the rounding of in_e4m3; `unit` is 0-d, above 0. Not differentiable.
at::Tensor in_e4m3_units(const at::Tensor& x, const at::Tensor& unit);

}  // namespace nanobench::core
