#include "engine/ops/device_gates.h"

#include "core/base/op_timer.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kDeviceWidthUnit = 8;

at::Tensor floats_for(const at::Tensor& on_device, at::IntArrayRef sizes) {
  return at::empty(sizes, on_device.options().dtype(at::kFloat).requires_grad(false));
}

bool fits_gate(const at::Tensor& rows, const at::Tensor& weight) {
  return takes_device_kernels(rows) && rows.size(-1) % kDeviceWidthUnit == 0 && weight.scalar_type() == at::kFloat &&
         weight.size(1) <= cuda::kMaxGateDim;
}

struct DeviceHeadGateFunction : torch::autograd::Function<DeviceHeadGateFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& y, const at::Tensor& x,
                            const at::Tensor& weight, double norm_eps) {
    const OpTimer timer("gate");
    const CudaKernels& kernels = *cuda_kernels();
    const at::Tensor gates = floats_for(y, {y.size(0), y.size(1)}), out = at::empty_like(y);
    kernels.head_gate_forward(shape_of(y, x, weight), inputs_of(y, x, weight, norm_eps), float_data(gates),
                              bf16_data(out), kernels.stream());
    context->save_for_backward({y, x, weight, gates});
    context->saved_data["norm_eps"] = norm_eps;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("gate");
    const CudaKernels& kernels = *cuda_kernels();
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &y = saved[0], &x = saved[1], &weight = saved[2];
    const at::Tensor dout = as_bfloat16(gradients[0]);
    at::Tensor dy = at::empty_like(y), dx = at::empty_like(x), dweight = at::empty_like(weight);
    const at::Tensor workspace = floats_for(y, {weight.numel() * cuda::kPartialBlocks});
    kernels.head_gate_backward(shape_of(y, x, weight),
                               inputs_of(y, x, weight, context->saved_data["norm_eps"].toDouble()),
                               {.dout = bf16_data(dout),
                                .gates = float_data(saved[3]),
                                .x = bf16_data(dx),
                                .y = bf16_data(dy),
                                .weight = float_data(dweight),
                                .workspace = float_data(workspace)},
                               kernels.stream());
    return {dy, dx, dweight, at::Tensor()};
  }

 private:
  static cuda::DeviceHeadGateShape shape_of(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight) {
    return {
        .length = y.size(0), .width = x.size(1), .heads = y.size(1), .head_dim = y.size(2), .gate_dim = weight.size(1)};
  }
  static cuda::DeviceHeadGate inputs_of(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight,
                                        double eps) {
    return {.x = bf16_data(x), .weight = float_data(weight), .y = bf16_data(y), .eps = static_cast<float>(eps)};
  }
};

struct DeviceSmearFunction : torch::autograd::Function<DeviceSmearFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& e, const at::Tensor& weight,
                            const at::Tensor& lambda) {
    const OpTimer timer("smear");
    const CudaKernels& kernels = *cuda_kernels();
    const at::Tensor gates = floats_for(e, {e.size(0)}), out = at::empty_like(e);
    kernels.smear_forward(shape_of(e, weight), inputs_of(e, weight, lambda), float_data(gates), bf16_data(out),
                          kernels.stream());
    context->save_for_backward({e, weight, lambda, gates});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("smear");
    const CudaKernels& kernels = *cuda_kernels();
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &e = saved[0], &weight = saved[1], &lambda = saved[2];
    const at::Tensor dout = as_bfloat16(gradients[0]);
    at::Tensor de = at::empty_like(e), dweight = at::empty_like(weight), dlambda = at::empty_like(lambda);
    const at::Tensor workspace = floats_for(e, {(weight.numel() + 1) * cuda::kPartialBlocks});
    kernels.smear_backward(shape_of(e, weight), inputs_of(e, weight, lambda),
                           {.dout = bf16_data(dout),
                            .gates = float_data(saved[3]),
                            .e = bf16_data(de),
                            .weight = float_data(dweight),
                            .lambda = float_data(dlambda),
                            .workspace = float_data(workspace)},
                           kernels.stream());
    return {de, dweight, dlambda};
  }

 private:
  static cuda::DeviceSmearShape shape_of(const at::Tensor& e, const at::Tensor& weight) {
    return {.length = e.size(0), .width = e.size(1), .gate_dim = weight.size(1)};
  }
  static cuda::DeviceSmear inputs_of(const at::Tensor& e, const at::Tensor& weight, const at::Tensor& lambda) {
    return {.e = bf16_data(e), .weight = float_data(weight), .lambda = float_data(lambda)};
  }
};

}  // namespace

bool fits_device_head_gate(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight) {
  return takes_device_kernels(y) && fits_gate(x, weight) && y.size(1) <= cuda::kMaxGateHeads &&
         y.size(2) % kDeviceWidthUnit == 0;
}

bool fits_device_smear(const at::Tensor& e, const at::Tensor& weight) {
  return fits_gate(e, weight);
}

at::Tensor device_gated_heads(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight, double norm_eps) {
  return DeviceHeadGateFunction::apply(y.contiguous(), x.contiguous(), weight.contiguous(), norm_eps);
}

at::Tensor device_smear(const at::Tensor& e, const at::Tensor& weight, const at::Tensor& lambda) {
  return DeviceSmearFunction::apply(e.contiguous(), weight.contiguous(), lambda);
}

}  // namespace nanobench::core
