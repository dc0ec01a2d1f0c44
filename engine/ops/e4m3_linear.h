/// A matrix product with operands in 8-bit floating point (e4m3), emulated: forward only, as records from #84 on
/// compute parts of their MLPs.
#pragma once

#include "engine/ops/torch.h"

namespace nanobench::core {

/// The unit in which a tensor's largest magnitude is the largest e4m3 value: max |x| / 448, and never 0. 0-d, dtype of
/// x.
at::Tensor e4m3_unit(const at::Tensor& x);

/// (round(x / x_unit) round(W / weight_unit)^T) x_unit weight_unit, where round() takes the nearest e4m3 value (ties to
/// even) and saturates. Sums are of the tensors' dtype. The gradients are those of x W^T.
///   x                     [T, in]
///   weight                [out, in]
///   x_unit, weight_unit   0-d, above 0
///   are_bfloat16          x, W and the gradient are bfloat16 values, of which tensor cores make the backward products
///   returns               [T, out]
at::Tensor e4m3_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& x_unit,
                       const at::Tensor& weight_unit, bool are_bfloat16);

}  // namespace nanobench::core
