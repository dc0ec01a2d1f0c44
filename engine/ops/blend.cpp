#include "engine/ops/blend.h"

#include "core/base/op_timer.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct BlendCoefficients {
  double x = 1.0;
  double y = 0.0;
};

double entry(const at::Tensor& weights, std::int64_t index) {
  TORCH_CHECK(weights.is_cpu(), "the weights of a sum are read on the CPU only");
  return weights.scalar_type() == at::kDouble ? weights.const_data_ptr<double>()[index]
                                              : static_cast<double>(weights.const_data_ptr<float>()[index]);
}

BlendCoefficients coefficients(const at::Tensor& weights, BlendForm form, std::int64_t index) {
  switch (form) {
    case BlendForm::kPair: return {entry(weights, 0), entry(weights, 1)};
    case BlendForm::kFirstOnly: return {entry(weights, 0), 0.0};
    case BlendForm::kLerp: return {1.0 - entry(weights, 0), entry(weights, 0)};
    case BlendForm::kAddIndexed: return {1.0, entry(weights, index)};
  }
  return {};
}

/// The same as zero-dimensional tensors, for weights whose values only the device knows; undefined means one.
struct DeviceCoefficients {
  at::Tensor x, y;
};

DeviceCoefficients device_coefficients(const at::Tensor& weights, BlendForm form, std::int64_t index) {
  switch (form) {
    case BlendForm::kPair: return {weights.select(0, 0), weights.select(0, 1)};
    case BlendForm::kFirstOnly: return {weights.select(0, 0), {}};
    case BlendForm::kLerp: return {1.0 - weights.reshape({}), weights.reshape({})};
    case BlendForm::kAddIndexed: return {{}, weights.select(0, index)};
  }
  return {};
}

at::Tensor times(const at::Tensor& x, const at::Tensor& coefficient) {
  return coefficient.defined() ? at::mul(x, coefficient) : x;
}

at::Tensor inner_product(const at::Tensor& a, const at::Tensor& b) {
  return at::dot(a.reshape({-1}), b.reshape({-1}));
}

struct WeightedSum : torch::autograd::Function<WeightedSum> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& y,
                            const at::Tensor& weights, BlendForm form, std::int64_t index) {
    const OpTimer timer("blend");
    context->save_for_backward({x, y, weights});
    context->saved_data["form"] = static_cast<std::int64_t>(form);
    context->saved_data["index"] = index;
    if (!weights.is_cpu()) {
      const DeviceCoefficients c = device_coefficients(weights, form, index);
      return form == BlendForm::kFirstOnly ? times(x, c.x) : at::addcmul(times(x, c.x), y, c.y);
    }
    const BlendCoefficients c = coefficients(weights, form, index);
    if (form == BlendForm::kAddIndexed) return at::add(x, y, c.y);
    at::Tensor sum = at::mul(x, c.x);
    if (form != BlendForm::kFirstOnly) sum.add_(y, c.y);
    return sum;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("blend");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &y = saved[1], &weights = saved[2], &dy_out = gradients[0];
    const auto form = static_cast<BlendForm>(context->saved_data["form"].toInt());
    const std::int64_t index = context->saved_data["index"].toInt();
    if (!weights.is_cpu()) {
      const DeviceCoefficients c = device_coefficients(weights, form, index);
      return {times(dy_out, c.x), form == BlendForm::kFirstOnly ? at::Tensor() : times(dy_out, c.y),
              weight_gradient(form, index, x, y, weights, dy_out), at::Tensor(), at::Tensor()};
    }
    const BlendCoefficients c = coefficients(weights, form, index);
    const at::Tensor dx = form == BlendForm::kAddIndexed ? dy_out : at::mul(dy_out, c.x);
    const at::Tensor dy = form == BlendForm::kFirstOnly ? at::Tensor() : at::mul(dy_out, c.y);
    return {dx, dy, weight_gradient(form, index, x, y, weights, dy_out), at::Tensor(), at::Tensor()};
  }

 private:
  static at::Tensor weight_gradient(BlendForm form, std::int64_t index, const at::Tensor& x, const at::Tensor& y,
                                    const at::Tensor& weights, const at::Tensor& d) {
    at::Tensor gradient = at::zeros_like(weights);
    switch (form) {
      case BlendForm::kPair: gradient[1].copy_(inner_product(d, y)); [[fallthrough]];
      case BlendForm::kFirstOnly: gradient[0].copy_(inner_product(d, x)); break;
      case BlendForm::kLerp: gradient.copy_(inner_product(d, y - x).reshape(weights.sizes())); break;
      case BlendForm::kAddIndexed: gradient[index].copy_(inner_product(d, y)); break;
    }
    return gradient;
  }
};

struct ReluSquared : torch::autograd::Function<ReluSquared> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    const OpTimer timer("relu_squared");
    const at::Tensor relu = at::relu(x);
    context->save_for_backward({relu});
    return at::mul(relu, relu);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("relu_squared");
    return {at::mul(context->get_saved_variables()[0], gradients[0]).mul_(2.0)};
  }
};

}  // namespace

at::Tensor weighted_sum(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weights, BlendForm form,
                        std::int64_t index) {
  const at::Tensor second = form == BlendForm::kFirstOnly ? x.new_empty({0}) : y;  // autograd takes no undefined inputs
  return WeightedSum::apply(x, second, weights, form, index);
}

at::Tensor relu_squared(const at::Tensor& x) {
  return ReluSquared::apply(x);
}

}  // namespace nanobench::core
