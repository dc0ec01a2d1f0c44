#include "core/ops/rms_norm.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double eps) {
    const double width = static_cast<double>(x.size(-1));
    at::Tensor inverse = at::linalg_vector_norm(x, 2, at::IntArrayRef{-1}, /*keepdim=*/true);
    inverse.square_().mul_(1.0 / width).add_(eps).rsqrt_();
    context->save_for_backward({x, inverse});
    return at::mul(x, inverse);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& inverse = saved[1];
    const at::Tensor& dy = gradients[0];
    const double width = static_cast<double>(x.size(-1));
    // dx = inverse * dy - x * inverse^3 * mean(dy * x)
    at::Tensor projection = at::mul(dy, x).sum(-1, /*keepdim=*/true);
    projection.mul_(inverse).mul_(inverse).mul_(inverse).mul_(-1.0 / width);
    return {at::mul(dy, inverse).addcmul_(x, projection), at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, double eps) {
  return RmsNorm::apply(x, eps);
}

}  // namespace nanobench::core
