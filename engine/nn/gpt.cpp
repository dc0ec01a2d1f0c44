#include "engine/nn/gpt.h"

#include "core/base/op_timer.h"
#include "core/config/kernel_coverage.h"
#include "engine/kernels/engine_context.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/blend.h"
#include "engine/ops/device_block.h"
#include "engine/ops/device_embedding.h"
#include "engine/ops/device_head.h"
#include "engine/ops/rms_norm.h"

namespace nanobench::core {
namespace {

InitRule table_rule(const TrainConfig& config) {
  if (config.init.scheme == InitScheme::kGpt2) return InitRule::kGpt2;
  switch (config.init.embeddings) {
    case TableInit::kNormal: return InitRule::kNormal;
    case TableInit::kLinear: return InitRule::kLinear;
    case TableInit::kByHead: break;
  }
  return config.model.tied_head ? InitRule::kLinear : InitRule::kNormal;  // a tied table starts as the head
}

InitRule head_rule(const TrainConfig& config) {
  if (config.init.scheme == InitScheme::kGpt2) return InitRule::kGpt2;
  return config.init.lm_head == MatrixInit::kZero ? InitRule::kZero : InitRule::kLinear;
}

}  // namespace

GPT::GPT(const TrainConfig& config, at::ScalarType dtype, at::Device device)
    : config_(config), dtype_(dtype), parameters_(parameter_list(config), dtype, device) {
  add_tables();
  add_head();
  for (std::int64_t layer = 0; layer < config.model.num_layers; ++layer) add_block(layer);
  final_norm_ = add_norm("ln_f");
  skip_weights_ = parameters_.add({.name = "skip_weights", .values = {1.0}});
  parameters_.check_complete();
  const bool is_rotary = config.model.position == PositionEncoding::kRotary;
  if (is_rotary && config.model.rope.precompute) tables_ = tables_for(config.model.rope.max_seq_len);
}

void GPT::add_tables() {
  const ValueEmbeddingConfig& values = config_.model.value_embeddings;
  const bool is_gpt2 = config_.init.scheme == InitScheme::kGpt2;
  const InitRule normal = is_gpt2 ? InitRule::kGpt2 : InitRule::kNormal;
  Parameter table{.name = "embed.weight", .rule = table_rule(config_)};
  if (is_gpt2) table.zero_rows_from = config_.model.vocab_size;
  embed_ = parameters_.add(std::move(table));
  position_embed_ = parameters_.add({.name = "position_embed.weight", .rule = normal});
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < values.num_tables; ++i)
    names.push_back("value_embeds.embed." + std::to_string(i) + ".weight");
  if (values.layout == ValueTableLayout::kJoined) {
    value_tables_.push_back(
        parameters_.add({.name = "value_embeds.weight", .rule = normal, .pieces = names, .pieces_are_columns = true}));
  } else {
    for (const std::string& name : names) value_tables_.push_back(parameters_.add({.name = name, .rule = normal}));
  }
}

void GPT::add_head() {
  lm_head_ = config_.model.tied_head ? embed_ : parameters_.add({.name = "lm_head.weight", .rule = head_rule(config_)});
}

Norm GPT::add_norm(const std::string& name) {
  return {.eps = config_.model.norm_eps,
          .weight = parameters_.add({.name = name + ".weight", .values = {1.0}}),
          .bias = parameters_.add({.name = name + ".bias", .values = {0.0}})};
}

void GPT::add_block(std::int64_t layer) {
  const std::string prefix = "blocks." + std::to_string(layer) + ".";
  Block block;
  if (config_.model.has_attention(layer)) {
    block.attention_norm = add_norm(prefix + "ln_1");
    block.attention.emplace(parameters_, config_, layer);
  }
  block.mlp_norm = add_norm(prefix + "ln_2");
  block.c_fc = add_linear(parameters_, config_, prefix + "mlp.c_fc", LinearRole::kInner);
  block.c_proj = add_linear(parameters_, config_, prefix + "mlp.c_proj", LinearRole::kOutput);
  block.lambdas = parameters_.add({.name = prefix + "lambdas", .values = {1.0, 0.0}});
  blocks_.push_back(std::move(block));
}

RotaryTables GPT::tables_for(std::int64_t length) const {
  return rotary_tables(config_.model.rope, config_.model.head_dim(),
                       at::arange(length, at::TensorOptions().device(device())), dtype_,
                       config_.precision.rotary_tables);
}

Rounding GPT::rounding_of(Pass pass) const {
  const PrecisionConfig& precision = config_.precision;
  if (pass == Pass::kValidation && precision.validation == ValidationPrecision::kFloat32) return {};
  return {.products = precision.activations != ActivationPrecision::kFloat32,
          .stream = precision.activations == ActivationPrecision::kBfloat16,
          .is_compact = EngineContext::current().uses_kernels() && takes_device_tensors(device()) &&
                        has_kernel(StepPart::kBlocks, KernelDevice::kGpu, KernelQuery(config_, dtype_ == at::kFloat))};
}

