#include <algorithm>
#include <cmath>

#include "core/nn/gpt.h"
#include "core/ops/blend.h"
#include "core/ops/rms_norm.h"

namespace nanobench::core {

CausalSelfAttention::CausalSelfAttention(Parameters& parameters, const TrainConfig& config, std::int64_t layer,
                                         at::ScalarType dtype)
    : model_(config.model), layer_(layer) {
  const std::vector<std::int64_t>& half_layers = config.attention.window.half_layers;
  uses_half_window_ = std::find(half_layers.begin(), half_layers.end(), layer) != half_layers.end();
  const std::string prefix = "blocks." + std::to_string(layer) + ".attn.";
  const std::int64_t width = model_.model_dim;
  const auto matrix = [&](const char* name, at::IntArrayRef shape, InitRule rule, std::int64_t matrices) {
    return parameters.add(
        {.name = prefix + name, .group = ParameterGroup::kHiddenMatrices, .rule = rule, .matrices = matrices}, shape,
        dtype);
  };
  if (model_.merged_qkv) {
    qkv_ = matrix("qkv_w", {3, width, width}, InitRule::kLinear, 3);
  } else if (model_.qkv_rows == QkvRows::kStacked) {
    qkv_ = matrix("c_attn.weight", {3 * width, width}, InitRule::kLinear, 3);
  } else {
    c_q_ = matrix("c_q.weight", {width, width}, InitRule::kLinear, 1);
    c_k_ = matrix("c_k.weight", {model_.kv_dim(), width}, InitRule::kLinear, 1);
    c_v_ = matrix("c_v.weight", {model_.kv_dim(), width}, InitRule::kLinear, 1);
  }
  if (model_.value_embeddings.mix == ValueMix::kLerp) {
    lambdas_ = parameters.add({.name = prefix + "lamb", .values = {0.5}}, {}, dtype);
  } else if (model_.value_embeddings.mix == ValueMix::kPair) {
    lambdas_ = parameters.add({.name = prefix + "lambdas", .values = {0.5, 0.5}}, {2}, dtype);
  }
  c_proj_ = matrix("c_proj.weight", {width, width}, InitRule::kZero, 1);
}

CausalSelfAttention::Heads CausalSelfAttention::project(const at::Tensor& x) const {
  const std::int64_t length = x.size(0);
  const std::int64_t head_dim = model_.head_dim();
  at::Tensor q, k, v;
  if (qkv_.defined()) {
    const std::vector<at::Tensor> parts = at::linear(x, qkv_.reshape({-1, x.size(1)})).chunk(3, -1);
    q = parts[0], k = parts[1], v = parts[2];
  } else {
    q = at::linear(x, c_q_), k = at::linear(x, c_k_), v = at::linear(x, c_v_);
  }
  return {q.reshape({length, model_.num_heads, head_dim}), k.reshape({length, model_.num_kv_heads, head_dim}),
          v.reshape({length, model_.num_kv_heads, head_dim})};
}

at::Tensor CausalSelfAttention::mix_values(const at::Tensor& v, const at::Tensor& value_embedding,
                                           at::Tensor& first_values) const {
  if (model_.value_embeddings.source == ValueSource::kFirstLayer && layer_ == 0)
    first_values = v;  // before its own mixing
  const at::Tensor& other = model_.value_embeddings.source == ValueSource::kFirstLayer ? first_values : value_embedding;
  switch (model_.value_embeddings.mix) {
    case ValueMix::kNone: return v;
    case ValueMix::kLerp:
      // Without another value nothing is mixed in; lamb then has no effect (records #9 to #14 always have one).
      return other.defined() ? weighted_sum(v, other.reshape(v.sizes()), lambdas_, BlendForm::kLerp) : v;
    case ValueMix::kPair:
      if (!other.defined()) return weighted_sum(v, at::Tensor(), lambdas_, BlendForm::kFirstOnly);
      return weighted_sum(v, other.reshape(v.sizes()), lambdas_, BlendForm::kPair);
  }
  return v;
}

at::Tensor CausalSelfAttention::forward(const at::Tensor& x, const at::Tensor& value_embedding,
                                        at::Tensor& first_values, const RotaryTables& tables,
                                        const SequenceInput& input) const {
  Heads heads = project(x);
  heads.v = mix_values(heads.v, value_embedding, first_values);
  if (model_.qk_norm) {
    const double eps = model_.qk_norm_eps.value_or(model_.norm_eps);
    heads.q = rms_norm(heads.q, eps);
    heads.k = rms_norm(heads.k, eps);
  }
  const double scale = model_.attention_scale.value_or(1.0 / std::sqrt(static_cast<double>(model_.head_dim())));
  const std::shared_ptr<const AttentionPlan>& plan = uses_half_window_ ? input.half_plan : input.plan;
  const at::Tensor y = attention(rotate(heads.q, tables), rotate(heads.k, tables), heads.v, plan, scale);
  return at::linear(y.reshape(x.sizes()), c_proj_);
}

}  // namespace nanobench::core
