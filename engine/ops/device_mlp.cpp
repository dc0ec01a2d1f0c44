#include "core/base/op_timer.h"
#include "engine/ops/device_block.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

enum MlpSaved { kX, kY, kWo, kW1, kW2, kBranch, kMlpBlended, kMlpNormed, kMlpHidden };

double mlp_flops(const at::Tensor& x, const at::Tensor& y, const at::Tensor& w1) {
  const std::int64_t attention_width = y.numel() / x.size(0);
  return 2.0 * static_cast<double>(x.numel()) * static_cast<double>(attention_width + 2 * w1.size(0));
}

at::Tensor activated(const at::Tensor& hidden) {
  const at::Tensor active = at::empty_like(hidden);
  const CudaKernels& kernels = *cuda_kernels();
  kernels.relu_squared_forward(hidden.numel(), bf16_data(hidden), bf16_data(active), kernels.stream());
  return active;
}

/// x + scale branch.
cuda::DeviceResidualBlend sum_of(const at::Tensor& x, const at::Tensor& branch, double scale) {
  return {.x = bf16_data(x), .skip = bf16_data(branch), .skip_scale = static_cast<float>(scale)};
}

at::Tensor rows_of(const at::Tensor& y, const at::Tensor& x) {
  return y.reshape({x.size(0), -1});
}

at::Tensor weight_gradient(const at::Tensor& dy, const at::Tensor& x) {
  return at::mm(dy.t(), x).to(at::kFloat);
}

struct DeviceMlp : torch::autograd::Function<DeviceMlp> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& y, const at::Tensor& wo,
                            const at::Tensor& w1, const at::Tensor& w2, double branch_scale, double norm_eps) {
    const OpTimer timer("mlp", mlp_flops(x, y, w1));
    const CudaKernels& kernels = *cuda_kernels();
    const bool has_branch = y.numel() > 0;
    const at::Tensor branch = has_branch ? at::mm(rows_of(y, x), as_bfloat16(wo).t()) : x.new_empty({0});
    const at::Tensor blended = has_branch ? at::empty_like(x) : x, normed = at::empty_like(x), out = at::empty_like(x);
    kernels.residual_norm_forward(residual_shape(x), sum_of(x, branch, branch_scale),
                                  {.blended = has_branch ? bf16_data(blended) : nullptr,
                                   .normed = bf16_data(normed),
                                   .eps = static_cast<float>(norm_eps)},
                                  kernels.stream());
    const at::Tensor hidden = at::mm(normed, as_bfloat16(w1).t());
    const at::Tensor contracted = at::mm(activated(hidden), as_bfloat16(w2).t());
    kernels.residual_norm_forward(residual_shape(x), sum_of(blended, contracted, 1.0), {.blended = bf16_data(out)},
                                  kernels.stream());
    context->save_for_backward({x, y, wo, w1, w2, branch, blended, normed, hidden});
    context->saved_data["branch_scale"] = branch_scale;
    context->saved_data["norm_eps"] = norm_eps;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const OpTimer timer("mlp", 2.0 * mlp_flops(saved[kX], saved[kY], saved[kW1]));
    const at::Tensor dout = as_bfloat16(gradients[0]);
    const at::Tensor dw2 = weight_gradient(dout, activated(saved[kMlpHidden]));
    const at::Tensor dhidden = hidden_gradient(dout, saved);
    const at::Tensor dw1 = weight_gradient(dhidden, saved[kMlpNormed]);
    const auto [dx, dbranch] =
        sum_gradients(dout, at::mm(dhidden, as_bfloat16(saved[kW1])), saved,
                      context->saved_data["branch_scale"].toDouble(), context->saved_data["norm_eps"].toDouble());
    at::Tensor dy, dwo;
    if (dbranch.defined()) {
      dy = at::mm(dbranch, as_bfloat16(saved[kWo])).reshape(saved[kY].sizes());
      dwo = weight_gradient(dbranch, rows_of(saved[kY], saved[kX]));
    }
    return {dx, dy, dwo, dw1, dw2, at::Tensor(), at::Tensor()};
  }

 private:
  static at::Tensor hidden_gradient(const at::Tensor& dout, const variable_list& saved) {
    const at::Tensor dactive = at::mm(dout, as_bfloat16(saved[kW2]));
    const CudaKernels& kernels = *cuda_kernels();
    kernels.relu_squared_backward(dactive.numel(), bf16_data(saved[kMlpHidden]), bf16_data(dactive), bf16_data(dactive),
                                  kernels.stream());
    return dactive;
  }

  struct SumGradients {
    at::Tensor x;
    at::Tensor branch;  ///< undefined without one
  };
  static SumGradients sum_gradients(const at::Tensor& dout, const at::Tensor& dnormed, const variable_list& saved,
                                    double branch_scale, double norm_eps) {
    const at::Tensor& x = saved[kX];
    SumGradients d{.x = at::empty_like(x), .branch = saved[kBranch].numel() > 0 ? at::empty_like(x) : at::Tensor()};
    const CudaKernels& kernels = *cuda_kernels();
    kernels.residual_norm_backward(residual_shape(x), sum_of(x, saved[kBranch], branch_scale),
                                   {.blended = bf16_data(saved[kMlpBlended]),
                                    .dnormed = bf16_data(dnormed),
                                    .dblended = bf16_data(dout),
                                    .eps = static_cast<float>(norm_eps),
                                    .dx = bf16_data(d.x),
                                    .dskip = bf16_data(d.branch)},
                                   kernels.stream());
    return d;
  }
};

}  // namespace

at::Tensor device_mlp(const at::Tensor& x, const at::Tensor& y, const at::Tensor& wo, const at::Tensor& w1,
                      const at::Tensor& w2, double branch_scale, double norm_eps) {
  const at::Tensor floats = x.new_empty({0}, at::kFloat);
  return DeviceMlp::apply(x.contiguous(), y.defined() ? as_bfloat16(y) : x.new_empty({0}), present(wo, floats), w1, w2,
                          branch_scale, norm_eps);
}

}  // namespace nanobench::core