/// The rows of all tables from one GPU kernel call; empty if the kernel does not support this model.
GPT::TokenRows GPT::device_rows(const at::Tensor& tokens, const Rounding& rounding) const {
  const ValueEmbeddingConfig& values = config_.model.value_embeddings;
  const auto num_tables = static_cast<std::size_t>(values.num_tables);
  TokenRows rows{.embed = {}, .values = std::vector<at::Tensor>(num_tables)};
  const KernelQuery query(config_, dtype_ == at::kFloat);
  if (!rounding.is_compact || !has_kernel(StepPart::kEmbeddings, KernelDevice::kGpu, query)) return rows;
  std::vector<bool> is_used(num_tables);
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const std::optional<std::int64_t>& table = values.layer_map[layer];
    if (table && blocks_[layer].attention) is_used[static_cast<std::size_t>(*table)] = true;
  }
  std::vector<JoinedTables> tables = {{.weight = embed_}};
  const bool is_joined = values.layout == ValueTableLayout::kJoined;
  if (is_joined) tables.push_back({.weight = value_tables_.front(), .count = values.num_tables});
  for (std::size_t i = 0; !is_joined && i < num_tables; ++i) {
    if (is_used[i]) tables.push_back({.weight = value_tables_[i]});
  }
  const std::vector<at::Tensor> looked_up = device_embedding(tokens, tables);
  rows.embed = looked_up.front();
  auto next = looked_up.begin() + 1;
  for (std::size_t i = 0; i < num_tables; ++i) {
    if (is_joined || is_used[i]) rows.values[i] = *next++;
  }
  return rows;
}

/// The tables' gradients are dense, as Adam needs them. Updating only the rows of this step's tokens was not worth
/// gradients outside autograd: measured, LibTorch's scatter takes 20 of 577 ms per step at 50,257 rows of 128, and 0.3
/// of 150 ms at 257.
at::Tensor GPT::embed(const at::Tensor& tokens, const TokenRows& rows, const Rounding& rounding) const {
  const OpTimer timer("embedding");
  at::Tensor x = rows.embed.defined() ? rows.embed : at::embedding(embed_, tokens);
  if (position_embed_.defined()) x = x + position_embed_.narrow(0, 0, tokens.size(0));
  return rounding.in_stream(config_.model.embed_norm ? rms_norm(rounding.in_stream(x), config_.model.norm_eps) : x);
}

/// One tensor per layer, undefined where the layer has no table.
std::vector<at::Tensor> GPT::value_embeddings(const at::Tensor& tokens, const TokenRows& rows,
                                              const Rounding& rounding) const {
  const OpTimer timer("value_embeddings");
  const ValueEmbeddingConfig& values = config_.model.value_embeddings;
  const bool is_joined = values.layout == ValueTableLayout::kJoined;
  const std::int64_t width = config_.model.kv_dim();
  const bool splits = is_joined && !rows.embed.defined();
  const at::Tensor joined = splits ? rounding.product(at::embedding(value_tables_.front(), tokens)) : at::Tensor();
  std::vector<at::Tensor> by_layer(blocks_.size());
  std::vector<at::Tensor> by_table = rows.values;
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const std::optional<std::int64_t>& table = values.layer_map[layer];
    if (!table || !blocks_[layer].attention) continue;
    at::Tensor& looked_up = by_table[static_cast<std::size_t>(*table)];
    if (!looked_up.defined()) {
      looked_up = is_joined ? joined.narrow(1, *table * width, width)
                            : rounding.product(at::embedding(value_tables_[static_cast<std::size_t>(*table)], tokens));
    }
    by_layer[layer] = looked_up;
  }
  return by_layer;
}

at::Tensor GPT::mlp(const Block& block, const at::Tensor& x, const Rounding& rounding) const {
  const at::Tensor hidden = block.c_fc(rounding.product_input(x), rounding);
  at::Tensor active;
  switch (config_.model.activation) {
    case Activation::kReluSquared: active = relu_squared(hidden); break;
    case Activation::kGelu: active = at::gelu(hidden); break;
    case Activation::kGeluTanh: active = at::gelu(hidden, "tanh"); break;
  }
  return block.c_proj(rounding.product(active), rounding);
}

