/// Coefficients of each token from a small MLP on the residual stream (records #81 on). Not thread-safe.
#pragma once

#include <cstdint>

#include "engine/nn/parameters.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// m(x) = (gelu(x w1^T) w2^T + b2) scale.
class Coefficients {
 public:
  Coefficients() = default;
  /// Adds `prefix`w1 [M, D], `prefix`w2 [n, M] and `prefix`b2 [n] to the parameters; b2 begins at `first` over scale.
  Coefficients(Parameters& parameters, const std::string& prefix, std::vector<double> first, double scale);

  bool defined() const { return w1_.defined(); }
  /// x [T, D]; returns [T, n], differentiable.
  at::Tensor operator()(const at::Tensor& x) const;
  /// The same with a learned scale.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& scale) const;

 private:
  at::Tensor w1_, w2_, b2_;
  double scale_ = 1.0;
};

}  // namespace nanobench::core
