/// Exact emulation of 8-bit floating point: rounding to e4m3 and e5m2 with saturation, float32 arithmetic. Stateless,
/// thread-safe.
///
/// Source: the head of records #19 to #21 (operands scaled, rounded, multiplied with float32 accumulation, scaled back)
/// and the saturating conversion of the GPU (values beyond the largest finite one become it).
#pragma once

#include "engine/ops/torch.h"

namespace nanobench::core {

inline constexpr double kE4m3Max = 448.0;    ///< largest finite value: 4 exponent bits, 3 of mantissa, no infinity
inline constexpr double kE5m2Max = 57344.0;  ///< 5 exponent bits, 2 of mantissa

/// round(x * scale) / scale with round to the nearest e4m3 value (ties to even), saturated; dtype of x. The gradient
/// passes through unchanged: rounding is treated as the identity.
at::Tensor quantized_e4m3(const at::Tensor& x, double scale);

/// The same for e5m2, in place and not differentiable: for gradients.
void quantize_e5m2_(at::Tensor& x, double scale);

}  // namespace nanobench::core
