#include "core/config/cost_model.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/config/parameter_list.h"
#include "core/config/schedule.h"

namespace nanobench::core {
namespace {

// FLOPs per element, forward and backward.
struct PerElement {
  double forward;
  double backward;
};
constexpr PerElement kRmsNormCost{4, 8};  // square, sum, scale; two products, a sum and two scalings back
constexpr PerElement kLayerNorm{8, 14};   // mean and deviation too; gradients of weight and bias
constexpr PerElement kRotation{3, 3};     // two products and a sum
constexpr PerElement kBlendTwo{3, 6};     // a x + b y; both gradients and both dot products
constexpr PerElement kBlendOne{1, 3};     // a x
constexpr PerElement kLerp{3, 5};         // one dot product of d and y - x
constexpr PerElement kSkip{2, 3};         // x + w y: gradient of y, dot product
constexpr PerElement kResidual{1, 1};     // sum; the branch's gradient is added to the stream's
constexpr PerElement kReluSquaredCost{2, 2};
constexpr PerElement kGelu{5, 10};  // erf counts as one, as the tanh of the other form
constexpr PerElement kGeluTanh{9, 16};
constexpr PerElement kSoftmaxLoss{4, 2};  // of a logit: maximum, difference, exponential, sum
constexpr PerElement kSoftcap{3, 3};
constexpr PerElement kSoftmax{5, 4};  // of a pair: scale, maximum, difference, exponential, sum
constexpr PerElement kSigmoid{4, 3};  // negation, exponential, sum, division; two products and a difference
constexpr PerElement kGate{1, 3};     // x times a gate: gradient of x, dot product
constexpr PerElement kXsa{6, 12};     // two dot products and a difference; their gradients
constexpr double kMaskedPair = 1;     // each way
constexpr double kAdamElement = 13;
constexpr double kWeightDecay = 2;
constexpr double kCautiousDecay = 4;  // comparison of signs, mask, product, difference
constexpr double kQuantize = 2;
constexpr double kSecondMoment = 8;  // of an update: two norms, squares and their mean, two scalings

double as_double(std::int64_t value) {
  return static_cast<double>(value);
}

/// Bytes of a number by its role.
struct ElementSizes {
  double number;    ///< parameters, gradients, optimiser state
  double product;   ///< what matrix products and attention take and give
  double stream;    ///< the residual stream
  double table;     ///< embedding tables and their optimiser
  double head;      ///< what the head's product takes
  double iterated;  ///< matrices in Newton-Schulz

  ElementSizes(const TrainConfig& config, double number_bytes) : number(number_bytes) {
    constexpr double kBfloat16Bytes = 2, kFp8Bytes = 1;
    const PrecisionConfig& precision = config.precision;
    product = precision.activations == ActivationPrecision::kFloat32 ? number : kBfloat16Bytes;
    stream = precision.activations == ActivationPrecision::kBfloat16 ? kBfloat16Bytes : number;
    table = precision.embeddings == StoredPrecision::kBfloat16 ? kBfloat16Bytes : number;
    head = precision.head == ProductPrecision::kFp8 ? kFp8Bytes : product;
    const bool rounds = config.optimizer.hidden_matrices.ns_dtype == NewtonSchulzDtype::kBfloat16;
    iterated = rounds ? kBfloat16Bytes : number;
  }
};

/// Tokens of a step; with stages on average over the run.
double mean_tokens(const TrainConfig& config) {
  const std::int64_t steps = std::max<std::int64_t>(1, config.run.stop_after);
  return as_double(config.data.tokens_until(steps)) / as_double(steps);
}

/// Counts one step, except attention.
class Counter {
 public:
  Counter(const TrainConfig& config, double number_bytes)
      : config_(config),
        model_(config.model),
        size_(config, number_bytes),
        parameters_(parameter_list(config)),
        tokens_(mean_tokens(config)),
        sequences_(as_double(config.data.sequences_per_step)),
        width_(as_double(model_.model_dim)),
        kv_width_(as_double(model_.kv_dim())) {
    for (std::int64_t layer = 0; layer < model_.num_layers; ++layer) {
      if (model_.has_attention(layer)) attention_layers_.push_back(layer);
      layers_ += model_.has_layer(layer) ? 1 : 0;
      mlp_layers_ += model_.has_mlp(layer) ? 1 : 0;
      skips_ += model_.skip_source(layer) ? 1 : 0;
    }
  }

