/// The GPT of the speedrun records, as configured by ModelConfig. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/train_config.h"
#include "engine/nn/generated_gates.h"
#include "engine/nn/layers.h"
#include "engine/nn/mlp_products.h"
#include "engine/nn/mudd.h"
#include "engine/nn/parameters.h"
#include "engine/ops/attention.h"
#include "engine/ops/device_head.h"
#include "engine/ops/fused_block.h"
#include "engine/ops/rotary.h"
#include "engine/ops/softcapped_cross_entropy.h"

namespace nanobench::core {

/// One input sequence of the model.
struct SequenceInput {
  at::Tensor tokens;                               ///< [T] int64 or int32
  at::Tensor targets;                              ///< [T] int64: the tokens shifted by one
  std::shared_ptr<const AttentionPlan> plan;       ///< plan of most layers
  std::shared_ptr<const AttentionPlan> half_plan;  ///< plan of the narrow layers; null if there are none
  /// Plans of the sequence of paired heads, twice as long, with the windows of the two above; null if there are none.
  std::shared_ptr<const AttentionPlan> paired_plan, paired_half_plan;
  std::shared_ptr<const AttentionPlan> dc_plan;  ///< plan of model.dc_attention; null without
  /// Weights of the targets of each token in training: the next one, the one after it, ... (loss.multi_token).
  std::vector<double> target_weights = {1.0};
  double prefix_weight = 0.0;  ///< of the prefix of the next token in training (loss.prefix)
  std::int64_t rank = 0;       ///< whose sequence it is, in training
  std::int64_t step = 0;       ///< of training
  /// Plan of attention.window.final_validation_layers in the last validation; null: they have those of the others.
  std::shared_ptr<const AttentionPlan> listed_plan;
};

/// What attention reads besides its inputs, the same for all layers of a pass.
struct AttentionSetting {
  RotaryTables tables;  ///< undefined without rotary positions
  double scale = 1.0;   ///< factor on the products of queries and keys
  // One layer's; each undefined without:
  at::Tensor own_values;            ///< [H] or [T, H]: factors of what leaves along the own values, before their tanh
  at::Tensor attention_gate;        ///< [T, H]: generated gates of heads
  at::Tensor dc_mixture, dc_share;  ///< [T, H]
};

/// Purpose of a forward pass. Its precision may differ (PrecisionConfig::validation; fp8 heads are for training only).
enum class Pass { kTraining, kValidation };

/// Receives named activations during a forward pass: "x0", "blocks.<i>" [T, C], "logits_before_softcap" [T, V].
using ActivationSink = std::function<void(const std::string& name, const at::Tensor& activation)>;

/// One block's attention: norm of q and k, rotation, value mixing, attention, output projection.
class CausalSelfAttention {
 public:
  CausalSelfAttention(Parameters& parameters, const TrainConfig& config, std::int64_t layer);

  /// x [T, C] (normalised), value_embedding [T, Hkv * E] or undefined. `first_values` holds layer 0's values once that
  /// layer has run.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& value_embedding, at::Tensor& first_values,
                     const AttentionSetting& setting, const SequenceInput& input, const Rounding& rounding) const;

  struct Fused {
    at::Tensor x;  ///< [T, C] blended residual stream
    at::Tensor y;  ///< [T, H, E] before the output projection
  };
  /// Like forward(), but starts from the residual stream, includes norm and blend, and omits the output projection.
  Fused fused_forward(const BlendInputs& blend, const at::Tensor& value_embedding, at::Tensor& first_values,
                      const AttentionSetting& setting, const SequenceInput& input) const;
  /// [C, H E], without learned factor
  at::Tensor output_weight() const;

 private:
  struct Heads {
    at::Tensor q, k, v;  ///< [T, H, E], [T, Hkv, E], [T, Hkv, E]
  };
  void add_projections(Parameters& parameters, const std::string& prefix);
  Linear joined_qkv() const;
  Heads project(const at::Tensor& x, const Rounding& rounding) const;
  at::Tensor mix_values(const at::Tensor& v, const at::Tensor& value_embedding, at::Tensor& first_values) const;
  at::Tensor normalize(const at::Tensor& heads, const Rounding& rounding) const;
  at::Tensor place(const at::Tensor& heads, const RotaryTables& tables, const Rounding& rounding) const;
  at::Tensor attend(const Heads& heads, const SequenceInput& input, double scale, bool is_bfloat16 = false) const;
  at::Tensor attend_in_pairs(const Heads& heads, const SequenceInput& input, double scale, bool is_bfloat16) const;
  at::Tensor gated_values(const at::Tensor& v, const at::Tensor& x, const at::Tensor& value_embedding,
                          const Rounding& rounding) const;

