/// Root-mean-square norm without a weight. Stateless, thread-safe.
#pragma once

#include "engine/ops/torch.h"

namespace nanobench::core {

/// x / sqrt(mean(x^2) + eps) over the last dimension.
///   x        [..., D] float32 or float64; or bfloat16 on a GPU with kernels, rounded when stored
///   eps      inside the root
///   returns  shape and dtype of x; differentiable
/// The backward pass is handwritten: it keeps x and one number per row.
at::Tensor rms_norm(const at::Tensor& x, double eps);

}  // namespace nanobench::core
