// Relations between the settings of records #42 on. Each message names the place, the found value, and what would be
// right.
#include <algorithm>
#include <set>
#include <string>

#include "core/config/config_checker.h"
#include "core/config/parameter_list.h"
#include "core/config/train_config.h"

namespace nanobench::core {
namespace {

constexpr std::int64_t kPolarExpressSteps = 5;

std::string late_text(std::int64_t value) {
  return std::to_string(value);
}

void check_stream(const ConfigChecker& check, const ModelConfig& model) {
  const SkipConfig& skip = model.skip;
  check.require(!skip.to || (skip.from < *skip.to && *skip.to < model.num_layers && model.has_layer(skip.from) &&
                             model.has_layer(*skip.to)),
                {"/model/skip/to", "/model/skip/from", "/model/num_layers", "/model/skip_layers"},
                "a skip leads from a layer to a later one; layer " + late_text(skip.from) + " and layer " +
                    late_text(skip.to.value_or(0)) + " are not two such layers");
  const bool has_sublayers = model.residual_scaling == ResidualScaling::kSublayer;
  check.require(
      has_sublayers == (model.x0_injection != EmbeddingInjection::kBlockStart),
      {"/model/x0_injection", "/model/residual_scaling"},
      "\"after_attention\" or \"generated\" and the scaling \"sublayer\" belong together; set both or neither");
  check.exclude(
      !has_sublayers && (model.generated_gates.hidden > 0 || model.late_attention_input.first_layer ||
                         model.mudd.hidden > 0 || model.skip.tap != SkipTap::kOutput || model.bigram.x0_included),
      {"/model/residual_scaling", "/model/generated_gates/hidden", "/model/late_attention_input/first_layer",
       "/model/mudd/hidden", "/model/skip/tap", "/model/bigram/x0_included"},
      "these belong to the scaling \"sublayer\"");
  const std::optional<std::int64_t>& lanes = model.two_lanes.first_layer;
  check.require(!lanes || (has_sublayers && *lanes < model.num_layers && model.has_layer(*lanes)),
                {"/model/two_lanes/first_layer", "/model/residual_scaling", "/model/num_layers", "/model/skip_layers"},
                "two lanes begin at a layer that exists, and need the scaling \"sublayer\"");
  check.exclude(
      lanes && (model.late_attention_input.first_layer || model.mudd.hidden > 0 || model.generated_gates.hidden > 0),
      {"/model/two_lanes/first_layer", "/model/late_attention_input/first_layer", "/model/mudd/hidden",
       "/model/generated_gates/hidden"},
      "these read the one stream of a layer; set two_lanes/first_layer to null");
  const LateAttentionConfig& late = model.late_attention_input;
  check.require(!late.first_layer || (late.source_layer < *late.first_layer && *late.first_layer < model.num_layers &&
                                      model.has_layer(late.source_layer)),
                {"/model/late_attention_input/first_layer", "/model/late_attention_input/source_layer",
                 "/model/num_layers", "/model/skip_layers"},
                "the source must be a layer before the first that reads it");
  const BigramConfig& bigram = model.bigram;
  check.exclude(bigram.rows > 0 && model.residual_scaling == ResidualScaling::kNone,
                {"/model/bigram/rows", "/model/residual_scaling"},
                "the rows of pairs are added with the weights of residual_scaling; set it to \"block\"");
  check.require(bigram.rows == 0 || (bigram.rows > 1 && bigram.dim <= model.model_dim),
                {"/model/bigram/rows", "/model/bigram/dim", "/model/model_dim"},
                "needs two rows or more, of at most model_dim features");
  check.exclude(model.residual_scaling != ResidualScaling::kNone && model.x0_lambdas,
                {"/model/residual_scaling", "/model/x0_lambdas"},
                "both blend the input of each layer with the embedding; set x0_lambdas to false");
}

void check_unread_rows(const ConfigChecker& check, const ModelConfig& model) {
  check.exclude(model.unread_rows && unread_numbers(model) == 0,
                {"/model/unread_rows", "/model/mudd/hidden", "/model/generated_gates/hidden"},
                "there is nothing that could have rows left over; set unread_rows to false");
}

void check_late_attention(const ConfigChecker& check, const ModelConfig& model) {
  for (const std::int64_t layer : model.key_offset_layers) {
    check.require(layer < model.num_layers && model.has_attention(layer),
                  {"/model/key_offset_layers", "/model/num_layers", "/model/attention_skip_layers"},
                  "layer " + late_text(layer) + " has no attention");
  }
  for (const std::int64_t layer : model.paired_head_layers) {
    check.require(layer < model.num_layers && model.has_attention(layer),
                  {"/model/paired_head_layers", "/model/num_layers", "/model/attention_skip_layers"},
                  "layer " + late_text(layer) + " has no attention");
    check.exclude(
        std::find(model.key_offset_layers.begin(), model.key_offset_layers.end(), layer) !=
            model.key_offset_layers.end(),
        {"/model/paired_head_layers", "/model/key_offset_layers"},
        "layer " + late_text(layer) + " is in both; keys of paired heads have no key of their own before them");
  }
  check.exclude(
      !model.paired_head_layers.empty() && (model.num_heads % 2 != 0 || model.num_kv_heads != model.num_heads),
      {"/model/paired_head_layers", "/model/num_heads", "/model/num_kv_heads"},
      "paired heads need an even number of heads, and as many of keys and values");
  for (const std::int64_t layer : model.xsa_layers) {
    const std::vector<std::int64_t>& paired = model.paired_head_layers;
    check.require(
        layer < model.num_layers && model.has_attention(layer) &&
            std::find(paired.begin(), paired.end(), layer) == paired.end(),
        {"/model/xsa_layers", "/model/num_layers", "/model/attention_skip_layers", "/model/paired_head_layers"},
        "layer " + late_text(layer) + " has no attention, or paired heads");
  }
  check.exclude(!model.xsa_layers.empty() && model.num_kv_heads != model.num_heads,
                {"/model/xsa_layers", "/model/num_kv_heads", "/model/num_heads"},
                "each head needs values of its own; set num_kv_heads to num_heads");
  const ValueEmbeddingConfig& values = model.value_embeddings;
  check.require(
      values.mix != ValueMix::kGate || values.gate_dim <= model.model_dim,
      {"/model/value_embeddings/gate_dim", "/model/model_dim"},
      "the gates read " + late_text(values.gate_dim) + " features, but model_dim is " + late_text(model.model_dim));
  check.require(
      !model.skip.to || model.skip.gate == LateSkipGate::kNone || model.skip.gate_dim <= model.model_dim,
      {"/model/skip/gate_dim", "/model/model_dim"},
      "the gate reads " + late_text(model.skip.gate_dim) + " features, but model_dim is " + late_text(model.model_dim));
  const bool scales = model.attention_weight_lambdas != AttentionWeightLambdas::kNone;
  check.exclude(scales && (values.mix == ValueMix::kPair || values.mix == ValueMix::kLerp),
                {"/model/attention_weight_lambdas", "/model/value_embeddings/mix"},
                "both would use the learned numbers of a layer; set the mix to \"add\" or \"none\"");
  check.exclude(scales && model.bias, {"/model/attention_weight_lambdas", "/model/bias"},
                "scaled projections have no bias");
  const bool adds = values.mix == ValueMix::kAdd || values.mix == ValueMix::kGate;
  check.exclude(adds && values.source != ValueSource::kTokens,
                {"/model/value_embeddings/mix", "/model/value_embeddings/source"},
                "\"add\" and \"gate\" add the rows of value tables; set the source to \"tokens\"");
}

/// What generated gates make is what the model reads, once each and not too late.
void check_generated_gates(const ConfigChecker& check, const ModelConfig& model) {
  const GeneratedGatesConfig& gates = model.generated_gates;
  const char* const sets = "/model/generated_gates/sets";
  std::set<std::int64_t> injected, without_own_values;
  bool has_skip = false;
  for (const GateSetConfig& set : gates.sets) {
    for (const auto* layers : {&set.xsa_layers, &set.attention_gate_layers, &set.inject_layers, &set.dc_layers}) {
      for (const std::int64_t layer : *layers) {
        check.require(layer < model.num_layers && model.has_attention(layer) && layer >= set.at.value_or(0),
                      {sets, "/model/num_layers", "/model/attention_skip_layers"},
                      "layer " + late_text(layer) + " has no attention, or comes before the set that it reads");
      }
    }
    injected.insert(set.inject_layers.begin(), set.inject_layers.end());
    without_own_values.insert(set.xsa_layers.begin(), set.xsa_layers.end());
    check.require(!set.at || set.inject_layers.empty() || injected.size() > set.inject_layers.size(), {sets},
                  "what the first layer adds must come from a set that reads the embedding");
    has_skip = has_skip || (set.has_skip && set.at.value_or(0) <= model.skip.to.value_or(-1));
    const bool has_paired = std::any_of(set.dc_layers.begin(), set.dc_layers.end(), [&](std::int64_t layer) {
      const std::vector<std::int64_t>& paired = model.paired_head_layers;
      return std::find(paired.begin(), paired.end(), layer) != paired.end();
    });
    check.exclude(has_paired, {sets, "/model/paired_head_layers"}, "paired heads are not composed");
  }
  const bool is_on = gates.hidden > 0;
  check.require(is_on != gates.sets.empty(), {sets, "/model/generated_gates/hidden"},
                "MLPs and what they make belong together; set both or neither");
  const std::set<std::int64_t> xsa(model.xsa_layers.begin(), model.xsa_layers.end());
  check.require(without_own_values.empty() || without_own_values == xsa, {sets, "/model/xsa_layers"},
                "they must make the factors of all of xsa_layers, or of none");
  check.require((model.skip.gate == LateSkipGate::kGenerated) == has_skip, {"/model/skip/gate", sets, "/model/skip/to"},
                "a generated gate needs a set with has_skip at or before the skip, and the other way round");
  const bool is_injected = model.x0_injection == EmbeddingInjection::kGenerated;
  for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
    const bool needs =
        is_injected && model.has_attention(layer) && !(model.mudd.hidden > 0 && model.mudd.layer == layer);
    check.require(needs == (injected.count(layer) > 0), {sets, "/model/x0_injection", "/model/mudd/layer"},
                  "layer " + late_text(layer) + (needs ? " needs" : " has no use for") +
                      " weights of the embedding: all layers with attention but mudd/layer do if x0_injection is "
                      "\"generated\"");
  }
  check.exclude(is_on && model.num_kv_heads != model.num_heads, {sets, "/model/num_kv_heads", "/model/num_heads"},
                "numbers of each head need as many heads of keys and values");
}

void check_mudd(const ConfigChecker& check, const ModelConfig& model) {
  const MuddConfig& mudd = model.mudd;
  if (mudd.hidden == 0) return;
  const bool is_inside = mudd.layer < model.num_layers && model.has_attention(mudd.layer) && model.has_mlp(mudd.layer);
  for (const auto& [source, pointer] : {std::pair(mudd.cached_layer, "/model/mudd/cached_layer"),
                                        std::pair(mudd.skip_layer, "/model/mudd/skip_layer")}) {
    check.require(
        is_inside && source < mudd.layer && model.has_layer(source),
        {pointer, "/model/mudd/layer", "/model/num_layers", "/model/attention_skip_layers", "/model/mlp_skip_layers"},
        "must be a layer before mudd/layer, which has attention and MLP");
  }
  const std::vector<std::optional<std::int64_t>>& tables = model.value_embeddings.layer_map;
  bool has_table = false;
  for (std::int64_t layer = 0; layer < model.num_layers; ++layer)
    has_table =
        has_table || (tables[static_cast<std::size_t>(layer)] == mudd.value_table && model.has_attention(layer));
  const bool adds = model.value_embeddings.mix == ValueMix::kAdd || model.value_embeddings.mix == ValueMix::kGate;
  check.require(
      has_table && adds && tables[static_cast<std::size_t>(mudd.layer)].has_value() && model.num_heads % 2 == 0 &&
          model.num_kv_heads == model.num_heads,
      {"/model/mudd/value_table", "/model/value_embeddings/layer_map", "/model/value_embeddings/mix",
       "/model/num_heads", "/model/num_kv_heads"},
      "needs a value table for mudd/layer, a layer with mudd/value_table, the mix \"add\" or \"gate\", and an "
      "even number of heads, as many of keys and values");
}

void check_window_stages(const ConfigChecker& check, const TrainConfig& config) {
  const WindowConfig& window = config.attention.window;
  const std::vector<WindowStage>& stages = window.schedule.stages;
  const bool has_stages = window.schedule.type == WindowScheduleType::kStages;
  check.exclude(!window.short_layers.empty() && !has_stages,
                {"/attention/window/short_layers", "/attention/window/schedule/type"},
                "short windows are those of stages; set the type to \"stages\"");
  for (const std::int64_t layer : window.short_layers) {
    check.require(layer < config.model.num_layers, {"/attention/window/short_layers", "/model/num_layers"},
                  "layer " + late_text(layer) + " does not exist");
  }
  if (!has_stages) return;
  check.exclude(!window.half_layers.empty(), {"/attention/window/half_layers", "/attention/window/schedule/type"},
                "stages have short windows of their own; name the layers in short_layers");
  check.require(!stages.empty() && stages.front().from == 0, {"/attention/window/schedule/stages"},
                "the first stage must begin at step 0");
  for (std::size_t i = 0; i < stages.size(); ++i) {
    check.require(i == 0 || stages[i - 1].from < stages[i].from, {"/attention/window/schedule/stages"},
                  "stage " + late_text(static_cast<std::int64_t>(i)) + " must begin after the one before it");
    for (const std::int64_t tokens : {stages[i].long_tokens, stages[i].short_tokens}) {
      check.require(tokens % config.attention.block_size == 0,
                    {"/attention/window/schedule/stages", "/attention/block_size"},
                    "windows must be multiples of block_size " + late_text(config.attention.block_size) + ", got " +
                        late_text(tokens));
    }
  }
}

/// Settings of a group or family that uses Muon.
void check_muon(const ConfigChecker& check, const OptimizerGroupConfig& group, const std::string& pointer) {
  if (group.type != OptimizerType::kMuon) return;
  const auto place = [&](const char* field) { return pointer + "/" + field; };
  const std::string beta2 = place("second_moment_beta2"), steps = place("ns_steps"), form = place("orthogonalizer"),
                    blockwise = place("blockwise"), shape = place("shape_of"), decay = place("cautious_decay");
  check.exclude(group.second_moment_beta2.value_or(0.0) >= 1.0, {beta2.c_str()}, "must be below 1");
  check.require(group.orthogonalizer != Orthogonalizer::kPolarExpress || group.ns_steps <= kPolarExpressSteps,
                {steps.c_str(), form.c_str()},
                "Polar Express has coefficients for " + late_text(kPolarExpressSteps) + " iterations");
  check.exclude(group.shape_of == ShapeSource::kStored && !group.blockwise, {shape.c_str(), blockwise.c_str()},
                "it chooses between matrix and parameter where matrices are taken one by one; set blockwise to true");
  const std::string axis = place("mean_axis");
  check.exclude(group.mean_axis == MeanAxis::kRow && !group.blockwise, {axis.c_str(), blockwise.c_str()},
                "it belongs to second moments of single matrices; set blockwise to true");
  check.exclude(group.cautious_decay != 0.0 && !group.blockwise, {decay.c_str(), blockwise.c_str()},
                "Muon's decay takes matrices one by one; set blockwise to true");
}

/// Muon is for matrices of the blocks alone.
void check_muon_parameters(const ConfigChecker& check, const TrainConfig& config) {
  const OptimizerConfig& optimizer = config.optimizer;
  const auto is_muon = [](const OptimizerGroupConfig& group) { return group.type == OptimizerType::kMuon; };
  const bool has_any = is_muon(optimizer.embeddings) || is_muon(optimizer.lm_head) || is_muon(optimizer.scalars) ||
                       std::any_of(optimizer.families.begin(), optimizer.families.end(),
                                   [&](const auto& family) { return is_muon(family.second); });
  if (!has_any) return;  // as nearly always, and the list takes long
  for (const ParameterShape& parameter : parameter_list(config)) {
    const bool has_muon = is_muon(settings_of(optimizer, parameter.group, parameter.name));
    const std::string pointer = "/optimizer/families/" + family_of(parameter.name) + "/type";
    check.require(!has_muon || parameter.group == ParameterGroup::kHiddenMatrices, {pointer.c_str()},
                  parameter.name + " is no matrix of the blocks, for which alone \"muon\" is defined");
  }
}

void check_families(const ConfigChecker& check, const TrainConfig& config) {
  const OptimizerConfig& optimizer = config.optimizer;
  check_muon_parameters(check, config);
  for (const auto& [name, family] : optimizer.families) {
    check_muon(check, family, "/optimizer/families/" + name);
    check.exclude(
        family.type == OptimizerType::kMuon && config.distributed.processes > 1 && !config.distributed.ragged_groups,
        {"/distributed/ragged_groups", "/optimizer/families"},
        "families are shared out one by one, whatever their number; set it to true");
  }
  const OptimizerGroupConfig& attention =
      settings_of(optimizer, ParameterGroup::kHiddenMatrices, "blocks.0.attn.qkvo_w");
  const bool has_parts = attention.type == OptimizerType::kMuon && attention.query_key_blocks > 1;
  const char* const parts = "/optimizer/hidden_matrices/query_key_blocks";
  check.exclude(
      has_parts && (config.model.merged_qkvo != MergedQkvo::kRows || !attention.blockwise),
      {parts, "/optimizer/families", "/model/merged_qkvo", "/optimizer/hidden_matrices/blockwise"},
      "parts of queries and keys are rows of one parameter; set model/merged_qkvo to \"rows\" and blockwise to "
      "true");
  check.require(!has_parts || config.model.model_dim % attention.query_key_blocks == 0,
                {parts, "/optimizer/families", "/model/model_dim"},
                late_text(config.model.model_dim) + " rows do not divide into " +
                    late_text(attention.query_key_blocks) + " parts");
  check.exclude(has_parts && config.distributed.gradient_sums == GradientSums::kOwners,
                {parts, "/optimizer/families", "/distributed/gradient_sums"},
                "owners have whole parameters; set gradient_sums to \"all_processes\"");
}

/// Stages of weights of targets.
template <class Stage>
void check_weight_stages(const ConfigChecker& check, const std::vector<Stage>& stages, const char* place) {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    check.require(i == 0 ? stages[i].from == 0 : stages[i - 1].from < stages[i].from, {place},
                  "the first stage must begin at step 0, and each after the one before it");
    check.require(stages[i].to > static_cast<double>(stages[i].from), {place},
                  "stage " + late_text(static_cast<std::int64_t>(i)) + " needs an end after its start");
  }
}

