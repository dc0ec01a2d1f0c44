#include <algorithm>
#include <cmath>

#include "engine/nn/gpt.h"
#include "engine/ops/blend.h"
#include "engine/ops/rms_norm.h"

namespace nanobench::core {

CausalSelfAttention::CausalSelfAttention(Parameters& parameters, const TrainConfig& config, std::int64_t layer)
    : config_(config), model_(config.model), layer_(layer) {
  const std::vector<std::int64_t>& half_layers = config.attention.window.half_layers;
  uses_half_window_ = std::find(half_layers.begin(), half_layers.end(), layer) != half_layers.end();
  const std::string prefix = "blocks." + std::to_string(layer) + ".attn.";
  if (model_.merged_qkv) {
    qkv_ = add_joined_qkv(parameters, config, prefix, "qkv_w", "qkv_b");
  } else if (model_.qkv_rows == QkvRows::kStacked) {
    qkv_ = add_joined_qkv(parameters, config, prefix, "c_attn.weight", "c_attn.bias");
  } else {
    c_q_ = add_linear(parameters, config, prefix + "c_q", LinearRole::kInner);
    c_k_ = add_linear(parameters, config, prefix + "c_k", LinearRole::kInner);
    c_v_ = add_linear(parameters, config, prefix + "c_v", LinearRole::kInner);
  }
  lambdas_ = model_.value_embeddings.mix == ValueMix::kLerp
                 ? parameters.add({.name = prefix + "lamb", .values = {0.5}})
                 : parameters.add({.name = prefix + "lambdas", .values = {0.5, 0.5}});
  c_proj_ = add_linear(parameters, config, prefix + "c_proj", LinearRole::kOutput);
}

CausalSelfAttention::Heads CausalSelfAttention::project(const at::Tensor& x, const Rounding& rounding) const {
  const std::int64_t length = x.size(0);
  const std::int64_t head_dim = model_.head_dim();
  at::Tensor q, k, v;
  if (qkv_.weight.defined()) {
    const std::vector<at::Tensor> parts = qkv_(x, rounding).chunk(3, -1);
    q = parts[0], k = parts[1], v = parts[2];
  } else {
    q = c_q_(x, rounding), k = c_k_(x, rounding), v = c_v_(x, rounding);
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
      // Without a second value nothing is mixed in; lamb then has no effect (records #9 to #14 always have one).
      return other.defined() ? weighted_sum(v, other.reshape(v.sizes()), lambdas_, BlendForm::kLerp) : v;
    case ValueMix::kPair:
      if (!other.defined()) return weighted_sum(v, at::Tensor(), lambdas_, BlendForm::kFirstOnly);
      return weighted_sum(v, other.reshape(v.sizes()), lambdas_, BlendForm::kPair);
  }
  return v;
}

at::Tensor CausalSelfAttention::normalize(const at::Tensor& heads, const Rounding& rounding) const {
  return rounding.product(rms_norm(heads, model_.qk_norm_eps.value_or(model_.norm_eps)));
}

/// Norm and rotation of queries or keys, in the configured order.
at::Tensor CausalSelfAttention::place(const at::Tensor& heads, const RotaryTables& tables,
                                      const Rounding& rounding) const {
  const bool is_rotary = model_.position == PositionEncoding::kRotary;
  const bool rounds_rotation = rounding.products && config_.precision.rotation == StoredPrecision::kBfloat16;
  const auto rotated = [&](const at::Tensor& x) {
    return is_rotary ? rounding.product(rotate(x, tables, rounds_rotation)) : x;
  };
  if (!model_.qk_norm) return rotated(heads);
  if (model_.qk_norm_position == QkNormPosition::kAfterRotation) return normalize(rotated(heads), rounding);
  return rotated(normalize(heads, rounding));
}

at::Tensor CausalSelfAttention::forward(const at::Tensor& x, const at::Tensor& value_embedding,
                                        at::Tensor& first_values, const RotaryTables& tables,
                                        const SequenceInput& input, const Rounding& rounding) const {
  Heads heads = project(rounding.product_input(x), rounding);
  if (model_.value_embeddings.mix != ValueMix::kNone)
    heads.v = rounding.product(mix_values(heads.v, value_embedding, first_values));
  const at::Tensor y =
      attend(place(heads.q, tables, rounding), place(heads.k, tables, rounding), heads.v, input, rounding.products);
  return c_proj_(rounding.product(y.reshape(x.sizes())), rounding);
}

at::Tensor CausalSelfAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                       const SequenceInput& input, bool is_bfloat16) const {
  const double scale = model_.attention_scale.value_or(1.0 / std::sqrt(static_cast<double>(model_.head_dim())));
  return attention(q, k, v, uses_half_window_ ? input.half_plan : input.plan, scale, is_bfloat16);
}

CausalSelfAttention::Fused CausalSelfAttention::fused_forward(const BlendInputs& blend,
                                                              const at::Tensor& value_embedding,
                                                              at::Tensor& first_values, const RotaryTables& tables,
                                                              const SequenceInput& input) const {
  const ValueEmbeddingConfig& values = model_.value_embeddings;
  const bool takes_first = values.source == ValueSource::kFirstLayer;
  const bool gives_first = takes_first && layer_ == 0;
  const at::Tensor other = gives_first ? at::Tensor() : takes_first ? first_values : value_embedding;
  QkvOptions options{.heads = model_.num_heads,
                     .kv_heads = model_.num_kv_heads,
                     .head_dim = model_.head_dim(),
                     .norm_eps = model_.norm_eps};
  if (model_.qk_norm) options.head_norm_eps = model_.qk_norm_eps.value_or(model_.norm_eps);
  options.norm_after_rotation = model_.qk_norm_position == QkNormPosition::kAfterRotation;
  options.rounds_rotation = config_.precision.rotation == StoredPrecision::kBfloat16;
  if (values.mix == ValueMix::kPair && !gives_first) options.value_blend = ValueBlend::kPair;
  if (values.mix == ValueMix::kLerp && other.defined()) options.value_blend = ValueBlend::kLerp;
  const bool is_joined = qkv_.weight.defined();
  const QkvOutput out = fused_qkv(blend, is_joined ? qkv_.weight : c_q_.weight, is_joined ? at::Tensor() : c_k_.weight,
                                  is_joined ? at::Tensor() : c_v_.weight, tables, other, lambdas_, options);
  const at::ScalarType type = out.v.scalar_type();
  at::Tensor v = out.v;
  if (gives_first) v = mix_values(v.to(c_proj_.weight.scalar_type()), other, first_values).to(type);  // with themselves
  return {out.x, attend(out.q, out.k, v, input, /*is_bfloat16=*/type == at::kBFloat16)};
}

}  // namespace nanobench::core
