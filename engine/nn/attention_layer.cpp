#include <algorithm>
#include <cmath>

#include "engine/nn/gpt.h"
#include "engine/ops/blend.h"
#include "engine/ops/gates.h"
#include "engine/ops/key_offset.h"
#include "engine/ops/late_attention.h"
#include "engine/ops/paired_heads.h"
#include "engine/ops/rms_norm.h"

namespace nanobench::core {
namespace {

std::vector<double> first_lambdas(const ModelConfig& model) {
  const bool scales_output = model.attention_weight_lambdas == AttentionWeightLambdas::kQkvAndOutput;
  return {0.5, scales_output ? 1.0 : 0.5};
}

}  // namespace

CausalSelfAttention::CausalSelfAttention(Parameters& parameters, const TrainConfig& config, std::int64_t layer)
    : config_(config), model_(config.model), layer_(layer) {
  const auto is_in = [&](const std::vector<std::int64_t>& layers) {
    return std::find(layers.begin(), layers.end(), layer) != layers.end();
  };
  uses_half_window_ = is_in(config.attention.window.narrow_layers());
  is_listed_ = is_in(config.attention.window.final_validation_layers);
  offsets_keys_ = is_in(model_.key_offset_layers);
  drops_own_values_ = is_in(model_.xsa_layers);
  pairs_heads_ = is_in(model_.paired_head_layers);
  splits_gate_ = is_in(model_.value_embeddings.split_gate_layers);
  const std::string prefix = "blocks." + std::to_string(layer) + ".attn.";
  add_projections(parameters, prefix);
  lambdas_ = model_.value_embeddings.mix == ValueMix::kLerp
                 ? parameters.add({.name = prefix + "lamb", .values = {0.5}})
                 : parameters.add({.name = prefix + "lambdas", .values = first_lambdas(model_)});
  value_gate_ = parameters.add({.name = prefix + "ve_gate.weight", .rule = InitRule::kZero});
  gate_ = parameters.add({.name = prefix + "attn_gate.weight", .rule = InitRule::kZero});
}

void CausalSelfAttention::add_projections(Parameters& parameters, const std::string& prefix) {
  qkvo_ = add_qkvo(parameters, config_, prefix);
  if (qkvo_.defined()) return;
  if (model_.merged_qkv) {
    qkv_ = add_joined_qkv(parameters, config_, prefix, "qkv_w", "qkv_b");
  } else if (model_.qkv_rows == QkvRows::kStacked) {
    qkv_ = add_joined_qkv(parameters, config_, prefix, "c_attn.weight", "c_attn.bias");
  } else {
    c_q_ = add_linear(parameters, config_, prefix + "c_q", LinearRole::kAttention);
    c_k_ = add_linear(parameters, config_, prefix + "c_k", LinearRole::kAttention);
    c_v_ = add_linear(parameters, config_, prefix + "c_v", LinearRole::kAttention);
  }
  c_proj_ = add_linear(parameters, config_, prefix + "c_proj", LinearRole::kAttentionOutput);
}

/// Its weight is undefined if q, k and v have matrices of their own.
Linear CausalSelfAttention::joined_qkv() const {
  if (!qkvo_.defined()) return qkv_;
  const std::int64_t width = model_.model_dim;
  return {.weight = qkvo_.view({4 * width, width}).narrow(0, 0, 3 * width), .bias = {}};
}

at::Tensor CausalSelfAttention::output_weight() const {
  const std::int64_t width = model_.model_dim;
  return qkvo_.defined() ? qkvo_.view({4 * width, width}).narrow(0, 3 * width, width) : c_proj_.weight;
}

CausalSelfAttention::Heads CausalSelfAttention::project(const at::Tensor& x, const Rounding& rounding) const {
  const std::int64_t length = x.size(0);
  const std::int64_t head_dim = model_.head_dim();
  at::Tensor q, k, v;
  const bool scales = model_.attention_weight_lambdas != AttentionWeightLambdas::kNone;
  const auto projected = [&](Linear linear) {
    if (scales) linear.weight = rounding.product(linear.weight) * lambdas_[0];
    return linear(x, rounding);
  };
  if (const Linear joined = joined_qkv(); joined.weight.defined()) {
    const std::vector<at::Tensor> parts = projected(joined).chunk(3, -1);
    q = parts[0], k = parts[1], v = parts[2];
  } else {
    q = projected(c_q_), k = projected(c_k_), v = projected(c_v_);
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
    case ValueMix::kGate:
      return value_gate_.defined() || !other.defined() ? v : v + other.reshape(v.sizes());  // else gated_values
    case ValueMix::kAdd: {
      if (!other.defined()) return v;
      const at::Tensor added = other.reshape(v.sizes());
      return v + (model_.attention_weight_lambdas == AttentionWeightLambdas::kQkv ? lambdas_[1] * added : added);
    }
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
    if (!is_rotary) return x;
    const RotationForm form{.pairing = model_.rope.pairing, .has_paired_heads = pairs_heads_};
    const bool is_late = form.pairing != RopePairing::kHalf || form.has_paired_heads;
    return rounding.product(is_late ? rotate_late(x, tables, form, rounds_rotation)
                                    : rotate(x, tables, rounds_rotation));
  };
  if (!model_.qk_norm) return rotated(heads);
  if (model_.qk_norm_position == QkNormPosition::kAfterRotation) return normalize(rotated(heads), rounding);
  return rotated(normalize(heads, rounding));
}

at::Tensor CausalSelfAttention::forward(const at::Tensor& x, const at::Tensor& value_embedding,
                                        at::Tensor& first_values, const AttentionSetting& setting,
                                        const SequenceInput& input, const Rounding& rounding) const {
  Heads heads = project(rounding.product_input(x), rounding);
  if (model_.value_embeddings.mix != ValueMix::kNone)
    heads.v = rounding.product(mix_values(heads.v, value_embedding, first_values));
  if (value_gate_.defined()) heads.v = gated_values(heads.v, x, value_embedding, rounding);
  heads.q = place(heads.q, setting.tables, rounding);
  heads.k = place(heads.k, setting.tables, rounding);
  if (offsets_keys_) heads.k = offset_keys(heads.k, model_.key_offset_dims, model_.key_offset_copy);
  at::Tensor y = pairs_heads_ ? attend_in_pairs(heads, input, setting.scale, rounding.products)
                              : attend(heads, input, setting.scale, rounding.products);
  if (setting.dc_mixture.defined()) {
    y = y + composed_heads(heads.q, heads.k, heads.v, *input.dc_plan, setting.scale, setting.dc_mixture,
                           setting.dc_share, model_.dc_attention.eps);
  }
  if (drops_own_values_) y = rounding.product(without_own_values(y, heads.v, setting.own_values));
  if (setting.attention_gate.defined()) y = rounding.product(y) * setting.attention_gate.unsqueeze(-1);
  if (gate_.defined()) {
    const at::Tensor read = rounding.product_input(x.narrow(1, 0, gate_.size(1)));
    const at::Tensor gate = rounding.product(at::sigmoid(rounding.product(at::linear(read, rounding.product(gate_)))));
    y = rounding.product(y) * gate.unsqueeze(-1);
  }
  Linear output{.weight = output_weight(), .bias = c_proj_.bias};
  if (model_.attention_weight_lambdas == AttentionWeightLambdas::kQkvAndOutput)
    output.weight = rounding.product(output.weight) * lambdas_[1];
  return output(rounding.product(y.reshape(x.sizes())), rounding);
}

/// v + 2 sigmoid(W a) u by heads.
at::Tensor CausalSelfAttention::gated_values(const at::Tensor& v, const at::Tensor& x,
                                             const at::Tensor& value_embedding, const Rounding& rounding) const {
  const std::int64_t dim = value_gate_.size(1);
  const at::Tensor read =
      splits_gate_ ? at::cat({x.narrow(1, 0, dim / 2), value_embedding.narrow(1, 0, dim / 2)}, 1) : x.narrow(1, 0, dim);
  const at::Tensor weight = rounding.product(value_gate_);
  const at::Tensor gate =
      rounding.product(at::sigmoid(rounding.product(at::linear(rounding.product_input(read), weight))));
  return rounding.product(v + 2.0 * gate.unsqueeze(-1) * value_embedding.reshape(v.sizes()));
}

at::Tensor CausalSelfAttention::attend_in_pairs(const Heads& heads, const SequenceInput& input, double scale,
                                                bool is_bfloat16) const {
  const HeadPairing order = model_.paired_head_order;
  const auto& plan = uses_half_window_ ? input.paired_half_plan : input.paired_plan;
  return unpaired_heads(attention(paired_heads(heads.q, order), paired_heads(heads.k, order),
                                  paired_heads(heads.v, order), plan, scale, is_bfloat16),
                        order);
}

at::Tensor CausalSelfAttention::attend(const Heads& heads, const SequenceInput& input, double scale,
                                       bool is_bfloat16) const {
  const bool is_listed = is_listed_ && input.listed_plan != nullptr;
  const auto& plan = is_listed ? input.listed_plan : uses_half_window_ ? input.half_plan : input.plan;
  return attention(heads.q, heads.k, heads.v, plan, scale, is_bfloat16);
}

CausalSelfAttention::Fused CausalSelfAttention::fused_forward(const BlendInputs& blend,
                                                              const at::Tensor& value_embedding,
                                                              at::Tensor& first_values, const AttentionSetting& setting,
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
  const at::Tensor joined = joined_qkv().weight;
  const at::Tensor none;
  const bool is_joined = joined.defined();
  const QkvOutput out = fused_qkv(blend, is_joined ? joined : c_q_.weight, is_joined ? none : c_k_.weight,
                                  is_joined ? none : c_v_.weight, setting.tables, other, lambdas_, options);
  const at::ScalarType type = out.v.scalar_type();
  at::Tensor v = out.v;
  if (gives_first) v = mix_values(v.to(lambdas_.scalar_type()), other, first_values).to(type);  // with themselves
  at::Tensor y = attend({out.q, out.k, v}, input, setting.scale, /*is_bfloat16=*/type == at::kBFloat16);
  if (gate_.defined()) y = gated_heads(y, out.x, gate_, model_.norm_eps);
  return {out.x, std::move(y)};
}

}  // namespace nanobench::core