void check_loss(const ConfigChecker& check, const TrainConfig& config) {
  const LossConfig& loss = config.loss;
  check_weight_stages(check, loss.multi_token, "/loss/multi_token");
  check_weight_stages(check, loss.prefix, "/loss/prefix");
  for (const TargetStage& stage : loss.multi_token)
    check.require(!stage.start.empty() && stage.start.size() == stage.end.size(), {"/loss/multi_token"},
                  "the stage from step " + late_text(stage.from) + " needs as many weights at its start as at its end");
  const ModelConfig& model = config.model;
  const bool is_late = !loss.multi_token.empty() || !loss.prefix.empty() || model.logit_cap.scale.has_value();
  check.exclude(is_late && config.precision.cross_entropy == LossPrecision::kBfloat16,
                {"/precision/cross_entropy", "/loss/multi_token", "/loss/prefix", "/model/logit_cap/scale"},
                "several targets and this cap have a loss in float32; set cross_entropy to \"float32\"");
  check.exclude(!model.logit_cap.scale && config.precision.cross_entropy == LossPrecision::kBfloat16Sigmoid,
                {"/precision/cross_entropy", "/model/logit_cap/scale"},
                "only the cap with a shift has a rounded sigmoid; set logit_cap's scale, or cross_entropy to "
                "\"float32\"");
  check.exclude(model.logit_cap.scale && model.logit_softcap, {"/model/logit_cap/scale", "/model/logit_softcap"},
                "logits have one cap; set logit_softcap to null");
}

