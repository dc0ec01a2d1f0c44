#include "engine/nn/mudd.h"

#include "core/base/op_timer.h"

namespace nanobench::core {

Coefficients::Coefficients(Parameters& parameters, const std::string& prefix, std::vector<double> first, double scale)
    : scale_(scale) {
  for (double& value : first) value /= scale;
  w1_ = parameters.add({.name = prefix + "w1", .rule = InitRule::kUniform});
  w2_ = parameters.add({.name = prefix + "w2", .rule = InitRule::kZero});
  b2_ = parameters.add({.name = prefix + "b2", .values = std::move(first)});
}

at::Tensor Coefficients::operator()(const at::Tensor& x) const {
  const OpTimer timer("coefficients");
  return at::linear(at::gelu(at::linear(x, w1_)), w2_, b2_) * scale_;
}

at::Tensor Coefficients::operator()(const at::Tensor& x, const at::Tensor& scale) const {
  const OpTimer timer("coefficients");
  return at::linear(at::gelu(at::linear(x, w1_)), w2_, b2_) * scale;
}

}  // namespace nanobench::core