at::Tensor GPT::head_loss(const at::Tensor& x, const at::Tensor& targets, Pass pass, const Rounding& rounding) const {
  const PrecisionConfig& precision = config_.precision;
  HeadOptions options{.softcap = {config_.model.logit_softcap, config_.model.logit_softcap_form},
                      .rounds_logits = rounding.products,
                      .rounds_capped = rounding.products && precision.logits == StoredPrecision::kBfloat16,
                      .fp8_grad_scale = std::nullopt};
  const bool is_fp8 = precision.head == HeadPrecision::kFp8 && pass == Pass::kTraining;
  if (rounding.is_compact && (!is_fp8 || fits_float8_head(x, lm_head_))) {
    const auto fp8 = is_fp8 ? std::optional(precision.fp8) : std::nullopt;
    return device_softcapped_cross_entropy(
        x, lm_head_, targets, {.softcap = options.softcap, .rounds_capped = options.rounds_capped, .fp8 = fp8});
  }
  const at::Tensor input = rounding.product_input(x.to(dtype_));
  if (is_fp8) {
    options.fp8_grad_scale = precision.fp8.grad_scale;
    return softcapped_cross_entropy(quantized_e4m3(input, precision.fp8.x_scale),
                                    quantized_e4m3(lm_head_, precision.fp8.weight_scale), targets, options);
  }
  return softcapped_cross_entropy(input, rounding.product(lm_head_), targets, options);
}

bool GPT::fuses_blocks(const Rounding& rounding) const {
  if (rounding.is_compact) return true;
  KernelQuery query(config_, dtype_ == at::kFloat);
  if (!rounding.products) query.activations = ActivationPrecision::kFloat32;
  return device().is_cpu() && EngineContext::current().uses_kernels() &&
         has_kernel(StepPart::kBlocks, KernelDevice::kCpu, query);
}

/// Inputs of a block's blend; takes its U-net skip from the stack.
BlendInputs GPT::blend_inputs(std::size_t layer, const at::Tensor& x, Stream& stream) const {
  BlendInputs blend{.x = x};
  const std::size_t half = blocks_.size() / 2;
  if (config_.model.unet_skips && layer >= half) {
    blend.skip = stream.skips.back();
    blend.skip_weights = skip_weights_;
    blend.skip_index = static_cast<std::int64_t>(layer - half);
    stream.skips.pop_back();
  }
  if (config_.model.x0_lambdas) {
    blend.x0 = stream.x0;
    blend.lambdas = blocks_[layer].lambdas;
  }
  return blend;
}

at::Tensor GPT::fused_block(std::size_t layer, const at::Tensor& x, Stream& stream, const SequenceInput& input) const {
  const ModelConfig& model = config_.model;
  const Block& block = blocks_[layer];
  const BlendInputs blend = blend_inputs(layer, x, stream);
  if (block.attention) {
    const CausalSelfAttention::Fused attended =
        block.attention->fused_forward(blend, stream.values[layer], stream.first_values, stream.tables, input);
    return fused_mlp(attended.x, attended.y, block.attention->output_weight(), block.c_fc.weight, block.c_proj.weight,
                     model.attention_branch_scale, model.norm_eps);
  }
  const bool blends = blend.skip.defined() || blend.x0.defined();
  return fused_mlp(blends ? fused_blend(blend) : x, {}, {}, block.c_fc.weight, block.c_proj.weight, 1.0,
                   model.norm_eps);
}

at::Tensor GPT::block_by_ops(std::size_t layer, at::Tensor x, Stream& stream, const SequenceInput& input,
                             const Rounding& rounding) const {
  const Block& block = blocks_[layer];
  const BlendInputs blend = blend_inputs(layer, x, stream);
  if (blend.skip.defined())
    x = weighted_sum(x, blend.skip, blend.skip_weights, BlendForm::kAddIndexed, blend.skip_index);
  if (blend.x0.defined()) x = weighted_sum(x, blend.x0, blend.lambdas, BlendForm::kPair);
  x = rounding.in_stream(x);
  if (block.attention) {
    const at::Tensor branch =
        block.attention->forward(rounding.in_stream(block.attention_norm(x)), stream.values[layer], stream.first_values,
                                 stream.tables, input, rounding);
    x = rounding.in_stream(at::add(x, branch, config_.model.attention_branch_scale));
  }
  return rounding.in_stream(x + mlp(block, rounding.in_stream(block.mlp_norm(x)), rounding));
}

at::Tensor GPT::loss(const SequenceInput& input, Pass pass, const ActivationSink& sink) const {
  const ModelConfig& model = config_.model;
  const Rounding rounding = rounding_of(pass);
  Stream stream;
  if (model.position == PositionEncoding::kRotary)
    stream.tables = tables_ ? *tables_ : tables_for(input.tokens.size(0));
  const TokenRows rows = device_rows(input.tokens, rounding);
  at::Tensor x = embed(input.tokens, rows, rounding);
  stream.x0 = x;
  stream.values = value_embeddings(input.tokens, rows, rounding);
  if (sink) sink("x0", x);
  const bool fuses = fuses_blocks(rounding);
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    x = fuses ? fused_block(layer, x, stream, input) : block_by_ops(layer, x, stream, input, rounding);
    if (model.unet_skips && layer < blocks_.size() / 2) stream.skips.push_back(x);
    if (sink) sink("blocks." + std::to_string(layer), x);
  }
  x = rounding.in_stream(final_norm_(x));
  if (sink) sink("logits_before_softcap", at::linear(x.to(dtype_), lm_head_));
  return head_loss(x, input.targets, pass, rounding);
}

}  // namespace nanobench::core