void check_untie(const ConfigChecker& check, const TrainConfig& config) {
  const ModelConfig& model = config.model;
  if (!model.untie_step) return;
  check.exclude(model.tied_head, {"/model/untie_step", "/model/tied_head"},
                "a tied head has no matrix that could be untied; set tied_head to false");
  check.require(model.embedding_rows() == model.padded_vocab_size(),
                {"/model/untie_step", "/model/vocab_pad_embeddings", "/model/vocab_pad_multiple"},
                "the head has the rows of the table: set vocab_pad_embeddings to true or vocab_pad_multiple to 1");
  const OptimizerGroupConfig& head = settings_of(config.optimizer, ParameterGroup::kLmHead, "lm_head.weight");
  const OptimizerGroupConfig& table = settings_of(config.optimizer, ParameterGroup::kEmbeddings, "embed.weight");
  check.require(
      head.step_every == table.step_every,
      {"/model/untie_step", "/optimizer/lm_head/step_every", "/optimizer/embeddings/step_every", "/optimizer/families"},
      "head and table are updated at the same steps while they are one; make step_every equal");
  check.require(*model.untie_step < 0 || (*model.untie_step + 1) % head.step_every == 0,
                {"/model/untie_step", "/optimizer/lm_head/step_every"},
                "must be a step at which the head is updated, every " + late_text(head.step_every) + " steps");
  check.exclude(config.distributed.gradient_sums == GradientSums::kOwners,
                {"/model/untie_step", "/distributed/gradient_sums"},
                "the head needs the whole gradient of the table; set gradient_sums to \"all_processes\"");
}