  const TrainConfig& config_;
  const ModelConfig& model_;
  std::int64_t layer_;
  bool uses_half_window_, is_listed_, offsets_keys_, pairs_heads_, splits_gate_, drops_own_values_;
  Linear c_q_, c_k_, c_v_;  ///< separate projections
  Linear qkv_;              ///< (3, C, C) merged or (3 C, C) stacked; undefined weight otherwise
  at::Tensor qkvo_;         ///< (4, C, C) or (C, 4 C) merged with the output projection; undefined otherwise
  at::Tensor value_gate_;   ///< [Hkv, G]; undefined without gates of values
  at::Tensor gate_;         ///< [H, G]; undefined without attention gate
  at::Tensor lambdas_;      ///< lamb [] or lambdas [2]; undefined without learned mixing or scaling
  Linear c_proj_;
};

class GPT {
 public:
  /// Keeps a reference to `config`, which must outlive it.
  GPT(const TrainConfig& config, at::ScalarType dtype, at::Device device = at::kCPU);
  GPT(const GPT&) = delete;
  GPT& operator=(const GPT&) = delete;

  /// Mean cross-entropy of one sequence in nats; scalar of the model's dtype, differentiable.
  at::Tensor loss(const SequenceInput& input, Pass pass = Pass::kTraining, const ActivationSink& sink = {}) const;

  struct Losses {
    at::Tensor mean;    ///< what loss() returns, bit for bit
    at::Tensor tokens;  ///< [T] nats: of each target token
  };
  /// loss(), and the losses that it is the mean of but for rounding, from one pass through the blocks. With several
  /// targets a token (loss.multi_token, loss.prefix; in training only) those of the next token alone, whatever the
  /// weights. `tokens` is of the model's dtype, or float32 from a GPU's kernels, and not differentiable.
  Losses losses(const SequenceInput& input, Pass pass = Pass::kValidation) const;

  /// Sets rotary frequencies and attention scale to those after these windows (core/config/schedule.h, window_history).
  /// Needed only if window_changes_attention(model).
  void follow_windows(const std::vector<std::int64_t>& windows);

  /// Sets the table of loss.prefix: for each token the longest one that its bytes begin with, or -1. Throws
  /// Error{kInvalidArgument} naming `source` for more tokens than the vocabulary has.
  void set_prefixes(const std::vector<std::int32_t>& prefixes, const std::string& source);
  /// Whether any token has a prefix.
  bool has_prefixes() const;

  /// Forgets what earlier training passes have left for later ones (precision.mlp_down).
  void forget_passes() {
    if (mlp_products_) mlp_products_->reset();
  }
  /// These, by name, for a run that is continued from here; empty for most models.
  std::map<std::string, at::Tensor> pass_state() const;
  /// Throws Error{kInvalidArgument} for the state of another model.
  void restore_passes(const std::map<std::string, at::Tensor>& state);

  /// Whether the blocks of a pass use the fused ops (engine/ops/fused_block.h), on the kernels' threads.
  bool fuses_blocks(Pass pass) const { return fuses_blocks(rounding_of(pass)); }

  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  at::ScalarType dtype() const { return dtype_; }
  at::Device device() const { return parameters_.device(); }

 private:
  struct Block {
    bool exists = false;  ///< not one of skip_layers
    std::optional<CausalSelfAttention> attention;
    at::Tensor lambdas;  ///< [2]; undefined without x0_lambdas
    Norm attention_norm, mlp_norm;
    Linear c_fc, c_proj;  ///< undefined weights without MLP
  };

