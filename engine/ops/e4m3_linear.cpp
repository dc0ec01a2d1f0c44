#include "engine/ops/e4m3_linear.h"

#include "core/base/op_timer.h"
#include "engine/ops/bfloat16.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kSmallestRange = 1e-30;  // of a matrix of zeros

struct E4m3Linear : torch::autograd::Function<E4m3Linear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& x_unit, const at::Tensor& weight_unit, bool are_bfloat16) {
    const OpTimer timer("e4m3_linear");
    context->save_for_backward({x, weight});
    context->saved_data["are_bfloat16"] = are_bfloat16;
    return product_of_bfloat16(in_e4m3_units(x, x_unit), in_e4m3_units(weight, weight_unit).t())
        .mul_(x_unit * weight_unit);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("e4m3_linear");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor gradient = gradients[0].contiguous(), x = saved[0].contiguous(), weight = saved[1].contiguous();
    const bool are_bfloat16 = context->saved_data["are_bfloat16"].toBool();
    const auto product = [are_bfloat16](const at::Tensor& a, const at::Tensor& b) {
      return are_bfloat16 ? product_of_bfloat16(a, b) : at::mm(a, b);
    };
    return {product(gradient, weight), product(gradient.t(), x), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor e4m3_unit(const at::Tensor& x) {
  return x.detach().abs().max().clamp_min(kSmallestRange) / kE4m3Max;
}

at::Tensor e4m3_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& x_unit,
                       const at::Tensor& weight_unit, bool are_bfloat16) {
  return E4m3Linear::apply(x, weight, x_unit, weight_unit, are_bfloat16);
}

}  // namespace nanobench::core