  StepCost count() {
    linear_layers();
    head();
    embeddings();
    norms();
    blends();
    activation();
    gradients();
    optimizers();
    return cost_;
  }

  /// Adds the cost of the masks, over all sequences and layers.
  static void add_attention(StepCost& cost, const TrainConfig& config, const AttentionCounts& counts,
                            std::int64_t steps, double number_bytes) {
    Counter counter(config, number_bytes);
    for (const std::int64_t layer : counter.attention_layers_) {
      const std::vector<std::int64_t>& half = config.attention.window.narrow_layers();
      const bool is_half = std::find(half.begin(), half.end(), layer) != half.end();
      counter.attention(is_half ? counts.half : counts.whole, steps);
    }
    for (const CostPhase phase : {CostPhase::kForward, CostPhase::kBackward})
      cost.at(OpFamily::kAttention, phase) += counter.cost_.at(OpFamily::kAttention, phase);
    cost.visited_blocks += counter.cost_.visited_blocks;
    cost.visible_pairs += counter.cost_.visible_pairs;
  }

 private:
  void add(OpFamily family, CostPhase phase, double flops, double bytes) { cost_.at(family, phase) += {flops, bytes}; }

  /// An element-wise op over `elements` that reads `inputs` and writes `outputs` tensors of that size; backward it
  /// reads its inputs and one gradient, and writes one gradient for each input.
  void element_wise(const PerElement& flops, double elements, double inputs, double bytes_each, double outputs = 1) {
    add(OpFamily::kElementWise, CostPhase::kForward, flops.forward * elements,
        (inputs + outputs) * elements * bytes_each);
    add(OpFamily::kElementWise, CostPhase::kBackward, flops.backward * elements,
        (2 * inputs + outputs) * elements * bytes_each);
  }

  /// y = x W^T (+ b); `out`: numbers in all outputs of one matrix, which reads x once. `is_fp8`: operands are rounded
  /// to 8 bits forward.
  void linear(double in, double out, bool is_fp8 = false) {
    const double bias = model_.bias ? out : 0;
    const double weight = in * out;
    const double x = tokens_ * in, y = tokens_ * out, parameters = sequences_ * (weight + bias);
    const double rounded = is_fp8 ? kQuantize * (x + sequences_ * weight) : 0;
    add(OpFamily::kLinear, CostPhase::kForward, 2 * tokens_ * weight + tokens_ * bias + rounded,
        is_fp8 ? x + parameters + y * size_.product : (x + parameters + y) * size_.product);
    add(OpFamily::kLinear, CostPhase::kBackward, 4 * tokens_ * weight + tokens_ * bias,
        (2 * y + 2 * x + sequences_ * weight) * size_.product + parameters * size_.number);
  }

  bool is_fp8_product(const ParameterShape& parameter) const {
    const PrecisionConfig& precision = config_.precision;
    return (precision.mlp_up == ProductPrecision::kFp8 && parameter.role == ParameterRole::kMlpUp) ||
           (precision.mlp_down == ProductPrecision::kFp8 && parameter.role == ParameterRole::kMlpDown);
  }

  void linear_layers() {
    for (const ParameterShape& parameter : parameters_) {
      if (parameter.group != ParameterGroup::kHiddenMatrices) continue;
      const bool is_qkvo = model_.merged_qkvo != MergedQkvo::kOff && parameter.matrices == 4;
      if (is_qkvo) linear(width_, 3 * width_);
      if (is_qkvo) linear(width_, width_);
      if (!is_qkvo) {
        linear(as_double(parameter.columns()), as_double(parameter.numbers() / parameter.columns()),
               is_fp8_product(parameter));
      }
    }
  }

