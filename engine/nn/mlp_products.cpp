#include "engine/nn/mlp_products.h"

#include <charconv>

#include "core/base/error.h"
#include "engine/ops/e4m3_linear.h"

namespace nanobench::core {
namespace {

/// The product with the matrix as products take it, so with its rounding.
at::Tensor product(const Linear& linear, const at::Tensor& weight, const at::Tensor& x, const at::Tensor& x_unit,
                   const at::Tensor& weight_unit, const Rounding& rounding) {
  at::Tensor y = e4m3_linear(x, weight, x_unit, weight_unit, rounding.products);
  if (linear.bias.defined()) y = y + rounding.product(linear.bias);
  return rounding.product(y);
}

constexpr const char* kNow = "now";
constexpr const char* kBefore = "before";
constexpr const char* kStep = "step";
constexpr const char* kActivations = "activations";

/// The whole numbers of "weights.3.now" and "activations.0.3", in order.
std::vector<std::int64_t> numbers_in(const std::string& name) {
  std::vector<std::int64_t> numbers;
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    std::int64_t number = 0;
    const char* const begin = name.data() + dot + 1;
    if (std::from_chars(begin, name.data() + name.size(), number).ec == std::errc()) numbers.push_back(number);
  }
  return numbers;
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

std::map<std::string, at::Tensor> MlpProducts::state() const {
  std::map<std::string, at::Tensor> state;
  for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
    const std::string prefix = "weights." + std::to_string(layer) + ".";
    const WeightUnits& units = weights_[layer];
    if (units.step < 0) continue;
    state[prefix + kStep] = at::scalar_tensor(units.step, at::kLong);
    state[prefix + kNow] = units.now;
    if (units.before.defined()) state[prefix + kBefore] = units.before;
  }
  for (const auto& [place, unit] : activation_units_) {
    if (unit.defined())
      state[std::string(kActivations) + "." + std::to_string(place.first) + "." + std::to_string(place.second)] = unit;
  }
  return state;
}

void MlpProducts::restore(const std::map<std::string, at::Tensor>& state) {
  reset();
  for (const auto& [name, tensor] : state) {
    const std::vector<std::int64_t> numbers = numbers_in(name);
    const auto layers = static_cast<std::int64_t>(weights_.size());
    const bool fits = !numbers.empty() && numbers.back() >= 0 && numbers.back() < layers && tensor.numel() == 1;
    if (!fits) throw Error(ErrorCode::kInvalidArgument, "the ranges of 8-bit products have no \"" + name + "\"");
    const auto layer = static_cast<std::size_t>(numbers.back());
    if (name.starts_with(kActivations) && numbers.size() == 2)
      activation_units_[{numbers.front(), layer}] = tensor;
    else if (name.ends_with(kStep))
      weights_[layer].step = tensor.item<std::int64_t>();
    else
      (name.ends_with(kNow) ? weights_[layer].now : weights_[layer].before) = tensor;
  }
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
