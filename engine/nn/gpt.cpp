#include "engine/nn/gpt.h"

#include "core/base/error.h"
#include "core/base/op_timer.h"
#include "core/config/kernel_coverage.h"
#include "core/config/schedule.h"
#include "engine/kernels/engine_context.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/bigram_hash.h"
#include "engine/ops/blend.h"
#include "engine/ops/device_block.h"
#include "engine/ops/device_embedding.h"
#include "engine/ops/device_head.h"
#include "engine/ops/gates.h"
#include "engine/ops/rms_norm.h"

namespace nanobench::core {
namespace {

constexpr double kSigmoidSkip = -1.5;  // the records' initial weight

/// A normal table or matrix of this standard deviation. What starts at zero can be moved away from it.
InitRule normal_rule(double std) {
  return std == 0.0 ? InitRule::kZero : InitRule::kNormal;
}

/// Whether the token table begins with the head's values.
bool starts_as_head(const ModelConfig& model) {
  return model.tied_head || model.untie_step;
}

InitRule table_rule(const TrainConfig& config) {
  if (config.init.scheme == InitScheme::kGpt2) return InitRule::kGpt2;
  if (config.init.lm_head_std && starts_as_head(config.model)) return normal_rule(*config.init.lm_head_std);
  switch (config.init.embeddings) {
    case TableInit::kNormal: return InitRule::kNormal;
    case TableInit::kLinear: return InitRule::kLinear;
    case TableInit::kByHead: break;
  }
  return config.model.tied_head ? InitRule::kLinear : InitRule::kNormal;  // a tied table starts as the head
}

LossRounding loss_rounding(const PrecisionConfig& precision, Pass pass) {
  if (precision.cross_entropy == LossPrecision::kFloat32) return LossRounding::kNone;
  if (precision.cross_entropy == LossPrecision::kBfloat16Sigmoid)
    return pass == Pass::kTraining ? LossRounding::kSigmoid : LossRounding::kNone;
  return pass == Pass::kTraining ? LossRounding::kAll : LossRounding::kCap;
}

InitRule head_rule(const TrainConfig& config) {
  if (config.init.scheme == InitScheme::kGpt2) return InitRule::kGpt2;
  if (config.init.lm_head_std) return normal_rule(*config.init.lm_head_std);
  return config.init.lm_head == MatrixInit::kZero ? InitRule::kZero : InitRule::kLinear;
}

InitRule value_table_rule(const TrainConfig& config) {
  if (config.init.scheme == InitScheme::kGpt2) return InitRule::kGpt2;
  return normal_rule(config.init.value_table_std.value_or(1.0));
}

/// Those with which the layer of model.mudd begins like one without.
std::vector<double> first_layer_coefficients(const InitConfig& init) {
  return {0, 0, 0, 0, 0, 0, 2, 2, init.resid_lambda, 1, 0, init.bigram_lambda, init.resid_lambda, 1};
}

/// What a sublayer makes keeps its size, but attention reads one lane and so counts more in the other.
std::vector<double> post_values(const ModelConfig& model) {
  if (!model.two_lanes.first_layer) return {1.0};
  std::vector<double> values;
  for (std::int64_t layer = 0; layer < model.num_layers; ++layer) values.insert(values.end(), {1.0, 1.5, 1.0, 1.0});
  return values;
}

}  // namespace

GPT::GPT(const TrainConfig& config, at::ScalarType dtype, at::Device device)
    : config_(config), dtype_(dtype), parameters_(parameter_list(config), dtype, device) {
  add_tables();
  add_head();
  for (std::int64_t layer = 0; layer < config.model.num_layers; ++layer) add_block(layer);
  while (!config.model.has_layer(first_layer_)) ++first_layer_;
  final_norm_ = add_norm("ln_f");
  const bool has_sigmoid = config.model.unet_skip_gate == SkipGate::kSigmoid;
  skip_weights_ = parameters_.add({.name = "skip_weights", .values = {has_sigmoid ? kSigmoidSkip : 1.0}});
  smear_gate_ = parameters_.add({.name = "smear_gate.weight", .rule = InitRule::kZero});
  smear_lambda_ = parameters_.add({.name = "smear_lambda", .values = {0.0}});
  backout_lambda_ = parameters_.add({.name = "backout_lambda", .values = {0.5}});
  skip_lambda_ = parameters_.add({.name = "skip_lambda", .values = {kSigmoidSkip}});
  post_lambdas_ = parameters_.add({.name = "post_lambdas", .values = post_values(config.model)});
  xsa_alphas_ = parameters_.add({.name = "xsa_alphas", .values = {0.0}});
  if (config.model.generated_gates.hidden > 0) generated_gates_.emplace(parameters_, config);
  const PrecisionConfig& precision = config.precision;
  if (precision.mlp_up == ProductPrecision::kFp8 || precision.mlp_down == ProductPrecision::kFp8)
    mlp_products_ = std::make_unique<MlpProducts>(precision, static_cast<std::size_t>(config.model.num_layers));
  if (config.model.mudd.hidden > 0) {
    mudd_layer_ = Coefficients(parameters_, "mudd.0.", first_layer_coefficients(config.init), config.model.mudd.scale);
    mudd_head_ = Coefficients(parameters_, "mudd.1.", {0.0, -0.5, 0.0, 0.0, 0.0}, config.model.mudd.scale);
  }
  bigram_lambdas_ = parameters_.add({.name = "bigram_lambdas", .values = {config.init.bigram_lambda}});
  skip_gate_ = parameters_.add({.name = "skip_gate.weight", .rule = InitRule::kZero});
  resid_lambdas_ = parameters_.add({.name = "resid_lambdas", .values = {config.init.resid_lambda}});
  x0_lambdas_ = parameters_.add({.name = "x0_lambdas", .values = {0.0}});
  unread_ = parameters_.add({.name = "unread", .rule = InitRule::kZero});
  parameters_.check_complete();
  const bool is_rotary = config.model.position == PositionEncoding::kRotary;
  if (is_rotary && config.model.rope.precompute) tables_ = tables_for(table_positions());
}

/// Paired heads have two positions a token.
std::int64_t GPT::table_positions() const {
  return config_.model.rope.max_seq_len * (config_.model.paired_head_layers.empty() ? 1 : 2);
}

void GPT::add_tables() {
  const ValueEmbeddingConfig& values = config_.model.value_embeddings;
  const bool is_gpt2 = config_.init.scheme == InitScheme::kGpt2;
  const InitRule normal = is_gpt2 ? InitRule::kGpt2 : InitRule::kNormal;
  Parameter table{.name = "embed.weight", .rule = table_rule(config_)};
  if (starts_as_head(config_.model)) table.std = config_.init.lm_head_std;
  if (is_gpt2) table.zero_rows_from = config_.model.vocab_size;
  if (config_.model.untie_step) {  // it starts as the head
    table.rule = head_rule(config_);
    table.pieces = {"lm_head.weight"};
  }
  embed_ = parameters_.add(std::move(table));
  const BigramConfig& bigram = config_.model.bigram;
  bigram_embed_ = parameters_.add({.name = "bigram_embed.weight", .rule = InitRule::kZero});
  if (bigram.rows > 0 && bigram.sign_rows > 0)
    bigram_signs_ = parameters_.add_signs("bigram_sign_table", {bigram.sign_rows, bigram.dim});
  position_embed_ = parameters_.add({.name = "position_embed.weight", .rule = normal});
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < values.num_tables; ++i)
    names.push_back("value_embeds.embed." + std::to_string(i) + ".weight");
  const InitRule rule = value_table_rule(config_);
  const std::optional<double> std = config_.init.value_table_std;
  if (values.layout == ValueTableLayout::kJoined) {
    value_tables_.push_back(parameters_.add(
        {.name = "value_embeds.weight", .rule = rule, .std = std, .pieces = names, .pieces_are_columns = true}));
  } else {
    for (const std::string& name : names)
      value_tables_.push_back(parameters_.add({.name = name, .rule = rule, .std = std}));
  }
}