  void attention(const MaskCounts& counts, std::int64_t steps) {
    const DataConfig& data = config_.data;
    const double sequences = as_double(data.sequences_per_step * steps);
    const double block = as_double(config_.attention.block_size);
    const double length = as_double(data.sequence_length);
    const bool is_dense = config_.attention.implementation == AttentionImplementation::kDense;
    const bool splits = !is_dense && config_.attention.split_full_blocks;
    const double visited =
        is_dense ? sequences * (length / block) * (length / block) : as_double(counts.visited_blocks);
    const double pairs = visited * block * block;
    const double masked = pairs - (splits ? as_double(counts.full_blocks) * block * block : 0);
    const double heads = as_double(model_.num_heads);
    const double per_product = 2 * width_;  // 2 E H
    const double queries = tokens_ * as_double(steps) * width_, keys = tokens_ * as_double(steps) * kv_width_;
    const double sums = tokens_ * as_double(steps) * heads * size_.number;
    add(OpFamily::kAttention, CostPhase::kForward,
        2 * per_product * pairs + heads * (kSoftmax.forward * pairs + kMaskedPair * masked),
        (2 * queries + 2 * keys) * size_.product + sums);
    add(OpFamily::kAttention, CostPhase::kBackward,
        5 * per_product * pairs + heads * (kSoftmax.backward * pairs + kMaskedPair * masked),
        (4 * queries + 4 * keys) * size_.product + sums);
    cost_.visited_blocks += static_cast<std::int64_t>(visited);
    cost_.visible_pairs += counts.visible_pairs;
  }

  void head() {
    const double rows = as_double(model_.padded_vocab_size());
    const double weight = rows * width_, x = tokens_ * width_, logits = tokens_ * rows;
    const double weights = sequences_ * weight;  // each sequence takes them anew
    const double cap = model_.logit_softcap || model_.logit_cap.scale ? 1 : 0;
    const double scale = model_.logit_scale != 1.0 ? 1 : 0;
    const double quantized = config_.precision.head == ProductPrecision::kFp8 ? kQuantize : 0;
    constexpr double kTargetBytes = 8;
    add(OpFamily::kHead, CostPhase::kForward,
        2 * tokens_ * weight + logits * (kSoftmaxLoss.forward + cap * kSoftcap.forward + scale) +
            quantized * (weights + x),
        (x + weights) * size_.head + tokens_ * kTargetBytes);
    add(OpFamily::kHead, CostPhase::kBackward,
        4 * tokens_ * weight + logits * (kSoftmaxLoss.backward + cap * kSoftcap.backward + scale + quantized),
        (x + weights) * size_.head + x * size_.product + weights * size_.number);
  }

  /// One look-up of `columns` numbers for each token in a table of `rows`; the backward pass writes the whole gradient.
  void look_up(double rows, double columns) {
    add(OpFamily::kEmbeddings, CostPhase::kForward, 0, 2 * tokens_ * columns * size_.table);
    add(OpFamily::kEmbeddings, CostPhase::kBackward, tokens_ * columns,
        (2 * tokens_ + sequences_ * rows) * columns * size_.table);
  }

  void embeddings() {
    const double rows = as_double(model_.embedding_rows());
    look_up(rows, width_);
    if (model_.position == PositionEncoding::kLearned) {
      look_up(as_double(model_.rope.max_seq_len), width_);
      add(OpFamily::kEmbeddings, CostPhase::kForward, tokens_ * width_, 3 * tokens_ * width_ * size_.stream);
    }
    const double pair_features = as_double(model_.bigram.dim);
    if (model_.bigram.rows > 0) look_up(as_double(model_.bigram.rows), pair_features);
    if (model_.bigram.sign_rows > 0) element_wise(kBlendOne, tokens_ * pair_features, 1, size_.table);
    const ValueEmbeddingConfig& values = model_.value_embeddings;
    std::set<std::int64_t> used;
    double uses = 0;
    for (const std::int64_t layer : attention_layers_) {
      const std::optional<std::int64_t>& table = values.layer_map[static_cast<std::size_t>(layer)];
      if (!table) continue;
      used.insert(*table);
      ++uses;
    }
    const bool is_joined = values.layout == ValueTableLayout::kJoined;
    const double tables = is_joined ? as_double(values.num_tables) : as_double(static_cast<std::int64_t>(used.size()));
    if (is_joined) {
      look_up(rows, tables * kv_width_);
    } else {
      for (std::size_t i = 0; i < used.size(); ++i) look_up(rows, kv_width_);
    }
    // The gradients of a table that several layers read are summed.
    const double sums = std::max(0.0, uses - as_double(static_cast<std::int64_t>(used.size()))) * tokens_ * kv_width_;
    add(OpFamily::kEmbeddings, CostPhase::kBackward, sums, 3 * sums * size_.table);
  }

