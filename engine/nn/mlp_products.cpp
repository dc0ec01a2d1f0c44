#include "engine/nn/mlp_products.h"

#include "engine/ops/e4m3_linear.h"

namespace nanobench::core {
namespace {

/// Of the matrix as products take it, so with its rounding.
at::Tensor product(const Linear& linear, const at::Tensor& weight, const at::Tensor& x, const at::Tensor& x_unit,
                   const at::Tensor& weight_unit, const Rounding& rounding) {
  at::Tensor y = e4m3_linear(x, weight, x_unit, weight_unit);
  if (linear.bias.defined()) y = y + rounding.product(linear.bias);
  return rounding.product(y);
}

}  // namespace

MlpProducts::MlpProducts(const PrecisionConfig& precision, std::size_t layers)
    : precision_(precision), weights_(layers) {}

void MlpProducts::begin(std::int64_t rank, std::int64_t step) {
  rank_ = rank;
  step_ = step;
}

void MlpProducts::reset() {
  weights_.assign(weights_.size(), {});
  activation_units_.clear();
}

at::Tensor MlpProducts::up(const Linear& linear, const at::Tensor& x, const Rounding& rounding) const {
  if (precision_.mlp_up != ProductPrecision::kFp8) return linear(x, rounding);
  const at::Tensor weight = rounding.product(linear.weight);
  // The record keeps the range of the weights in bfloat16.
  const at::Tensor weight_unit = stored_as_bfloat16(e4m3_unit(weight) * kE4m3Max) / kE4m3Max;
  return product(linear, weight, x, e4m3_unit(x), weight_unit, rounding);
}

at::Tensor MlpProducts::down(std::size_t layer, const Linear& linear, const at::Tensor& x, const Rounding& rounding) {
  if (precision_.mlp_down != ProductPrecision::kFp8) return linear(x, rounding);
  const at::Tensor weight = rounding.product(linear.weight);
  at::Tensor& last = activation_units_[{rank_, layer}];
  const at::Tensor x_unit =
      last.defined() ? last * precision_.mlp_down_fp8.activation_margin : at::ones({}, x.options());
  last = e4m3_unit(x);
  return product(linear, weight, x, x_unit, weight_unit(layer, weight), rounding);
}

at::Tensor MlpProducts::weight_unit(std::size_t layer, const at::Tensor& weight) {
  WeightUnits& units = weights_[layer];
  if (units.step != step_) {
    units.before = units.now;
    units.now = e4m3_unit(weight);
    units.step = step_;
  }
  const DelayedFp8Config& rule = precision_.mlp_down_fp8;
  const bool is_exact = step_ <= rule.exact_weight_steps || !units.before.defined();
  return is_exact ? units.now : units.before * rule.weight_margin;
}

}  // namespace nanobench::core