void GPT::set_prefixes(const std::vector<std::int32_t>& prefixes, const std::string& source) {
  const auto count = static_cast<std::int64_t>(prefixes.size());
  if (count > config_.model.vocab_size)
    throw Error(ErrorCode::kInvalidArgument, source + " has " + std::to_string(count) +
                                                 " tokens, but /model/vocab_size is " +
                                                 std::to_string(config_.model.vocab_size));
  prefix_table_.narrow(0, 0, count).copy_(at::tensor(prefixes));
}

bool GPT::has_prefixes() const {
  return prefix_table_.defined() && prefix_table_.ge(0).any().item<bool>();
}

void GPT::add_head() {
  if (!config_.loss.prefix.empty())
    prefix_table_ = parameters_.add_token_table("prefix_table", config_.model.padded_vocab_size());
  lm_head_ =
      config_.model.tied_head
          ? embed_
          : parameters_.add({.name = "lm_head.weight", .rule = head_rule(config_), .std = config_.init.lm_head_std});
}

Norm GPT::add_norm(const std::string& name) {
  return {.eps = config_.model.norm_eps,
          .weight = parameters_.add({.name = name + ".weight", .values = {1.0}}),
          .bias = parameters_.add({.name = name + ".bias", .values = {0.0}})};
}

void GPT::add_block(std::int64_t layer) {
  const std::string prefix = "blocks." + std::to_string(layer) + ".";
  Block block{.exists = config_.model.has_layer(layer)};
  if (config_.model.has_attention(layer)) {
    block.attention_norm = add_norm(prefix + "ln_1");
    block.attention.emplace(parameters_, config_, layer);
  }
  block.mlp_norm = add_norm(prefix + "ln_2");
  block.c_fc =
      add_linear(parameters_, config_, prefix + "mlp.c_fc", LinearRole::kInner, config_.model.mlp_fc_transposed);
  block.c_proj =
      add_linear(parameters_, config_, prefix + "mlp.c_proj", LinearRole::kOutput, config_.model.mlp_proj_transposed);
  block.lambdas = parameters_.add({.name = prefix + "lambdas", .values = {1.0, 0.0}});
  blocks_.push_back(std::move(block));
}