  void norms() {
    const double attention_layers = as_double(static_cast<std::int64_t>(attention_layers_.size()));
    const PerElement& norm = model_.norm == NormType::kRms ? kRmsNormCost : kLayerNorm;
    element_wise(norm, (mlp_layers_ + attention_layers + 1) * tokens_ * width_, 1, size_.stream);
    if (model_.embed_norm) element_wise(kRmsNormCost, tokens_ * width_, 1, size_.stream);
    const double heads = attention_layers * tokens_ * (width_ + kv_width_);
    if (model_.qk_norm) element_wise(kRmsNormCost, heads, 1, size_.product);
    if (model_.position != PositionEncoding::kRotary) return;
    element_wise(kRotation, heads, 1, size_.product);
    if (model_.rope.precompute) return;
    const double table =
        tokens_ * as_double(model_.head_dim()) / 2;  // angle, cosine and sine of each position and pair
    add(OpFamily::kElementWise, CostPhase::kForward, 3 * table, 2 * table * size_.number);
  }

  void blends() {
    const double stream = tokens_ * width_;
    if (model_.x0_lambdas) element_wise(kBlendTwo, layers_ * stream, 2, size_.stream);
    if (model_.generated_gates.hidden > 0) generated_gates();
    if (model_.residual_scaling == ResidualScaling::kSublayer) {
      const auto attentions = as_double(static_cast<std::int64_t>(attention_layers_.size()));
      element_wise(kBlendTwo, (mlp_layers_ + attentions) * stream, 2, size_.stream);
      element_wise(kSkip, attentions * stream, 2, size_.stream);
    }
    if (model_.two_lanes.first_layer) second_lane();
    if (model_.mudd.hidden > 0) coefficients();
    for (std::size_t i = 0; i < model_.xsa_layers.size(); ++i) element_wise(kXsa, stream, 2, size_.product);
    if (model_.residual_scaling == ResidualScaling::kBlock) element_wise(kBlendTwo, layers_ * stream, 2, size_.stream);
    if (model_.bigram.rows > 0) element_wise(kSkip, layers_ * tokens_ * as_double(model_.bigram.dim), 2, size_.stream);
    element_wise(kSkip, (skips_ + (model_.skip.to ? 1 : 0)) * stream, 2, size_.stream);
    const auto attention_layers = as_double(static_cast<std::int64_t>(attention_layers_.size()));
    element_wise(kResidual, (mlp_layers_ + attention_layers) * stream, 2, size_.stream);
    for (const std::int64_t layer : attention_layers_) mix_values(layer);
    if (model_.attention_weight_lambdas != AttentionWeightLambdas::kNone) scale_weights();
    if (model_.skip.to && model_.skip.gate == LateSkipGate::kX0) element_wise(kSigmoid, tokens_, 1, size_.stream);
    if (model_.backout_layer) element_wise(kSkip, stream, 2, size_.stream);
    if (model_.smear_gate_dim > 0) {
      element_wise(kSkip, stream, 2, size_.stream);
      element_wise(kSigmoid, tokens_, 1, size_.stream);
    }
    for (const std::int64_t layer : attention_layers_) {
      if (!model_.has_attention_gate(layer)) continue;
      element_wise(kGate, stream, 1, size_.product);
      element_wise(kSigmoid, tokens_ * as_double(model_.num_heads), 1, size_.product);
    }
  }

