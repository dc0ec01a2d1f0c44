#include "core/nn/gpt.h"

#include "core/ops/blend.h"
#include "core/ops/rms_norm.h"

namespace nanobench::core {

GPT::GPT(const TrainConfig& config, at::ScalarType dtype) : config_(config), dtype_(dtype) {
  add_tables();
  for (std::int64_t layer = 0; layer < config.model.num_layers; ++layer) add_block(layer);
  if (config.model.unet_skips) {
    const std::int64_t skips = config.model.num_layers / 2;
    skip_weights_ = parameters_.add(
        {.name = "skip_weights", .values = std::vector<double>(static_cast<std::size_t>(skips), 1.0)}, {skips}, dtype);
  }
  if (config.model.rope.precompute) tables_ = tables_for(config.model.rope.max_seq_len);
}

void GPT::add_tables() {
  const ModelConfig& model = config_.model;
  const InitRule embed_rule =
      model.tied_head ? InitRule::kLinear : InitRule::kNormal;  // a tied table starts as the head's linear layer
  embed_ = parameters_.add({.name = "embed.weight", .group = ParameterGroup::kEmbeddings, .rule = embed_rule},
                           {model.embedding_rows(), model.model_dim}, dtype_);
  for (std::int64_t table = 0; table < model.value_embeddings.num_tables; ++table) {
    const std::string name = "value_embeds.embed." + std::to_string(table) + ".weight";
    value_tables_.push_back(
        parameters_.add({.name = name, .group = ParameterGroup::kEmbeddings, .rule = InitRule::kNormal},
                        {model.embedding_rows(), model.kv_dim()}, dtype_));
  }
  if (model.tied_head) {
    lm_head_ = embed_;
  } else {
    lm_head_ = parameters_.add({.name = "lm_head.weight", .group = ParameterGroup::kLmHead, .rule = InitRule::kZero},
                               {model.padded_vocab_size(), model.model_dim}, dtype_);
  }
}

void GPT::add_block(std::int64_t layer) {
  const ModelConfig& model = config_.model;
  const std::string prefix = "blocks." + std::to_string(layer) + ".";
  const auto matrix = [&](const char* name, std::int64_t rows, std::int64_t columns, InitRule rule) {
    return parameters_.add({.name = prefix + name, .group = ParameterGroup::kHiddenMatrices, .rule = rule},
                           {rows, columns}, dtype_);
  };
  Block block;
  if (model.has_attention(layer)) block.attention.emplace(parameters_, config_, layer, dtype_);
  block.c_fc = matrix("mlp.c_fc.weight", model.mlp_ratio * model.model_dim, model.model_dim, InitRule::kLinear);
  block.c_proj = matrix("mlp.c_proj.weight", model.model_dim, model.mlp_ratio * model.model_dim, InitRule::kZero);
  if (model.x0_lambdas)
    block.lambdas = parameters_.add({.name = prefix + "lambdas", .values = {1.0, 0.0}}, {2}, dtype_);
  blocks_.push_back(std::move(block));
}

RotaryTables GPT::tables_for(std::int64_t length) const {
  return rotary_tables(config_.model.rope, config_.model.head_dim(), at::arange(length), dtype_);
}

at::Tensor GPT::embed(const at::Tensor& tokens) const {
  const at::Tensor x = at::embedding(embed_, tokens);
  return config_.model.embed_norm ? rms_norm(x, config_.model.norm_eps) : x;
}

/// One tensor per layer, undefined where the layer has no table.
std::vector<at::Tensor> GPT::value_embeddings(const at::Tensor& tokens) const {
  std::vector<at::Tensor> by_layer(blocks_.size());
  std::vector<at::Tensor> by_table(value_tables_.size());
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const std::optional<std::int64_t>& table = config_.model.value_embeddings.layer_map[layer];
    if (!table || !blocks_[layer].attention) continue;
    at::Tensor& values = by_table[static_cast<std::size_t>(*table)];
    if (!values.defined()) values = at::embedding(value_tables_[static_cast<std::size_t>(*table)], tokens);
    by_layer[layer] = values;
  }
  return by_layer;
}

at::Tensor GPT::mlp(const Block& block, const at::Tensor& x) const {
  const at::Tensor hidden = at::linear(x, block.c_fc);
  const at::Tensor active = config_.model.activation == Activation::kGelu ? at::gelu(hidden) : relu_squared(hidden);
  return at::linear(active, block.c_proj);
}

at::Tensor GPT::loss(const SequenceInput& input, const ActivationSink& sink) const {
  const ModelConfig& model = config_.model;
  const RotaryTables tables = tables_ ? *tables_ : tables_for(input.tokens.size(0));
  const std::size_t half = blocks_.size() / 2;
  at::Tensor x = embed(input.tokens);
  const at::Tensor x0 = x;
  const std::vector<at::Tensor> values = value_embeddings(input.tokens);
  at::Tensor first_values;
  std::vector<at::Tensor> skips;
  if (sink) sink("x0", x0);
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const Block& block = blocks_[layer];
    if (model.unet_skips && layer >= half) {
      x = weighted_sum(x, skips.back(), skip_weights_, BlendForm::kAddIndexed, static_cast<std::int64_t>(layer - half));
      skips.pop_back();
    }
    if (model.x0_lambdas) x = weighted_sum(x, x0, block.lambdas, BlendForm::kPair);
    if (block.attention) {
      const at::Tensor branch =
          block.attention->forward(rms_norm(x, model.norm_eps), values[layer], first_values, tables, input);
      x = at::add(x, branch, model.attention_branch_scale);
    }
    x = x + mlp(block, rms_norm(x, model.norm_eps));
    if (model.unet_skips && layer < half) skips.push_back(x);
    if (sink) sink("blocks." + std::to_string(layer), x);
  }
  x = rms_norm(x, model.norm_eps);
  if (sink) sink("logits_before_softcap", at::linear(x, lm_head_));
  return softcapped_cross_entropy(x, lm_head_, input.targets, {model.logit_softcap, model.logit_softcap_form});
}

}  // namespace nanobench::core