  void add_tables();
  void add_block(std::int64_t layer);
  void add_head();
  Norm add_norm(const std::string& name);
  RotaryTables tables_for(std::int64_t length) const;
  AttentionSetting attention_setting(std::int64_t length) const;
  Rounding rounding_of(Pass pass) const;
  /// Table rows for a sequence's tokens; undefined: not looked up yet.
  struct TokenRows {
    at::Tensor embed;                ///< [T, C]
    std::vector<at::Tensor> values;  ///< by value table [T, Hkv * E]
  };
  TokenRows device_rows(const at::Tensor& tokens, const Rounding& rounding) const;
  at::Tensor embed(const at::Tensor& tokens, const TokenRows& rows, const Rounding& rounding) const;
  std::vector<at::Tensor> value_embeddings(const at::Tensor& tokens, const TokenRows& rows,
                                           const Rounding& rounding) const;
  /// Values passed from block to block.
  struct Stream {
    at::Tensor x0;
    GeneratedNumbers generated;
    at::Tensor entry;    ///< c0: the stream that enters the first layer
    at::Tensor lane;     ///< the second lane, once it has begun (model.two_lanes)
    at::Tensor middle;   ///< the stream between attention and MLP of the layer that a skip taps there
    at::Tensor entered;  ///< the stream that entered the layer of model.mudd
    at::Tensor pairs;    ///< [T, C] rows of the pairs of tokens, filled with zeros; undefined without
    at::Tensor first_values;
    std::vector<at::Tensor> values;   ///< value embeddings, by layer
    std::vector<at::Tensor> outputs;  ///< of each layer so far; kept where a later one reads them
    at::Tensor skip_weights;          ///< the factors of the U-net skips
    AttentionSetting setting;
  };
  at::Tensor sublayer_block(std::size_t layer, at::Tensor x, Stream& stream, const SequenceInput& input,
                            const Rounding& rounding) const;
  at::Tensor post_weight(std::int64_t layer, std::int64_t sublayer, std::int64_t lane) const;
  at::Tensor after_attention(std::int64_t layer, const at::Tensor& x, const at::Tensor& y, Stream& stream) const;
  at::Tensor late_attention(std::size_t layer, const at::Tensor& x, const at::Tensor& values, Stream& stream,
                            const SequenceInput& input, const Rounding& rounding) const;
  at::Tensor coefficient_block(std::size_t layer, at::Tensor x, Stream& stream, const SequenceInput& input,
                               const Rounding& rounding) const;
  AttentionSetting layer_setting(std::int64_t layer, const Stream& stream) const;
  at::Tensor injection(std::int64_t layer, const Stream& stream) const;
  at::Tensor coefficient_sum(const at::Tensor& x, const Stream& stream) const;
  at::Tensor enter(const at::Tensor& x, Stream& stream) const;
  at::Tensor pair_rows(const at::Tensor& tokens, const Rounding& rounding) const;
  void keep_output(std::size_t layer, const at::Tensor& x, Stream& stream) const;
  at::Tensor back_out(const at::Tensor& x, const Stream& stream, bool fuses) const;
  bool fuses_blocks(const Rounding& rounding) const;
  BlendInputs blend_inputs(std::size_t layer, const at::Tensor& x, Stream& stream) const;
  at::Tensor fused_block(std::size_t layer, const at::Tensor& x, Stream& stream, const SequenceInput& input) const;
  at::Tensor begin_block(std::size_t layer, const at::Tensor& x, const Stream& stream) const;
  at::Tensor block_by_ops(std::size_t layer, at::Tensor x, Stream& stream, const SequenceInput& input,
                          const Rounding& rounding) const;
  at::Tensor up_weight(const Block& block) const;
  at::Tensor down_weight(const Block& block) const;
  at::Tensor mlp(std::size_t layer, const at::Tensor& x, const Rounding& rounding) const;
  at::Tensor features(const SequenceInput& input, const Rounding& rounding, const ActivationSink& sink = {}) const;
  struct Head {
    HeadOptions options;
    std::optional<DeviceHeadOptions> device;  ///< where a GPU's kernel computes it
    at::Tensor features, weight;              ///< operands of the product
  };
  Head head(const at::Tensor& x, const SequenceInput& input, Pass pass, const Rounding& rounding) const;
  at::Tensor mean_loss(const Head& head, const at::Tensor& targets) const;
  std::int64_t table_positions() const;

  const TrainConfig& config_;
  std::unique_ptr<MlpProducts> mlp_products_;  ///< null without 8-bit products
  at::ScalarType dtype_;
  Parameters parameters_;
  at::Tensor embed_, position_embed_, lm_head_, skip_weights_;
  at::Tensor smear_gate_, smear_lambda_;      ///< [1, G], []; undefined without smear gate
  at::Tensor backout_lambda_;                 ///< []; undefined without backout
  at::Tensor bigram_embed_, bigram_lambdas_;  ///< [rows, dim], [L]; undefined without model.bigram
  at::Tensor bigram_signs_;                   ///< [sign_rows, dim]; undefined without
  at::Tensor prefix_table_;                   ///< [V] int64; undefined without loss.prefix
  at::Tensor post_lambdas_;                   ///< [L, 2] or [L, 2, lanes]; undefined without sublayer scaling
  at::Tensor xsa_alphas_;                     ///< [L, H]; undefined without model.xsa_layers
  std::optional<GeneratedGates> generated_gates_;
  Coefficients mudd_layer_, mudd_head_;    ///< of model.mudd
  at::Tensor skip_gate_;                   ///< [1, G]; undefined without its gate
  at::Tensor skip_lambda_;                 ///< []; undefined without model.skip
  at::Tensor unread_;                      ///< [unread_numbers]; undefined without model.unread_rows
  at::Tensor resid_lambdas_, x0_lambdas_;  ///< [L] or [L, 2], and [L]; undefined without residual_scaling
  std::vector<std::int64_t> windows_;      ///< of follow_windows
  Norm final_norm_;
  std::vector<at::Tensor> value_tables_;  ///< one matrix with ValueTableLayout::kJoined
  std::vector<Block> blocks_;
  std::int64_t first_layer_ = 0;        ///< the first that is not left out
  std::optional<RotaryTables> tables_;  ///< with rope.precompute
};

}  // namespace nanobench::core