  /// The activations of their MLPs, whose matrices are linear layers, and what composed heads take: two products and a
  /// softmax over a window, in tiles.
  void generated_gates() {
    const GeneratedGatesConfig& gates = model_.generated_gates;
    element_wise(kGelu, as_double(static_cast<std::int64_t>(gates.sets.size())) * tokens_ * as_double(gates.hidden), 1,
                 size_.stream);
    for (const GateSetConfig& set : gates.sets) {
      const auto gated = as_double(static_cast<std::int64_t>(set.attention_gate_layers.size()));
      element_wise(kGate, gated * tokens_ * width_, 1, size_.product);
      const double pairs =
          as_double(static_cast<std::int64_t>(set.dc_layers.size())) * tokens_ * as_double(model_.dc_attention.window);
      const double heads = as_double(model_.num_heads);
      add(OpFamily::kAttention, CostPhase::kForward, pairs * (4 * width_ + heads * (kSoftmax.forward + 2)),
          4 * tokens_ * width_ * size_.product);
      add(OpFamily::kAttention, CostPhase::kBackward, pairs * (8 * width_ + heads * (kSoftmax.backward + 4)),
          8 * tokens_ * width_ * size_.product);
    }
  }

  /// model.two_lanes: what each sublayer makes is added once more, and the mean of both lanes.
  void second_lane() {
    double sublayers = 0;
    for (std::int64_t layer = *model_.two_lanes.first_layer; layer < model_.num_layers; ++layer)
      sublayers += (model_.has_attention(layer) ? 1 : 0) + (model_.has_mlp(layer) ? 1 : 0);
    element_wise(kBlendTwo, sublayers * tokens_ * width_, 2, size_.stream);
    element_wise(kSkip, tokens_ * width_, 2, size_.stream);
  }

  /// model.mudd: the activations of two MLPs and nineteen products with the stream; their matrices are linear layers.
  void coefficients() {
    constexpr double kSets = 2, kProducts = kMuddLayerOutputs + kMuddHeadOutputs;
    element_wise(kGelu, kSets * tokens_ * as_double(model_.mudd.hidden), 1, size_.stream);
    element_wise(kSkip, kProducts * tokens_ * width_, 2, size_.stream);
  }

  /// attention_weight_lambdas: three matrices or all four, anew for each sequence.
  void scale_weights() {
    const double matrices = model_.attention_weight_lambdas == AttentionWeightLambdas::kQkv ? 3 : 4;
    const auto layers = as_double(static_cast<std::int64_t>(attention_layers_.size()));
    element_wise(kBlendOne, layers * sequences_ * matrices * width_ * width_, 1, size_.product);
  }

  void mix_values(std::int64_t layer) {
    const ValueEmbeddingConfig& values = model_.value_embeddings;
    const bool has_other =
        values.source == ValueSource::kFirstLayer || values.layer_map[static_cast<std::size_t>(layer)].has_value();
    const double elements = tokens_ * kv_width_;
    if (model_.attention_weight_lambdas == AttentionWeightLambdas::kQkv && has_other)
      element_wise(kBlendOne, elements, 1, size_.product);
    if (values.mix == ValueMix::kGate && has_other) {
      element_wise(kGate, elements, 1, size_.product);
      element_wise(kSigmoid, tokens_ * as_double(model_.num_kv_heads), 1, size_.product);
    }
    if ((values.mix == ValueMix::kAdd || values.mix == ValueMix::kGate) && has_other) {
      element_wise(kResidual, elements, 2, size_.product);
    } else if (values.mix == ValueMix::kPair) {
      element_wise(has_other ? kBlendTwo : kBlendOne, elements, has_other ? 2 : 1, size_.product);
    } else if (values.mix == ValueMix::kLerp && has_other) {
      element_wise(kLerp, elements, 2, size_.product);
    }
  }

