#include "engine/ops/float8.h"

#include "core/base/op_timer.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// LibTorch's conversion rounds to nearest even but turns too large values into NaN or infinity: hence the clamp.
at::Tensor quantized(const at::Tensor& x, double scale, at::ScalarType type, double largest) {
  const OpTimer timer("quantize_float8");
  return (x * scale).clamp_(-largest, largest).to(type).to(x.scalar_type()).mul_(1.0 / scale);
}

struct QuantizedE4m3 : torch::autograd::Function<QuantizedE4m3> {
  static at::Tensor forward(AutogradContext*, const at::Tensor& x, double scale) {
    return quantized(x, scale, at::kFloat8_e4m3fn, kE4m3Max);
  }
  static variable_list backward(AutogradContext*, variable_list gradients) { return {gradients[0], at::Tensor()}; }
};

}  // namespace

at::Tensor quantized_e4m3(const at::Tensor& x, double scale) {
  return QuantizedE4m3::apply(x, scale);
}

void quantize_e5m2_(at::Tensor& x, double scale) {
  x.copy_(quantized(x, scale, at::kFloat8_e5m2, kE5m2Max));
}

}  // namespace nanobench::core
