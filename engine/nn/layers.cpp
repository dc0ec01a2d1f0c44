#include "engine/nn/layers.h"

#include "core/base/op_timer.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/rms_norm.h"

namespace nanobench::core {
namespace {

InitRule matrix_rule(const TrainConfig& config, LinearRole role) {
  const bool is_output = role == LinearRole::kOutput || role == LinearRole::kAttentionOutput;
  if (config.init.scheme == InitScheme::kGpt2) return is_output ? InitRule::kGpt2Residual : InitRule::kGpt2;
  if (role == LinearRole::kAttentionOutput && config.init.linear_attention_outputs) return InitRule::kLinear;
  return is_output && config.init.output_projections == MatrixInit::kZero ? InitRule::kZero : InitRule::kLinear;
}

std::optional<double> matrix_std(const TrainConfig& config, LinearRole role) {
  const bool is_attention = role == LinearRole::kAttention || role == LinearRole::kAttentionOutput;
  return is_attention ? config.init.attention_std : std::nullopt;
}

}  // namespace

Linear add_linear(Parameters& parameters, const TrainConfig& config, const std::string& name, LinearRole role,
                  bool is_transposed) {
  return {.weight = parameters.add({.name = name + ".weight",
                                    .rule = matrix_rule(config, role),
                                    .std = matrix_std(config, role),
                                    .is_transposed = is_transposed}),
          .bias = parameters.add({.name = name + ".bias", .values = {0.0}})};
}

at::Tensor add_qkvo(Parameters& parameters, const TrainConfig& config, const std::string& prefix) {
  const InitRule inner = matrix_rule(config, LinearRole::kAttention);
  const InitRule output = matrix_rule(config, LinearRole::kAttentionOutput);
  return parameters.add(
      {.name = prefix + "qkvo_w",
       .rule = inner,
       .std = matrix_std(config, LinearRole::kAttention),
       .pieces = {prefix + "c_q.weight", prefix + "c_k.weight", prefix + "c_v.weight", prefix + "c_proj.weight"},
       .piece_rules = {inner, inner, inner, output}});
}

Linear add_joined_qkv(Parameters& parameters, const TrainConfig& config, const std::string& prefix,
                      const std::string& weight_name, const std::string& bias_name) {
  return {.weight = parameters.add({.name = prefix + weight_name,
                                    .rule = matrix_rule(config, LinearRole::kAttention),
                                    .std = matrix_std(config, LinearRole::kAttention),
                                    .pieces = {prefix + "c_q.weight", prefix + "c_k.weight", prefix + "c_v.weight"}}),
          .bias = parameters.add({.name = prefix + bias_name, .values = {0.0}})};
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
