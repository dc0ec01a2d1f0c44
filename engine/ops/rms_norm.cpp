#include "engine/ops/rms_norm.h"

#include "core/base/op_timer.h"
#include "engine/kernels/block_kernel.h"
#include "engine/ops/device_block.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double eps) {
    const OpTimer timer("rms_norm");
    const double width = static_cast<double>(x.size(-1));
    at::Tensor inverse = at::linalg_vector_norm(x, 2, at::IntArrayRef{-1}, /*keepdim=*/true);
    inverse.square_().mul_(1.0 / width).add_(eps).rsqrt_();
    context->save_for_backward({x, inverse});
    return at::mul(x, inverse);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("rms_norm");
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

/// RMSNorm with the vector kernel.
struct KernelRmsNorm : torch::autograd::Function<KernelRmsNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double eps) {
    const OpTimer timer("rms_norm", 0, static_cast<double>(2 * x.nbytes()));
    const std::int64_t width = x.size(-1), rows = x.numel() / width;
    at::Tensor y = at::empty_like(x), inverse = at::empty({rows}, x.options());
    rms_norm_forward(rows, width, x.const_data_ptr<float>(), static_cast<float>(eps), y.data_ptr<float>(),
                     inverse.data_ptr<float>(), kernel_threads());
    context->save_for_backward({x, inverse});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const OpTimer timer("rms_norm", 0, static_cast<double>(3 * x.nbytes()));
    const at::Tensor dy = gradients[0].contiguous();
    at::Tensor dx = at::empty_like(x);
    rms_norm_backward(saved[1].numel(), x.size(-1), x.const_data_ptr<float>(), saved[1].const_data_ptr<float>(),
                      dy.const_data_ptr<float>(), dx.data_ptr<float>(), kernel_threads());
    return {dx, at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, double eps) {
  if (takes_device_kernels(x) && fits_device_rows(x.size(-1))) return device_rms_norm(x, eps);
  if (may_use_cpu_kernels(x) && x.scalar_type() == at::kFloat && x.size(-1) % 16 == 0 && x.numel() > 0)
    return KernelRmsNorm::apply(x.contiguous(), eps);
  return RmsNorm::apply(x, eps);
}

}  // namespace nanobench::core