  void activation() {
    const double elements = mlp_layers_ * as_double(model_.mlp_ratio) * tokens_ * width_;
    switch (model_.activation) {
      case Activation::kReluSquared: element_wise(kReluSquaredCost, elements, 1, size_.product); break;
      case Activation::kGelu: element_wise(kGelu, elements, 1, size_.product); break;
      case Activation::kGeluTanh: element_wise(kGeluTanh, elements, 1, size_.product); break;
    }
  }

  /// Numbers of the parameters that have a second copy for the optimiser.
  double master_numbers() const {
    const ParameterStorage storage = config_.precision.parameters;
    double numbers = 0;
    for (const ParameterShape& parameter : parameters_) {
      if (has_master(storage, parameter.role)) numbers += as_double(parameter.numbers());
    }
    return numbers;
  }

  /// Sums over sequences, clipping, masters: operations on every parameter's gradient or value.
  void gradients() {
    double parameters = 0;
    for (const ParameterShape& parameter : parameters_) parameters += as_double(parameter.numbers());
    const double sums = as_double(config_.data.sequences_per_step - 1) * parameters;
    add(OpFamily::kElementWise, CostPhase::kBackward, sums, 3 * sums * size_.number);
    if (config_.optimizer.gradient_clip.type != GradientClipType::kNone)
      add(OpFamily::kElementWise, CostPhase::kOptimizer, 3 * parameters, 3 * parameters * size_.number);
    const double masters = master_numbers();
    if (masters > 0) add(OpFamily::kElementWise, CostPhase::kOptimizer, 2 * masters, 6 * masters * size_.number);
  }

  void adam(const OptimizerGroupConfig& group, std::int64_t numbers, double bytes_each) {
    const double decay = group.weight_decay != 0.0 ? 1 : 0;
    // Fused: reads p, g, m, v, writes p, m, v. Otherwise seven separate operations, and one more for the decay.
    const double accesses = group.fused && group.cautious_decay == 0.0 ? 7 : 18 + 2 * decay;
    // Each process updates all parameters, or with scattered sums its slice of those that divide evenly.
    const std::int64_t processes = config_.distributed.processes;
    const bool is_shared = config_.distributed.gradient_sums == GradientSums::kOwners && is_sliced(numbers, processes);
    const double updated = as_double((is_shared ? 1 : processes) * numbers);
    // A group that waits for k steps takes one of k updates, and adds its gradient to those before in the others.
    const double updates = updated / as_double(group.step_every),
                 sums = as_double(processes * numbers) * (1 - 1 / as_double(group.step_every));
    const double cautious = group.cautious_decay != 0.0 ? 1 : 0;
    add(OpFamily::kAdam, CostPhase::kOptimizer,
        updates * (kAdamElement + kWeightDecay * decay + kCautiousDecay * cautious) + sums,
        (updates * accesses + 3 * sums) * bytes_each);
  }

  void optimizers() {
    for (const ParameterShape& parameter : parameters_) {
      const OptimizerGroupConfig& group = settings_of(config_.optimizer, parameter.group, parameter.name);
      const bool is_table = parameter.group == ParameterGroup::kEmbeddings;
      if (group.type == OptimizerType::kMuon) {
        muon(group, parameter);
      } else {
        adam(group, parameter.numbers(), is_table ? size_.table : size_.number);
      }
    }
  }