RotaryTables GPT::tables_for(std::int64_t length) const {
  return rotary_tables(config_.model.rope, config_.model.head_dim(),
                       at::arange(length, at::TensorOptions().device(device())), dtype_,
                       config_.precision.rotary_tables, windows_);
}

std::map<std::string, at::Tensor> GPT::pass_state() const {
  return mlp_products_ ? mlp_products_->state() : std::map<std::string, at::Tensor>();
}

void GPT::restore_passes(const std::map<std::string, at::Tensor>& state) {
  if (mlp_products_) return mlp_products_->restore(state);
  if (!state.empty()) throw Error(ErrorCode::kInvalidArgument, "the model has no 8-bit products, but the state has");
}

void GPT::follow_windows(const std::vector<std::int64_t>& windows) {
  if (windows == windows_) return;
  windows_ = windows;
  if (tables_) tables_ = tables_for(table_positions());
}

AttentionSetting GPT::attention_setting(std::int64_t length) const {
  AttentionSetting setting;
  setting.scale = grown_attention_scale(config_.model, windows_);
  if (config_.model.position == PositionEncoding::kRotary)
    setting.tables = tables_ ? *tables_ : tables_for(config_.model.paired_head_layers.empty() ? length : 2 * length);
  return setting;
}

Rounding GPT::rounding_of(Pass pass) const {
  const PrecisionConfig& precision = config_.precision;
  if (pass == Pass::kValidation && precision.validation == ValidationPrecision::kFloat32) return {};
  return {.products = precision.activations != ActivationPrecision::kFloat32,
          .stream = precision.activations == ActivationPrecision::kBfloat16,
          .is_compact = EngineContext::current().uses_kernels() && takes_device_tensors(device()) &&
                        has_kernel(StepPart::kBlocks, KernelDevice::kGpu, KernelQuery(config_, dtype_ == at::kFloat)),
          .mlp = pass == Pass::kTraining ? mlp_products_.get() : nullptr};
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
  if (smear_gate_.defined()) x = smear(x, smear_gate_, smear_lambda_);
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

at::Tensor GPT::mlp(std::size_t layer, const at::Tensor& x, const Rounding& rounding) const {
  Linear up = blocks_[layer].c_fc;
  if (config_.model.mlp_fc_transposed) up.weight = up.weight.t();
  const at::Tensor input = rounding.product_input(x);
  const at::Tensor hidden = rounding.mlp != nullptr ? rounding.mlp->up(up, input, rounding) : up(input, rounding);
  at::Tensor active;
  switch (config_.model.activation) {
    case Activation::kReluSquared: active = relu_squared(hidden); break;
    case Activation::kGelu: active = at::gelu(hidden); break;
    case Activation::kGeluTanh: active = at::gelu(hidden, "tanh"); break;
  }
  active = rounding.product(active);
  Linear down = blocks_[layer].c_proj;
  if (config_.model.mlp_proj_transposed) down.weight = down.weight.t();
  return rounding.mlp != nullptr ? rounding.mlp->down(layer, down, active, rounding) : down(active, rounding);
}

/// What the head multiplies, and what it makes of the products.
GPT::Head GPT::head(const at::Tensor& x, const SequenceInput& input, Pass pass, const Rounding& rounding) const {
  const PrecisionConfig& precision = config_.precision;
  Head head{.options = {.softcap = {config_.model.logit_softcap, config_.model.logit_softcap_form},
                        .rounds_logits = rounding.products,
                        .rounds_capped = rounding.products && precision.logits == StoredPrecision::kBfloat16,
                        .logit_scale = config_.model.logit_scale,
                        .loss_rounding = loss_rounding(precision, pass),
                        .is_sum = config_.run.loss_reduction == LossReduction::kSum,
                        .fp8 = std::nullopt,
                        .logit_cap = config_.model.logit_cap,
                        .target_weights = {1.0},
                        .counts_all_weights = config_.loss.multi_token_normalizer == TargetNormalizer::kAll,
                        .prefix_weight = 0.0,
                        .prefixes = {}},
            .device = std::nullopt,
            .features = {},
            .weight = {}};
  HeadOptions& options = head.options;
  if (pass == Pass::kTraining) {
    options.target_weights = input.target_weights;
    options.prefix_weight = input.prefix_weight;
    options.prefixes = prefix_table_;
  }
  const bool is_fp8 = precision.head == ProductPrecision::kFp8 && pass == Pass::kTraining;
  const bool has_device_head = has_kernel(StepPart::kHead, KernelDevice::kGpu, KernelQuery(config_));
  if (rounding.products && takes_device_tensors(x.device()) && has_device_head &&
      (!is_fp8 || fits_float8_head(x, lm_head_))) {
    head.device = DeviceHeadOptions{.softcap = options.softcap,
                                    .rounds_capped = options.rounds_capped,
                                    .logit_scale = options.logit_scale,
                                    .loss_rounding = options.loss_rounding,
                                    .is_sum = options.is_sum,
                                    .fp8 = is_fp8 ? std::optional(precision.fp8) : std::nullopt};
    head.features = rounding.product_input(x).to(at::kBFloat16);
    head.weight = lm_head_;
    return head;
  }
  // Without a kernel the loss and its sums are of the engine's type, which holds the rounded values.
  Rounding emulated = rounding;
  emulated.is_compact = false;
  head.features = emulated.product_input(x.to(dtype_));
  head.weight = is_fp8 ? lm_head_ : emulated.product(lm_head_);
  if (is_fp8) options.fp8 = precision.fp8;
  return head;
}

at::Tensor GPT::mean_loss(const Head& head, const at::Tensor& targets) const {
  const at::Tensor loss = head.device
                              ? device_softcapped_cross_entropy(head.features, head.weight, targets, *head.device)
                              : softcapped_cross_entropy(head.features, head.weight, targets, head.options);
  return unread_.defined() ? loss + unread_.narrow(0, 0, 0).sum()
                           : loss;  // a gradient of zero, as unread rows of a bank get
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
  if (const auto source = config_.model.skip_source(static_cast<std::int64_t>(layer))) {
    blend.skip = stream.outputs[static_cast<std::size_t>(*source)];
    blend.skip_weights = stream.skip_weights;
    blend.skip_index = static_cast<std::int64_t>(layer - blocks_.size() / 2);
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
        block.attention->fused_forward(blend, stream.values[layer], stream.first_values, stream.setting, input);
    if (!block.c_fc.weight.defined())
      return fused_output(attended.x, attended.y, block.attention->output_weight(), model.attention_branch_scale);
    return fused_mlp(attended.x, attended.y, block.attention->output_weight(), up_weight(block), down_weight(block),
                     model.attention_branch_scale, model.norm_eps);
  }
  const bool blends = blend.skip.defined() || blend.x0.defined();
  return fused_mlp(blends ? fused_blend(blend) : x, {}, {}, up_weight(block), down_weight(block), 1.0, model.norm_eps);
}

/// [C, hidden], as the fused kernels take it.
at::Tensor GPT::down_weight(const Block& block) const {
  return config_.model.mlp_proj_transposed ? block.c_proj.weight.t().contiguous() : block.c_proj.weight;
}

/// [hidden, C], as the fused kernels take it.
at::Tensor GPT::up_weight(const Block& block) const {
  return config_.model.mlp_fc_transposed ? block.c_fc.weight.t().contiguous() : block.c_fc.weight;
}

/// The skip and the scaling of records #45 on.
at::Tensor GPT::begin_block(std::size_t layer, const at::Tensor& x, const Stream& stream) const {
  const SkipConfig& skip = config_.model.skip;
  const auto index = static_cast<std::int64_t>(layer);
  at::Tensor begun = x;
  if (skip.to == index) {
    at::Tensor added =
        skip.tap == SkipTap::kOutput ? stream.outputs[static_cast<std::size_t>(skip.from)] : stream.middle;
    if (skip.gate == LateSkipGate::kGenerated) added = stream.generated.skip * added;
    if (skip_gate_.defined())
      added = 2.0 * at::sigmoid(at::linear(stream.x0.narrow(1, 0, skip.gate_dim), skip_gate_)) * added;
    begun = weighted_sum(begun, added, at::sigmoid(skip_lambda_).reshape({1}), BlendForm::kAddIndexed);
  }
  if (config_.model.residual_scaling != ResidualScaling::kBlock) return begun;
  begun = weighted_sum(begun, stream.x0, at::stack({resid_lambdas_[index], x0_lambdas_[index]}), BlendForm::kPair);
  if (!stream.pairs.defined()) return begun;
  return begun + bigram_lambdas_[index] * stream.pairs;
}

at::Tensor GPT::pair_rows(const at::Tensor& tokens, const Rounding& rounding) const {
  if (!bigram_embed_.defined()) return at::Tensor();
  const BigramConfig& bigram = config_.model.bigram;
  const at::Tensor rows = rounding.in_stream(at::embedding(bigram_embed_, bigram_rows(tokens, bigram)));
  const bool has_signs = bigram_signs_.defined();
  const at::Tensor signed_rows =
      has_signs ? rows * at::embedding(bigram_signs_, bigram_sign_rows(tokens, bigram.sign_rows)) : rows;
  const std::int64_t rest = config_.model.model_dim - bigram.dim;
  return rest == 0 ? signed_rows : at::constant_pad_nd(signed_rows, {0, rest});
}

at::Tensor GPT::block_by_ops(std::size_t layer, at::Tensor x, Stream& stream, const SequenceInput& input,
                             const Rounding& rounding) const {
  const Block& block = blocks_[layer];
  const BlendInputs blend = blend_inputs(layer, x, stream);
  if (blend.skip.defined())
    x = weighted_sum(x, blend.skip, blend.skip_weights, BlendForm::kAddIndexed, blend.skip_index);
  if (blend.x0.defined()) x = weighted_sum(x, blend.x0, blend.lambdas, BlendForm::kPair);
  x = rounding.in_stream(begin_block(layer, x, stream));
  if (block.attention) {
    const at::Tensor branch =
        block.attention->forward(rounding.in_stream(block.attention_norm(x)), stream.values[layer], stream.first_values,
                                 layer_setting(static_cast<std::int64_t>(layer), stream), input, rounding);
    x = rounding.in_stream(at::add(x, branch, config_.model.attention_branch_scale));
  }
  if (!block.c_fc.weight.defined()) return x;
  return rounding.in_stream(x + mlp(layer, rounding.in_stream(block.mlp_norm(x)), rounding));
}

/// Keeps what a later layer or the head reads.
void GPT::keep_output(std::size_t layer, const at::Tensor& x, Stream& stream) const {
  if (config_.model.keeps_output(static_cast<std::int64_t>(layer))) stream.outputs[layer] = x;
}

at::Tensor GPT::back_out(const at::Tensor& x, const Stream& stream, bool fuses) const {
  const at::Tensor& other = stream.outputs[static_cast<std::size_t>(*config_.model.backout_layer)];
  const at::Tensor weights = backout_lambda_.neg().reshape({1});
  if (fuses) return fused_blend({.x = x, .skip = other, .skip_weights = weights, .x0 = {}, .lambdas = {}});
  return weighted_sum(x, other, weights, BlendForm::kAddIndexed);
}

/// [T, C]: what the head reads.
at::Tensor GPT::features(const SequenceInput& input, const Rounding& rounding, const ActivationSink& sink) const {
  const ModelConfig& model = config_.model;
  if (rounding.mlp != nullptr) rounding.mlp->begin(input.rank, input.step);
  Stream stream;
  stream.setting = attention_setting(input.tokens.size(0));
  const bool has_sigmoid = model.unet_skips && model.unet_skip_gate == SkipGate::kSigmoid;
  stream.skip_weights = has_sigmoid ? at::sigmoid(skip_weights_) : skip_weights_;
  stream.outputs.resize(blocks_.size());
  const TokenRows rows = device_rows(input.tokens, rounding);
  at::Tensor x = embed(input.tokens, rows, rounding);
  stream.x0 = x;
  stream.values = value_embeddings(input.tokens, rows, rounding);
  stream.pairs = pair_rows(input.tokens, rounding);
  x = enter(x, stream);
  if (sink) sink("x0", stream.x0);
  const bool fuses = fuses_blocks(rounding);
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    if (!blocks_[layer].exists) continue;
    if (fuses) {
      x = fused_block(layer, x, stream, input);
    } else if (model.residual_scaling == ResidualScaling::kSublayer) {
      x = sublayer_block(layer, x, stream, input, rounding);
    } else {
      x = block_by_ops(layer, x, stream, input, rounding);
    }
    keep_output(layer, x, stream);
    if (sink) sink("blocks." + std::to_string(layer), x);
  }
  if (stream.lane.defined()) x = rounding.in_stream((x + stream.lane) / 2);
  if (backout_lambda_.defined()) x = rounding.in_stream(back_out(x, stream, fuses));
  if (mudd_head_.defined()) x = rounding.in_stream(coefficient_sum(x, stream));
  x = rounding.in_stream(final_norm_(x));
  if (sink) sink("logits_before_softcap", at::linear(x.to(dtype_), lm_head_).mul_(model.logit_scale));
  return x;
}

at::Tensor GPT::loss(const SequenceInput& input, Pass pass, const ActivationSink& sink) const {
  const Rounding rounding = rounding_of(pass);
  return mean_loss(head(features(input, rounding, sink), input, pass, rounding), input.targets);
}

GPT::Losses GPT::losses(const SequenceInput& input, Pass pass) const {
  const Rounding rounding = rounding_of(pass);
  const Head head = this->head(features(input, rounding), input, pass, rounding);
  const at::Tensor tokens = head.device
                                ? device_token_cross_entropies(head.features, head.weight, input.targets, *head.device)
                                : token_cross_entropies(head.features, head.weight, input.targets, head.options);
  return {.mean = mean_loss(head, input.targets), .tokens = tokens};
}

}  // namespace nanobench::core
