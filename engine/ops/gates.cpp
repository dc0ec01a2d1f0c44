#include "engine/ops/gates.h"

#include "core/base/op_timer.h"
#include "engine/kernels/gates.h"
#include "engine/ops/device_gates.h"
#include "engine/ops/kernels.h"
#include "engine/ops/rms_norm.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kWidthUnit = 16;

bool fits_kernel(const at::Tensor& x) {
  return may_use_cpu_kernels(x) && x.scalar_type() == at::kFloat && x.size(-1) % kWidthUnit == 0;
}

HeadGateShape shape_of(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight) {
  return {.length = x.size(0),
          .model_dim = x.size(1),
          .heads = y.size(1),
          .head_dim = y.size(2),
          .gate_dim = weight.size(1)};
}

struct HeadGate : torch::autograd::Function<HeadGate> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& y, const at::Tensor& x,
                            const at::Tensor& weight, double norm_eps) {
    const OpTimer timer("gate");
    at::Tensor gates = at::empty({y.size(0), y.size(1)}, y.options()), inverse = at::empty({y.size(0)}, y.options());
    at::Tensor out = at::empty_like(y);
    head_gate_forward(
        shape_of(y, x, weight), inputs_of(y, x, weight, norm_eps),
        {.gates = gates.data_ptr<float>(), .inverse = inverse.data_ptr<float>(), .out = out.data_ptr<float>()},
        kernel_threads());
    context->save_for_backward({y, x, weight, gates, inverse});
    context->saved_data["norm_eps"] = norm_eps;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("gate");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &y = saved[0], &x = saved[1], &weight = saved[2];
    const at::Tensor dout = gradients[0].contiguous();
    at::Tensor dy = at::empty_like(y), dx = at::empty_like(x), dweight = at::empty_like(weight);
    head_gate_backward(shape_of(y, x, weight), inputs_of(y, x, weight, context->saved_data["norm_eps"].toDouble()),
                       {.gates = saved[3].data_ptr<float>(), .inverse = saved[4].data_ptr<float>(), .out = nullptr},
                       {.dout = dout.const_data_ptr<float>(),
                        .x = dx.data_ptr<float>(),
                        .weight = dweight.data_ptr<float>(),
                        .y = dy.data_ptr<float>()},
                       kernel_threads());
    return {dy, dx, dweight, at::Tensor()};
  }

 private:
  static HeadGateInputs inputs_of(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight, double eps) {
    return {.x = x.const_data_ptr<float>(),
            .weight = weight.const_data_ptr<float>(),
            .y = y.const_data_ptr<float>(),
            .norm_eps = static_cast<float>(eps)};
  }
};

struct Smear : torch::autograd::Function<Smear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& e, const at::Tensor& weight,
                            const at::Tensor& lambda) {
    const OpTimer timer("smear");
    at::Tensor gates = at::empty({e.size(0)}, e.options()), out = at::empty_like(e);
    smear_forward(shape_of(e, weight), inputs_of(e, weight, lambda), gates.data_ptr<float>(), out.data_ptr<float>(),
                  kernel_threads());
    context->save_for_backward({e, weight, lambda, gates});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("smear");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &e = saved[0], &weight = saved[1], &lambda = saved[2];
    const at::Tensor dout = gradients[0].contiguous();
    at::Tensor de = at::empty_like(e), dweight = at::empty_like(weight);
    double dlambda = 0.0;
    smear_backward(shape_of(e, weight), inputs_of(e, weight, lambda), saved[3].const_data_ptr<float>(),
                   {.dout = dout.const_data_ptr<float>(),
                    .e = de.data_ptr<float>(),
                    .weight = dweight.data_ptr<float>(),
                    .lambda = &dlambda},
                   kernel_threads());
    return {de, dweight, at::scalar_tensor(dlambda, lambda.options().requires_grad(false))};
  }

 private:
  static SmearShape shape_of(const at::Tensor& e, const at::Tensor& weight) {
    return {.length = e.size(0), .width = e.size(1), .gate_dim = weight.size(1)};
  }
  static SmearInputs inputs_of(const at::Tensor& e, const at::Tensor& weight, const at::Tensor& lambda) {
    return {.e = e.const_data_ptr<float>(),
            .weight = weight.const_data_ptr<float>(),
            .lambda = *lambda.const_data_ptr<float>()};
  }
};

}  // namespace

at::Tensor gated_heads(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight, double norm_eps) {
  TORCH_CHECK(y.dim() == 3 && x.dim() == 2 && y.size(0) == x.size(0) && weight.size(0) == y.size(1) &&
                  weight.size(1) <= x.size(1),
              "gated_heads: y ", y.sizes(), ", x ", x.sizes(), " and weight ", weight.sizes(), " do not match");
  if (fits_kernel(x) && fits_kernel(y))
    return HeadGate::apply(y.contiguous(), x.contiguous(), weight.contiguous(), norm_eps);
  if (fits_device_head_gate(y, x, weight)) return device_gated_heads(y, x, weight, norm_eps);
  const at::Tensor read = rms_norm(x, norm_eps).narrow(1, 0, weight.size(1));
  return y * at::sigmoid(at::linear(read, weight.to(y.scalar_type()))).unsqueeze(-1);
}

at::Tensor smear(const at::Tensor& e, const at::Tensor& weight, const at::Tensor& lambda) {
  TORCH_CHECK(e.dim() == 2 && weight.dim() == 2 && weight.size(0) == 1 && weight.size(1) <= e.size(1), "smear: e ",
              e.sizes(), " and weight ", weight.sizes(), " do not match");
  if (fits_kernel(e)) return Smear::apply(e.contiguous(), weight.contiguous(), lambda);
  if (fits_device_smear(e, weight)) return device_smear(e, weight, lambda);
  const std::int64_t others = e.size(0) - 1;
  const at::Tensor now = e.narrow(0, 1, others);
  const at::Tensor gate = at::sigmoid(at::linear(now.narrow(1, 0, weight.size(1)), weight.to(e.scalar_type())));
  const at::Tensor share = lambda.to(e.scalar_type()) * gate;
  return at::cat({e.narrow(0, 0, 1), now + share * e.narrow(0, 0, others)});
}

}  // namespace nanobench::core
