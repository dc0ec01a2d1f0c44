#include "engine/nn/layers.h"

#include "core/base/op_timer.h"
#include "engine/ops/bfloat16_product.h"
#include "engine/ops/rms_norm.h"

namespace nanobench::core {
namespace {

InitRule matrix_rule(const TrainConfig& config, LinearRole role) {
  const bool is_output = role == LinearRole::kOutput;
  if (config.init.scheme == InitScheme::kGpt2) return is_output ? InitRule::kGpt2Residual : InitRule::kGpt2;
  return is_output && config.init.output_projections == MatrixInit::kZero ? InitRule::kZero : InitRule::kLinear;
}

}  // namespace

Linear add_linear(Parameters& parameters, const TrainConfig& config, const std::string& name, at::IntArrayRef shape,
                  LinearRole role, at::ScalarType dtype) {
  Linear linear;
  linear.weight = parameters.add(
      {.name = name + ".weight", .group = ParameterGroup::kHiddenMatrices, .rule = matrix_rule(config, role)}, shape,
      dtype);
  if (config.model.bias) linear.bias = parameters.add({.name = name + ".bias", .values = {0.0}}, shape[0], dtype);
  return linear;
}

Linear add_joined_qkv(Parameters& parameters, const TrainConfig& config, const std::string& prefix,
                      const std::string& weight_name, const std::string& bias_name, at::IntArrayRef shape,
                      at::ScalarType dtype) {
  const bool is_split =
      config.optimizer.hidden_matrices.type != OptimizerType::kMuon || config.optimizer.hidden_matrices.split_qkv;
  Linear linear;
  linear.weight = parameters.add({.name = prefix + weight_name,
                                  .group = ParameterGroup::kHiddenMatrices,
                                  .rule = matrix_rule(config, LinearRole::kInner),
                                  .matrices = is_split ? 3 : 1,
                                  .pieces = {prefix + "c_q.weight", prefix + "c_k.weight", prefix + "c_v.weight"}},
                                 shape, dtype);
  if (config.model.bias) {
    linear.bias =
        parameters.add({.name = prefix + bias_name, .values = {0.0}}, shape.slice(0, shape.size() - 1), dtype);
  }
  return linear;
}

at::Tensor Linear::operator()(const at::Tensor& x, const Rounding& rounding) const {
  const OpTimer timer("linear");
  const at::Tensor matrix = weight.dim() == 2 ? weight : weight.reshape({-1, weight.size(-1)});
  if (rounding.products && !bias.defined() && x.dim() == 2 && fits_bfloat16_kernel(x, matrix))
    return bfloat16_linear(x, matrix);
  const at::Tensor added = bias.defined() ? rounding.product(bias.reshape({-1})) : at::Tensor();
  return rounding.product(at::linear(x, rounding.product(matrix), added));
}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  return weight.defined() ? at::layer_norm(x, weight.sizes(), weight, bias, eps) : rms_norm(x, eps);
}

}  // namespace nanobench::core
