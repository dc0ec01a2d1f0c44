#include "engine/ops/device_block.h"

#include "core/base/op_timer.h"
#include "core/config/kernel_coverage.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct DeviceRmsNorm : torch::autograd::Function<DeviceRmsNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double eps) {
    const OpTimer timer("rms_norm");
    const at::Tensor y = at::empty_like(x);
    const CudaKernels& kernels = *cuda_kernels();
    kernels.residual_norm_forward(residual_shape(x), {.x = bf16_data(x)},
                                  {.normed = bf16_data(y), .eps = static_cast<float>(eps)}, kernels.stream());
    context->save_for_backward({x});
    context->saved_data["eps"] = eps;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("rms_norm");
    const at::Tensor x = context->get_saved_variables()[0], dy = as_bfloat16(gradients[0]), dx = at::empty_like(x);
    const CudaKernels& kernels = *cuda_kernels();
    kernels.residual_norm_backward(residual_shape(x), {.x = bf16_data(x)},
                                   {.blended = bf16_data(x),
                                    .dnormed = bf16_data(dy),
                                    .eps = static_cast<float>(context->saved_data["eps"].toDouble()),
                                    .dx = bf16_data(dx)},
                                   kernels.stream());
    return {dx, at::Tensor()};
  }
};

struct DeviceBlend : torch::autograd::Function<DeviceBlend> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& skip,
                            const at::Tensor& skip_weights, const at::Tensor& x0, const at::Tensor& lambdas,
                            std::int64_t skip_index) {
    const OpTimer timer("blend");
    const variable_list slots = {x, skip, skip_weights, x0, lambdas};
    const at::Tensor y = at::empty_like(x);
    const CudaKernels& kernels = *cuda_kernels();
    kernels.residual_norm_forward(residual_shape(x), residual_blend(slots, skip_index), {.blended = bf16_data(y)},
                                  kernels.stream());
    context->save_for_backward(slots);
    context->saved_data["skip_index"] = skip_index;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("blend");
    const std::int64_t skip_index = context->saved_data["skip_index"].toInt();
    variable_list result = blend_gradients(context->get_saved_variables(), skip_index,
                                           {.blended = {}, .dnormed = {}, .dblended = as_bfloat16(gradients[0])});
    result.emplace_back();
    return result;
  }
};

}  // namespace

bool fits_device_rows(std::int64_t width) {
  static_assert(kernel_units::kMaxRow == cuda::kMaxResidualWidth);
  return width % kernel_units::kRow == 0 && width <= kernel_units::kMaxRow;
}

cuda::ResidualShape residual_shape(const at::Tensor& rows) {
  return {.rows = rows.numel() / rows.size(-1), .width = rows.size(-1)};
}

cuda::DeviceResidualBlend residual_blend(const variable_list& slots, std::int64_t skip_index) {
  const bool has_skip = slots[kBlendSkip].numel() > 0, has_x0 = slots[kBlendX0].numel() > 0;
  return {.x = bf16_data(slots[kBlendX]),
          .skip = bf16_data(slots[kBlendSkip]),
          .x0 = bf16_data(slots[kBlendX0]),
          .skip_weight = has_skip ? float_data(slots[kBlendSkipWeights]) + skip_index : nullptr,
          .weights = has_x0 ? float_data(slots[kBlendLambdas]) : nullptr};
}

variable_list blend_gradients(const variable_list& slots, std::int64_t skip_index, const ResidualBackward& backward) {
  const at::Tensor& x = slots[kBlendX];
  const bool has_skip = slots[kBlendSkip].numel() > 0, has_x0 = slots[kBlendX0].numel() > 0;
  const at::Tensor dx = at::empty_like(x);
  at::Tensor dskip, dskip_weights, dx0, dlambdas, workspace;
  if (has_skip) {
    dskip = at::empty_like(x);
    dskip_weights = at::zeros_like(slots[kBlendSkipWeights]);
  }
  if (has_x0) {
    dx0 = at::empty_like(x);
    dlambdas = at::empty_like(slots[kBlendLambdas]);
  }
  if (has_skip || has_x0) workspace = at::empty({cuda::kResidualWorkspace}, x.options().dtype(at::kFloat));
  const CudaKernels& kernels = *cuda_kernels();
  kernels.residual_norm_backward(residual_shape(x), residual_blend(slots, skip_index),
                                 {.blended = bf16_data(backward.blended),
                                  .dnormed = bf16_data(backward.dnormed),
                                  .dblended = bf16_data(backward.dblended),
                                  .eps = static_cast<float>(backward.eps),
                                  .dx = bf16_data(dx),
                                  .dskip = bf16_data(dskip),
                                  .dx0 = bf16_data(dx0),
                                  .dweights = float_data(dlambdas),
                                  .dskip_weight = has_skip ? float_data(dskip_weights) + skip_index : nullptr,
                                  .workspace = float_data(workspace)},
                                 kernels.stream());
  return {dx, dskip, dskip_weights, dx0, dlambdas};
}

at::Tensor device_rms_norm(const at::Tensor& x, double eps) {
  return DeviceRmsNorm::apply(x.contiguous(), eps);
}

at::Tensor device_blend(const BlendInputs& inputs) {
  const variable_list slots = blend_slots(inputs);
  return DeviceBlend::apply(slots[kBlendX], slots[kBlendSkip], slots[kBlendSkipWeights], slots[kBlendX0],
                            slots[kBlendLambdas], inputs.skip_index);
}

}  // namespace nanobench::core