  void muon(const OptimizerGroupConfig& group, const ParameterShape& parameter) {
    const double processes = as_double(config_.distributed.processes);
    const double replicas = config_.distributed.muon == MuonSharding::kReplicated ? processes : 1;
    const double momentum = group.momentum_form == MomentumForm::kLerp ? 3 : 2;
    const double flops =
        momentum * (group.nesterov ? 2 : 1) + (group.scale_application == ScaleApplication::kUpdate ? 1 : 0) +
        (group.second_moment_beta2 ? kSecondMoment : 0) + (group.cautious_decay != 0.0 ? kCautiousDecay : 0);
    const double numbers = as_double(parameter.numbers());
    // Momentum reads gradient and buffer and writes both; every process applies every update, or its owner does.
    const double applied = config_.distributed.gradient_sums == GradientSums::kOwners ? 1 : processes;
    add(OpFamily::kMuon, CostPhase::kOptimizer, (replicas * flops + applied * 2) * numbers,
        (replicas * 4 + applied * 3) * numbers * size_.number);
    const bool has_parts = group.query_key_blocks > 1 && parameter.role == ParameterRole::kMergedAttention;
    if (!has_parts) return orthogonalize(group, parameter, replicas);
    ParameterShape half = parameter;  // queries and keys in parts, then values and output whole
    half.sizes = {parameter.sizes.front() / 2, parameter.sizes.back()};
    for (const std::int64_t matrices : {2 * group.query_key_blocks, std::int64_t{2}}) {
      half.matrices = matrices;
      orthogonalize(group, half, replicas);
    }
  }

  void orthogonalize(const OptimizerGroupConfig& group, const ParameterShape& parameter, double replicas) {
    const std::int64_t rows = parameter.matrix_rows(), columns = parameter.columns();
    const double s = as_double(std::min(rows, columns)), l = as_double(std::max(rows, columns));
    const double count = replicas * as_double(parameter.matrices);
    if (group.orthogonalizer == Orthogonalizer::kSvd) {
      const double factors = 6 * l * s * s + 20 * s * s * s;
      const double product = 2 * l * s * s;
      add(OpFamily::kOrthogonalization, CostPhase::kOptimizer, count * (factors + product),
          count * (4 * l * s + 2 * s * s + s) * size_.number);
      return;
    }
    const double x = s * l, gram = s * s;
    const bool is_grouped = group.ns_form == NewtonSchulzForm::kGrouped;
    // Grouped: A = X X^T, b A + c A A, a X + (...) X. Terms: A, A X, A (A X), and their sum.
    const double products = is_grouped ? 4 * s * x + 2 * s * gram : 6 * s * x;
    const double sums = is_grouped ? 3 * gram + 2 * x : 5 * x;
    const double moved =
        is_grouped ? (x + gram) + 2 * gram + (gram + 2 * x) : (x + gram) + (gram + 2 * x) + (gram + 4 * x);
    const double steps = as_double(group.ns_steps);
    add(OpFamily::kOrthogonalization, CostPhase::kOptimizer, count * (3 * x + steps * (products + sums)),
        count * (2 * x * size_.number + steps * moved * size_.iterated));
  }

  const TrainConfig& config_;
  const ModelConfig& model_;
  ElementSizes size_;
  std::vector<ParameterShape> parameters_;
  double tokens_, sequences_, width_, kv_width_;
  std::vector<std::int64_t> attention_layers_;
  double layers_ = 0, mlp_layers_ = 0, skips_ = 0;
  StepCost cost_;
};

}  // namespace

Cost StepCost::of(OpFamily family) const {
  Cost sum;
  for (const Cost& cost : costs_[index(family)]) sum += cost;
  return sum;
}

Cost StepCost::of(CostPhase phase) const {
  Cost sum;
  for (const auto& phases : costs_) sum += phases[static_cast<std::size_t>(phase)];
  return sum;
}

Cost StepCost::total() const {
  Cost sum;
  for (std::size_t phase = 0; phase < kCostPhases; ++phase) sum += of(static_cast<CostPhase>(phase));
  return sum;
}

StepCost training_cost(const TrainConfig& config, const AttentionCounts& attention, std::int64_t steps,
                       std::int64_t number_bytes) {
  const double bytes = as_double(number_bytes);
  StepCost cost = Counter(config, bytes).count();
  for (std::size_t family = 0; family < kOpFamilies; ++family) {
    for (std::size_t phase = 0; phase < kCostPhases; ++phase) {
      Cost& part = cost.at(static_cast<OpFamily>(family), static_cast<CostPhase>(phase));
      part = {part.flops * as_double(steps), part.bytes * as_double(steps)};
    }
  }
  Counter::add_attention(cost, config, attention, steps, bytes);
  return cost;
}

}  // namespace nanobench::core
