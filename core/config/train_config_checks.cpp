// Relations between TrainConfig's fields. Each message names the place, the found value, and what would be right.
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <string>

#include "core/config/config_checker.h"
#include "core/config/parameter_list.h"
#include "core/config/train_config.h"

namespace nanobench::core {
namespace {

std::string text(std::int64_t value) {
  return std::to_string(value);
}

void check_heads(const ConfigChecker& check, const ModelConfig& model) {
  check.require(model.model_dim % model.num_heads == 0, {"/model/num_heads", "/model/model_dim"},
                "model_dim " + text(model.model_dim) + " is not a multiple of num_heads " + text(model.num_heads));
  check.require(
      model.num_heads % model.num_kv_heads == 0, {"/model/num_kv_heads", "/model/num_heads"},
      "num_heads " + text(model.num_heads) + " is not a multiple of num_kv_heads " + text(model.num_kv_heads));
  if (model.position == PositionEncoding::kRotary) {
    const std::int64_t multiple = model.rope.half_truncate ? 4 : 2;
    check.require(model.head_dim() % multiple == 0,
                  {"/model/model_dim", "/model/num_heads", "/model/rope/half_truncate", "/model/position"},
                  "the head width " + text(model.head_dim()) + " must be a multiple of " + text(multiple) +
                      " for the rotary tables");
    check.require(!model.rope.half_truncate || model.head_dim() >= 8,
                  {"/model/model_dim", "/model/num_heads", "/model/rope/half_truncate", "/model/position"},
                  "half-truncated rotary tables need a head width of at least 8, got " + text(model.head_dim()));
  }
  check.exclude(model.merged_qkv && model.qkv_rows == QkvRows::kStacked, {"/model/qkv_rows", "/model/merged_qkv"},
                "\"stacked\" and merged_qkv both replace c_q, c_k, c_v; choose one");
  check.exclude((model.merged_qkv || model.qkv_rows == QkvRows::kStacked) && model.num_kv_heads != model.num_heads,
                {"/model/num_kv_heads", "/model/merged_qkv", "/model/qkv_rows", "/model/num_heads"},
                "a merged or stacked QKV matrix needs num_kv_heads equal to num_heads");
}

void check_values(const ConfigChecker& check, const ModelConfig& model) {
  const ValueEmbeddingConfig& values = model.value_embeddings;
  check.require(static_cast<std::int64_t>(values.layer_map.size()) == model.num_layers,
                {"/model/value_embeddings/layer_map", "/model/num_layers"},
                "needs one entry per layer: expected " + text(model.num_layers) + ", got " +
                    text(static_cast<std::int64_t>(values.layer_map.size())));
  for (const auto& table : values.layer_map) {
    check.exclude(table && values.source != ValueSource::kTokens,
                  {"/model/value_embeddings/layer_map", "/model/value_embeddings/source"},
                  "names tables, but the source is not \"tokens\"; use null entries or set the source");
    check.require(!table || *table < values.num_tables,
                  {"/model/value_embeddings/layer_map", "/model/value_embeddings/num_tables"},
                  "names table " + text(table.value_or(0)) + ", but num_tables is " + text(values.num_tables));
  }
  check.require(values.source == ValueSource::kTokens || values.num_tables == 0,
                {"/model/value_embeddings/num_tables", "/model/value_embeddings/source"},
                "must be 0 unless the source is \"tokens\"");
  check.require(values.source != ValueSource::kTokens || values.num_tables > 0,
                {"/model/value_embeddings/num_tables", "/model/value_embeddings/source"},
                "must be at least 1 with the source \"tokens\"");
  check.exclude(
      values.source == ValueSource::kFirstLayer && values.mix == ValueMix::kNone,
      {"/model/value_embeddings/mix", "/model/value_embeddings/source"},
      "\"none\" would leave the first layer's values unused; use \"lerp\" or \"pair\", or the source \"none\"");
  check.exclude(values.source == ValueSource::kTokens && values.mix == ValueMix::kNone,
                {"/model/value_embeddings/mix", "/model/value_embeddings/source"},
                "\"none\" would leave the value tables unused; use \"lerp\" or \"pair\", or the source \"none\"");
  check.exclude(values.layout == ValueTableLayout::kJoined && values.source != ValueSource::kTokens,
                {"/model/value_embeddings/layout", "/model/value_embeddings/source"},
                "\"joined\" needs value tables, but the source is not \"tokens\"; use \"separate\"");
  check.exclude(values.source == ValueSource::kFirstLayer && !model.has_attention(0),
                {"/model/attention_skip_layers", "/model/value_embeddings/source"},
                "layer 0 has no attention, so it has no values to share; use another value source");
}

void check_layers(const ConfigChecker& check, const ModelConfig& model) {
  const auto exist = [&](const std::vector<std::int64_t>& layers, const char* pointer) {
    for (const std::int64_t layer : layers) {
      check.require(layer < model.num_layers, {pointer, "/model/num_layers"},
                    "layer " + text(layer) + " does not exist; there are " + text(model.num_layers));
    }
  };
  exist(model.attention_skip_layers, "/model/attention_skip_layers");
  exist(model.mlp_skip_layers, "/model/mlp_skip_layers");
  exist(model.skip_layers, "/model/skip_layers");
  exist(model.attention_gate_skip_layers, "/model/attention_gate_skip_layers");
  for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
    check.exclude(model.has_layer(layer) && !model.has_attention(layer) && !model.has_mlp(layer),
                  {"/model/mlp_skip_layers", "/model/attention_skip_layers", "/model/skip_layers"},
                  "layer " + text(layer) + " would have neither attention nor MLP; name it in skip_layers");
    const bool has_table = model.value_embeddings.layer_map.size() > static_cast<std::size_t>(layer) &&
                           model.value_embeddings.layer_map[static_cast<std::size_t>(layer)].has_value();
    check.exclude(has_table && !model.has_layer(layer), {"/model/value_embeddings/layer_map", "/model/skip_layers"},
                  "names a table for layer " + text(layer) + ", which is left out; use null");
  }
  check.require(
      !model.backout_layer || (*model.backout_layer < model.num_layers && model.has_layer(*model.backout_layer)),
      {"/model/backout_layer", "/model/num_layers", "/model/skip_layers"},
      "layer " + text(model.backout_layer.value_or(0)) + " does not exist");
  check.exclude(model.unet_skip_gate == SkipGate::kSigmoid && !model.unet_skips,
                {"/model/unet_skip_gate", "/model/unet_skips"}, "there are no U-net skips; use \"linear\"");
}

void check_gates(const ConfigChecker& check, const ModelConfig& model) {
  const auto fits = [&](std::int64_t dim, const char* pointer) {
    check.require(dim <= model.model_dim, {pointer, "/model/model_dim"},
                  "the gate reads " + text(dim) + " features, but model_dim is " + text(model.model_dim));
  };
  fits(model.attention_gate_dim, "/model/attention_gate_dim");
  fits(model.smear_gate_dim, "/model/smear_gate_dim");
  const bool merges = model.merged_qkvo != MergedQkvo::kOff;
  check.exclude(merges && (model.merged_qkv || model.qkv_rows == QkvRows::kStacked),
                {"/model/merged_qkvo", "/model/merged_qkv", "/model/qkv_rows"},
                "it replaces the matrices of queries, keys and values; set merged_qkv to false and qkv_rows to "
                "\"separate\"");
  check.exclude(merges && model.bias, {"/model/merged_qkvo", "/model/bias"}, "merged projections have no bias");
  check.exclude(merges && model.num_kv_heads != model.num_heads,
                {"/model/merged_qkvo", "/model/num_kv_heads", "/model/num_heads"},
                "merged projections need num_kv_heads equal to num_heads");
}

void check_model(const ConfigChecker& check, const TrainConfig& config) {
  const ModelConfig& model = config.model;
  check_heads(check, model);
  check_values(check, model);
  check_layers(check, model);
  check_gates(check, model);
  check_late_model(check, model);
  check.require(!model.unet_skips || model.num_layers % 2 == 0, {"/model/num_layers", "/model/unet_skips"},
                "U-net skips need an even number of layers, got " + text(model.num_layers));
  check.exclude(
      model.tied_head && model.embedding_rows() != model.padded_vocab_size(),
      {"/model/tied_head", "/model/vocab_pad_embeddings", "/model/vocab_pad_multiple"},
      "a tied head has the rows of the embedding: set vocab_pad_embeddings to true or vocab_pad_multiple to 1");
  check.require(
      config.attention.document_separator < model.vocab_size, {"/attention/document_separator", "/model/vocab_size"},
      "token " + text(config.attention.document_separator) + " is outside the vocabulary of " + text(model.vocab_size));
}

void check_window_list(const ConfigChecker& check, const AttentionConfig& attention) {
  const WindowScheduleConfig& schedule = attention.window.schedule;
  if (schedule.type != WindowScheduleType::kList) return;
  check.require(!schedule.tokens_list.empty(), {"/attention/window/schedule/tokens_list"}, "needs at least one window");
  for (const std::int64_t tokens : schedule.tokens_list) {
    check.require(tokens % attention.block_size == 0,
                  {"/attention/window/schedule/tokens_list", "/attention/block_size"},
                  "windows must be multiples of block_size " + text(attention.block_size) + ", got " + text(tokens));
  }
}

void check_final_window(const ConfigChecker& check, const TrainConfig& config) {
  const WindowConfig& window = config.attention.window;
  const bool has_window = window.schedule.type != WindowScheduleType::kNone;
  for (const auto& [tokens, pointer] :
       {std::pair(window.final_validation_tokens, "/attention/window/final_validation_tokens"),
        std::pair(window.final_validation_layers_tokens, "/attention/window/final_validation_layers_tokens")}) {
    check.require(!tokens || *tokens % config.attention.block_size == 0, {pointer, "/attention/block_size"},
                  "must be a multiple of block_size " + text(config.attention.block_size));
    check.exclude(tokens && !has_window, {pointer, "/attention/window/schedule/type"},
                  "the run has no window; choose another schedule, or null");
  }
  check.require(window.final_validation_layers.empty() != window.final_validation_layers_tokens.has_value(),
                {"/attention/window/final_validation_layers", "/attention/window/final_validation_layers_tokens"},
                "layers and their window belong together; set both or neither");
  for (const std::int64_t layer : window.final_validation_layers) {
    check.require(layer < config.model.num_layers, {"/attention/window/final_validation_layers", "/model/num_layers"},
                  "layer " + text(layer) + " does not exist");
  }
  const ModelConfig& model = config.model;
  check.exclude(model.rope.window_scaling == RopeWindowScaling::kYarn &&
                    (!has_window || model.position != PositionEncoding::kRotary),
                {"/model/rope/window_scaling", "/attention/window/schedule/type", "/model/position"},
                "rotary frequencies that follow the window need both; use \"none\"");
  check.exclude(model.attention_scale_growth != 0.0 && (!has_window || !model.attention_scale),
                {"/model/attention_scale_growth", "/model/attention_scale", "/attention/window/schedule/type"},
                "it multiplies attention_scale when the window changes; set both, or 0");
}

void check_attention(const ConfigChecker& check, const TrainConfig& config) {
  const AttentionConfig& attention = config.attention;
  const WindowScheduleConfig& schedule = attention.window.schedule;
  const std::int64_t block = attention.block_size;
  const std::int64_t longest = std::max(config.data.sequence_length, config.data.val_length());
  for (const std::int64_t length : {config.data.sequence_length, config.data.val_length()}) {
    check.require(length % block == 0, {"/data/sequence_length", "/data/val_sequence_length", "/attention/block_size"},
                  "sequences of " + text(length) + " tokens are not a multiple of attention/block_size " + text(block));
  }
  const bool has_table = config.model.position == PositionEncoding::kLearned ||
                         (config.model.position == PositionEncoding::kRotary && config.model.rope.precompute);
  check.require(longest <= config.model.rope.max_seq_len || !has_table,
                {"/model/rope/max_seq_len", "/data/sequence_length", "/data/val_sequence_length",
                 "/model/rope/precompute", "/model/position"},
                "sequences of " + text(longest) + " tokens are longer than the table of " +
                    text(config.model.rope.max_seq_len) + " positions");
  if (attention.window.granularity == WindowGranularity::kBlock && schedule.type != WindowScheduleType::kNone) {
    const std::int64_t quantum =
        schedule.type == WindowScheduleType::kConstant ? schedule.tokens : schedule.quantum_tokens;
    check.require(quantum % block == 0,
                  {"/attention/window/schedule", "/attention/window/granularity", "/attention/block_size"},
                  "with granularity \"block\" windows must be multiples of block_size " + text(block) +
                      ", got steps of " + text(quantum));
  }
  check.require(schedule.type != WindowScheduleType::kLinear || schedule.end_tokens >= schedule.start_tokens,
                {"/attention/window/schedule/end_tokens", "/attention/window/schedule/start_tokens"},
                "must not be below start_tokens " + text(schedule.start_tokens));
  check.require(schedule.type != WindowScheduleType::kLinear || schedule.rounding == WindowRounding::kCeil ||
                    schedule.start_tokens + schedule.offset_tokens >= schedule.quantum_tokens,
                {"/attention/window/schedule/start_tokens", "/attention/window/schedule/offset_tokens",
                 "/attention/window/schedule/quantum_tokens", "/attention/window/schedule/rounding"},
                "the first window would be 0 tokens; start_tokens + offset_tokens must reach quantum_tokens " +
                    text(schedule.quantum_tokens));
  for (const std::int64_t layer : attention.window.half_layers) {
    check.require(layer < config.model.num_layers, {"/attention/window/half_layers", "/model/num_layers"},
                  "layer " + text(layer) + " does not exist");
  }
  const WindowGranularity granularity = attention.window.granularity;
  check.exclude(!attention.window.half_layers.empty() && granularity == WindowGranularity::kTokenBlockClipped,
                {"/attention/window/half_layers", "/attention/window/granularity"},
                "half windows are whole blocks, which this granularity cuts; set another one");
  check_window_list(check, attention);
  check_final_window(check, config);
}

void check_optimizer(const ConfigChecker& check, const OptimizerConfig& optimizer, const ModelConfig& model) {
  const auto require_adam = [&](const OptimizerGroupConfig& group, const char* pointer) {
    check.require(group.type == OptimizerType::kAdam, {pointer},
                  "only hidden_matrices can use \"muon\"; its update is defined for the matrices of the blocks");
  };
  require_adam(optimizer.embeddings, "/optimizer/embeddings/type");
  require_adam(optimizer.lm_head, "/optimizer/lm_head/type");
  require_adam(optimizer.scalars, "/optimizer/scalars/type");
  check.exclude(!optimizer.hidden_matrices.split_qkv && optimizer.hidden_matrices.type == OptimizerType::kMuon &&
                    !model.merged_qkv && model.qkv_rows != QkvRows::kStacked,
                {"/optimizer/hidden_matrices/split_qkv", "/model/merged_qkv", "/model/qkv_rows"},
                "false takes q, k and v as one matrix, but the model keeps them apart; set model/qkv_rows to "
                "\"stacked\" or model/merged_qkv to true");
}

void check_precision(const ConfigChecker& check, const TrainConfig& config) {
  const PrecisionConfig& precision = config.precision;
  const bool rounds = precision.activations != ActivationPrecision::kFloat32;
  check.exclude(!rounds && precision.validation == ValidationPrecision::kFloat32,
                {"/precision/validation", "/precision/activations"},
                "\"float32\" is what activations in float32 have anyway; use \"training\"");
  check.exclude(!rounds && precision.logits == StoredPrecision::kBfloat16,
                {"/precision/logits", "/precision/activations"},
                "bfloat16 logits need activations in \"autocast\" or \"bfloat16\"");
  check.exclude(!rounds && precision.rotation == StoredPrecision::kBfloat16,
                {"/precision/rotation", "/precision/activations"},
                "a bfloat16 rotation needs activations in \"autocast\" or \"bfloat16\"");
  const bool stores_bfloat16 =
      precision.embeddings == StoredPrecision::kBfloat16 || precision.scalars == StoredPrecision::kBfloat16 ||
      precision.lm_head == StoredPrecision::kBfloat16 || precision.gates == StoredPrecision::kBfloat16;
  check.exclude(precision.parameters == ParameterStorage::kBfloat16Stochastic && stores_bfloat16,
                {"/precision/parameters", "/precision/embeddings", "/precision/scalars", "/precision/lm_head",
                 "/precision/gates"},
                "stochastic rounding keeps float32 masters of every parameter; set embeddings, scalars, lm_head and "
                "gates to \"float32\"");
  check.exclude(precision.cross_entropy == LossPrecision::kBfloat16 &&
                    (!config.model.logit_softcap || config.model.logit_softcap_form != SoftcapForm::kSigmoid),
                {"/precision/cross_entropy", "/model/logit_softcap", "/model/logit_softcap_form"},
                "the bfloat16 loss is that of the sigmoid form; set logit_softcap_form to \"sigmoid\"");
}

void check_gradient_sums(const ConfigChecker& check, const TrainConfig& config) {
  if (config.distributed.gradient_sums != GradientSums::kOwners) return;
  const bool has_muon = config.optimizer.hidden_matrices.type == OptimizerType::kMuon;
  check.exclude(has_muon && config.distributed.muon != MuonSharding::kAllGather,
                {"/distributed/gradient_sums", "/distributed/muon"},
                "a matrix whose gradient one process has is gathered from it; set muon to \"all_gather\"");
  check.exclude(config.distributed.gradient_sync != GradientSync::kLastMicroStep,
                {"/distributed/gradient_sums", "/distributed/gradient_sync"},
                "scattered sums are taken once a step; set gradient_sync to \"last_micro_step\"");
  check.exclude(config.optimizer.gradient_clip.type != GradientClipType::kNone,
                {"/distributed/gradient_sums", "/optimizer/gradient_clip/type"},
                "a norm needs every gradient, and each process has its own only; set the clipping to \"none\"");
}

void check_distributed(const ConfigChecker& check, const TrainConfig& config) {
  const std::int64_t processes = config.distributed.processes;
  check.require(config.data.ranks % processes == 0, {"/distributed/processes", "/data/ranks"},
                text(config.data.ranks) + " ranks do not divide among " + text(processes) + " processes");
  check_gradient_sums(check, config);
  const bool shares_groups = processes > 1 && config.distributed.muon == MuonSharding::kAllGather &&
                             config.optimizer.hidden_matrices.type == OptimizerType::kMuon;
  if (!shares_groups || config.distributed.ragged_groups) return;
  for (const auto& [key, count] : hidden_matrix_counts(config.model, config.distributed.muon_groups)) {
    const std::int64_t elements = std::accumulate(key.begin(), key.end(), std::int64_t{1}, std::multiplies<>());
    check.exclude(count % processes != 0, {"/distributed/ragged_groups", "/distributed/processes"},
                  "false, but the " + text(count) + " hidden matrices of " + text(elements) +
                      " elements do not divide among " + text(processes) +
                      " processes; set it to true or change /distributed/processes");
  }
}

void check_alignment(const ConfigChecker& check, const LoaderConfig& loader) {
  const bool is_aligned = loader.alignment != BatchAlignment::kNone;
  check.exclude(is_aligned && loader.position != LoaderPosition::kGlobal,
                {"/data/loader/alignment", "/data/loader/position"},
                "aligned sequences come from one place for all ranks; set the position to \"global\"");
  check.exclude(is_aligned && loader.first_read_twice, {"/data/loader/first_read_twice", "/data/loader/alignment"},
                "aligned batches are never repeated; set it to false");
  check.exclude(loader.cut_target == CutTarget::kOwnDocument && loader.alignment != BatchAlignment::kDocuments,
                {"/data/loader/cut_target", "/data/loader/alignment"},
                "documents are cut with the alignment \"documents\" only; set it to \"next_document\"");
  check.exclude(loader.max_document_length && loader.alignment != BatchAlignment::kDocuments,
                {"/data/loader/max_document_length", "/data/loader/alignment"},
                "documents are cut with the alignment \"documents\" only; use null");
}

void check_search_window(const ConfigChecker& check, const LoaderConfig& loader) {
  check.exclude(
      loader.search_window != LoaderConfig{}.search_window && loader.alignment != BatchAlignment::kBos,
      {"/data/loader/search_window", "/data/loader/alignment"},
      "only sequences that begin with a document are searched for; use " + text(LoaderConfig{}.search_window));
}

void check_run(const ConfigChecker& check, const TrainConfig& config) {
  const DataConfig& data = config.data;
  check.require(data.sequences_per_step % data.ranks == 0, {"/data/sequences_per_step", "/data/ranks"},
                text(data.sequences_per_step) + " sequences do not divide among " + text(data.ranks) + " ranks");
  check.require(
      (data.sequences_per_step / data.ranks) % data.loader.sequences_per_read == 0,
      {"/data/loader/sequences_per_read", "/data/sequences_per_step", "/data/ranks"},
      "a rank's " + text(data.sequences_per_step / data.ranks) + " sequences a step are not a multiple of it");
  const std::int64_t val_read = data.ranks * data.loader.sequences_per_read;
  check.require(
      data.val_sequences % val_read == 0, {"/data/val_sequences", "/data/ranks", "/data/loader/sequences_per_read"},
      text(data.val_sequences) + " sequences are not a multiple of ranks times sequences_per_read, " + text(val_read));
  check.require(config.run.stop_after <= config.schedule.total_steps(),
                {"/run/stop_after", "/schedule/num_steps", "/schedule/extension_steps"},
                text(config.run.stop_after) + " is beyond the " + text(config.schedule.total_steps()) +
                    " steps of schedule/num_steps and extension_steps");
  check_alignment(check, data.loader);
  check_search_window(check, data.loader);
  const LearningRateConfig& rate = config.schedule.learning_rate;
  check.require(
      rate.shape == LearningRateShape::kTrapezoid || rate.warmup_steps < config.schedule.num_steps,
      {"/schedule/learning_rate/warmup_steps", "/schedule/num_steps", "/schedule/learning_rate/shape"},
      "leaves no step for the cosine; it must be below schedule/num_steps " + text(config.schedule.num_steps));
  check.exclude(
      config.data.loader.order == BatchOrder::kShuffled && config.data.loader.position == LoaderPosition::kGlobal,
      {"/data/loader/order", "/data/loader/position"}, "\"shuffled\" is defined for the position \"per_rank\"");
}

}  // namespace

void check_train_config(const TrainConfig& config, const std::string& source) {
  const ConfigChecker check(source);
  check_model(check, config);
  check_attention(check, config);
  check_optimizer(check, config.optimizer, config.model);
  check_late_training(check, config);
  check_run(check, config);
  check_precision(check, config);
  check_distributed(check, config);
}

}  // namespace nanobench::core
