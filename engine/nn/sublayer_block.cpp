// The blocks of records #73 on: a factor before each of two additions, and coefficients of each token (GPT).
#include "engine/nn/gpt.h"

namespace nanobench::core {

/// What follows the first addition of a pair's row, before the first layer.
at::Tensor GPT::enter(const at::Tensor& x, Stream& stream) const {
  stream.entry = x;
  if (generated_gates_) generated_gates_->make(std::nullopt, stream.x0, stream.generated);
  const EmbeddingInjection form = config_.model.x0_injection;
  if (form == EmbeddingInjection::kBlockStart || !stream.pairs.defined()) return x;
  const bool is_generated = form == EmbeddingInjection::kGenerated;
  stream.entry =
      x + (is_generated ? stream.generated.pair_weight.at(first_layer_) : bigram_lambdas_[first_layer_]) * stream.pairs;
  if (config_.model.bigram.x0_included) stream.x0 = stream.entry;
  return stream.entry;
}

/// What is added after the attention of a layer.
at::Tensor GPT::injection(std::int64_t layer, const Stream& stream) const {
  const bool is_generated = config_.model.x0_injection == EmbeddingInjection::kGenerated;
  const GeneratedNumbers& numbers = stream.generated;
  const at::Tensor embedding = (is_generated ? numbers.x0_weight.at(layer) : x0_lambdas_[layer]) * stream.x0;
  if (!stream.pairs.defined() || layer == first_layer_) return embedding;
  return embedding + (is_generated ? numbers.pair_weight.at(layer) : bigram_lambdas_[layer]) * stream.pairs;
}

/// The setting of a pass with what one layer has for itself.
AttentionSetting GPT::layer_setting(std::int64_t layer, const Stream& stream) const {
  AttentionSetting setting = stream.setting;
  const auto of_layer = [layer](const std::map<std::int64_t, at::Tensor>& numbers) {
    const auto found = numbers.find(layer);
    return found == numbers.end() ? at::Tensor() : found->second;
  };
  setting.own_values = xsa_alphas_.defined() ? xsa_alphas_[layer] : of_layer(stream.generated.own_values);
  setting.attention_gate = of_layer(stream.generated.attention_gate);
  setting.dc_mixture = of_layer(stream.generated.dc_mixture);
  setting.dc_share = of_layer(stream.generated.dc_share);
  return setting;
}

/// Attention of the stream x, or from late_attention_input.first_layer on of an earlier output.
at::Tensor GPT::late_attention(std::size_t layer, const at::Tensor& x, const at::Tensor& values, Stream& stream,
                               const SequenceInput& input, const Rounding& rounding) const {
  const LateAttentionConfig& late = config_.model.late_attention_input;
  const bool is_late = late.first_layer && static_cast<std::int64_t>(layer) >= *late.first_layer;
  const at::Tensor& read = is_late ? stream.outputs[static_cast<std::size_t>(late.source_layer)] : x;
  const Block& block = blocks_[layer];
  return block.attention->forward(rounding.in_stream(block.attention_norm(read)), values, stream.first_values,
                                  layer_setting(static_cast<std::int64_t>(layer), stream), input, rounding);
}

/// The learned number by which what a sublayer (0: attention, 1: MLP) makes is added to a lane.
at::Tensor GPT::post_weight(std::int64_t layer, std::int64_t sublayer, std::int64_t lane) const {
  const at::Tensor weight = post_lambdas_[layer][sublayer];
  return config_.model.two_lanes.first_layer ? weight[lane] : weight;
}

/// The stream after attention with the output y; the second lane too.
at::Tensor GPT::after_attention(std::int64_t layer, const at::Tensor& x, const at::Tensor& y, Stream& stream) const {
  const TwoLanesConfig& lanes = config_.model.two_lanes;
  const at::Tensor kept = resid_lambdas_[layer][0], embedding = injection(layer, stream);
  const bool joins_output = lanes.first_layer && lanes.injection == LaneInjection::kAttentionOutput;
  const at::Tensor made = joins_output ? y + embedding : y;
  const bool is_weighted = joins_output || !lanes.first_layer || stream.lane.defined();
  const at::Tensor added = is_weighted ? post_weight(layer, 0, 0) * made : made;
  if (stream.lane.defined()) stream.lane = kept * stream.lane + post_weight(layer, 0, 1) * made;
  const at::Tensor sum = kept * x + added;
  return joins_output ? sum : sum + embedding;
}

at::Tensor GPT::sublayer_block(std::size_t layer, at::Tensor x, Stream& stream, const SequenceInput& input,
                               const Rounding& rounding) const {
  const ModelConfig& model = config_.model;
  const auto index = static_cast<std::int64_t>(layer);
  if (generated_gates_) generated_gates_->make(index, x, stream.generated);
  if (mudd_layer_.defined() && model.mudd.layer == index) return coefficient_block(layer, x, stream, input, rounding);
  const Block& block = blocks_[layer];
  x = rounding.in_stream(begin_block(layer, x, stream));
  if (model.two_lanes.first_layer == index) stream.lane = x;
  if (block.attention) {
    const at::Tensor y = late_attention(layer, x, stream.values[layer], stream, input, rounding);
    x = rounding.in_stream(after_attention(index, x, y, stream));
    if (stream.lane.defined()) stream.lane = rounding.in_stream(stream.lane);
  }
  if (model.skip.to && model.skip.from == index) stream.middle = x;
  if (!block.c_fc.weight.defined()) return x;
  const at::Tensor& read = stream.lane.defined() ? stream.lane : x;
  const at::Tensor y = mlp(layer, rounding.in_stream(block.mlp_norm(read)), rounding);
  const at::Tensor kept = resid_lambdas_[index][1], added = post_weight(index, 1, 0) * y;
  if (stream.lane.defined()) stream.lane = rounding.in_stream(kept * stream.lane + post_weight(index, 1, 1) * y);
  return rounding.in_stream(kept * x + added);
}

/// The layer of model.mudd: m(x) makes the value addition, the recombination of the stream, and all factors.
at::Tensor GPT::coefficient_block(std::size_t layer, at::Tensor x, Stream& stream, const SequenceInput& input,
                                  const Rounding& rounding) const {
  const ModelConfig& model = config_.model;
  const Block& block = blocks_[layer];
  stream.entered = x;
  const std::vector<at::Tensor> m = mudd_layer_(x).unsqueeze(-1).unbind(1);  // each [T, 1]
  const at::Tensor& cached = stream.outputs[static_cast<std::size_t>(model.mudd.cached_layer)];
  const at::Tensor& row = stream.values[layer];
  const std::int64_t half = row.size(1) / 2;
  const at::Tensor scaled = at::cat({m[6] * row.narrow(1, 0, half), m[7] * row.narrow(1, half, half)}, 1);
  const at::Tensor values = scaled + m[0] * stream.entry + m[1] * cached + m[2] * x;
  const at::Tensor y = late_attention(layer, x, values, stream, input, rounding);
  x = (1.0 + m[5]) * x + m[3] * stream.entry + m[4] * cached;
  x = m[8] * x + m[9] * y + m[10] * stream.entry;
  if (stream.pairs.defined()) x = x + m[11] * stream.pairs;
  x = rounding.in_stream(x);
  const at::Tensor hidden = mlp(layer, rounding.in_stream(block.mlp_norm(x)), rounding);
  return rounding.in_stream(m[12] * x + m[13] * hidden);
}

/// The sum before the head.
at::Tensor GPT::coefficient_sum(const at::Tensor& x, const Stream& stream) const {
  const MuddConfig& mudd = config_.model.mudd;
  const std::vector<std::optional<std::int64_t>>& tables = config_.model.value_embeddings.layer_map;
  const std::vector<at::Tensor> m = mudd_head_(x).unsqueeze(-1).unbind(1);
  at::Tensor row;
  for (std::size_t layer = 0; layer < tables.size(); ++layer)
    if (tables[layer] == mudd.value_table && stream.values[layer].defined()) row = stream.values[layer];
  return x + m[0] * stream.entry + m[1] * stream.outputs[static_cast<std::size_t>(mudd.cached_layer)] +
         m[2] * stream.entered + m[3] * row + m[4] * stream.outputs[static_cast<std::size_t>(mudd.skip_layer)];
}

}  // namespace nanobench::core
