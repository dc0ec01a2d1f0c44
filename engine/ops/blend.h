/// Weighted sums with learned scalar weights: residual blends, U-net skips, value mixing. Stateless, thread-safe.
#pragma once

#include <cstdint>

#include "engine/ops/torch.h"

namespace nanobench::core {

/// How the entries of a learned weight tensor enter weighted_sum.
enum class BlendForm {
  kPair,        ///< w[0] x + w[1] y
  kFirstOnly,   ///< w[0] x: a pair without y; the gradient of w[1] is zero
  kLerp,        ///< (1 - w) x + w y, w a scalar
  kAddIndexed,  ///< x + w[index] y
};

/// Weighted sum of x and y.
///   x, y     same shape, float32 or float64; y undefined with kFirstOnly
///   weights  the learned scalars, dtype of x
///   returns  shape of x; differentiable in x, y and weights
/// The weights' gradients are dot products and need no temporary of the size of x.
at::Tensor weighted_sum(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weights, BlendForm form,
                        std::int64_t index = 0);

/// relu(x)^2; keeps only relu(x) for the backward pass.
at::Tensor relu_squared(const at::Tensor& x);

}  // namespace nanobench::core