void check_stages(const ConfigChecker& check, const TrainConfig& config) {
  const DataConfig& data = config.data;
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < data.stages.size(); ++i) {
    const DataStage& stage = data.stages[i];
    check.require(i == 0 ? stage.from == 0 : data.stages[i - 1].from < stage.from, {"/data/stages"},
                  "the first stage must begin at step 0, and each after the one before it");
    check.require(stage.sequence_length % config.attention.block_size == 0, {"/data/stages", "/attention/block_size"},
                  "sequences of " + late_text(stage.sequence_length) +
                      " tokens are not a multiple of attention/block_size " + late_text(config.attention.block_size));
    longest = std::max(longest, stage.sequence_length);
  }
  check.require(data.stages.empty() || longest == data.sequence_length, {"/data/sequence_length", "/data/stages"},
                "must be that of the longest stage, " + late_text(longest));
  check.exclude(!data.stages.empty() && data.loader.alignment != BatchAlignment::kDocuments,
                {"/data/stages", "/data/loader/alignment"},
                "only sequences of whole documents change their length; set the alignment to \"documents\"");
  const LearningRateConfig& rate = config.schedule.learning_rate;
  for (std::size_t i = 0; i < rate.stages.size(); ++i) {
    check.require(i == 0 ? rate.stages[i].from == 0 : rate.stages[i - 1].from < rate.stages[i].from,
                  {"/schedule/learning_rate/stages"},
                  "the first stage must begin at step 0, and each after the one before it");
  }
  check.exclude(!rate.stages.empty() && rate.covers_extension,
                {"/schedule/learning_rate/stages", "/schedule/learning_rate/covers_extension"},
                "with stages the extension has the floor; set covers_extension to false");
}

}  // namespace

void check_late_model(const ConfigChecker& check, const ModelConfig& model) {
  check_stream(check, model);
  check_unread_rows(check, model);
  check_late_attention(check, model);
  check_mudd(check, model);
  check_generated_gates(check, model);
}

void check_late_training(const ConfigChecker& check, const TrainConfig& config) {
  check_window_stages(check, config);
  check_muon(check, config.optimizer.hidden_matrices, "/optimizer/hidden_matrices");
  check_families(check, config);
  check_stages(check, config);
  check_loss(check, config);
  check_untie(check, config);
}

}  // namespace nanobench::core
