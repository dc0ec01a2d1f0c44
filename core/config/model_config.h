/// The settings of the model in a TrainConfig (train_config.h, whose rules hold here too).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/config/setting_enums.h"

namespace nanobench::core {

struct RopeConfig {
  double base = 1024;
  bool half_truncate = true;  ///< E/4 frequencies 1 ... 1/base, then E/4 zeros; false: E/2 frequencies base^(-2j/E)
  bool precompute = true;     ///< tables built once for max_seq_len, or in each forward pass; same numbers
  std::int64_t max_seq_len = 65536;  ///< positions; with learned positions, rows of their table
  /// kYarn (#31 on): each change of the attention window slows the frequencies down (engine/ops/rotary.h).
  RopeWindowScaling window_scaling = RopeWindowScaling::kNone;
  RopePairing pairing = RopePairing::kHalf;  ///< pairs are (j, j + E/2), or (#58 on) (2j, 2j + 1)
};

struct ValueEmbeddingConfig {
  ValueSource source = ValueSource::kTokens;
  std::int64_t num_tables = 3;
  /// Table of each layer, or nullopt; num_layers long.
  std::vector<std::optional<std::int64_t>> layer_map = {
      0, 1, 2, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt, 0, 1, 2};
  ValueMix mix = ValueMix::kPair;
  /// kJoined: the tables are side by side in one matrix of num_tables * Hkv * E columns (records #14, #15); same
  /// numbers.
  ValueTableLayout layout = ValueTableLayout::kSeparate;
  /// kGate (#55 on): v_h + 2 sigmoid((W a)_h) u_h, with a the first gate_dim features of the attention's normalised
  /// input. In split_gate_layers (#70 on) a is half of those, and as many of u.
  std::int64_t gate_dim = 12;
  std::vector<std::int64_t> split_gate_layers;
};

/// One skip connection: x += sigmoid(skip_lambda) c at the start of layer `to`, with c the output of layer `from`
/// (#45 on).
struct SkipConfig {
  std::int64_t from = 0;
  std::optional<std::int64_t> to;  ///< null: there is none
  /// kX0 (#55 on): a second factor, 2 sigmoid of a learned combination of the first gate_dim features of x0.
  LateSkipGate gate = LateSkipGate::kNone;
  std::int64_t gate_dim = 12;
  SkipTap tap = SkipTap::kOutput;  ///< kAfterAttention (#73 to #76): c is the stream between attention and MLP
};

/// Two residual streams from a layer on (#73 to #76): attention reads the first, the MLP the second. What either makes
/// is added to both, each with learned numbers of its own, and the head reads their mean.
struct TwoLanesConfig {
  std::optional<std::int64_t> first_layer;  ///< null: there is one lane
  /// Where x0 and the pair's row are added: kAttentionOutput (#73): to what attention makes, so to both lanes,
  /// weighted; kLane0 (#74 on): to the first lane, and what attention makes then has no weight before first_layer.
  LaneInjection injection = LaneInjection::kAttentionOutput;
};

/// The attention of the last layers reads the norm of an earlier layer's output in place of its own input (#77 on).
struct LateAttentionConfig {
  std::optional<std::int64_t> first_layer;  ///< null: none does
  std::int64_t source_layer = 0;
};

/// Coefficients of each token from a small MLP, in place of the learned numbers of one layer, and of a sum before the
/// head (#81 on); engine/nn/mudd.h has the arithmetic.
struct MuddConfig {
  std::int64_t hidden = 0;  ///< width of the MLPs; 0: there are none
  double scale = 0.1;       ///< factor on their outputs
  std::int64_t layer = 10;
  std::int64_t cached_layer = 7;
  std::int64_t skip_layer = 3;
  std::int64_t value_table = 0;
};

/// Numbers of each token from a small MLP on the stream that enters layer `at`, or on x0 (#85 on): for each of
/// xsa_layers and attention_gate_layers one a head, for each of inject_layers the weights of x0 and of the pair's row,
/// one for the skip, and for each of dc_layers two a head; in this order.
struct GateSetConfig {
  std::optional<std::int64_t> at;  ///< null: x0
  std::vector<std::int64_t> xsa_layers, attention_gate_layers, inject_layers;
  bool has_skip = false;
  std::vector<std::int64_t> dc_layers;

  std::int64_t outputs(std::int64_t num_heads) const;
};

struct GeneratedGatesConfig {
  std::int64_t hidden = 0;  ///< width of the MLPs; 0: there are none
  std::vector<GateSetConfig> sets;
};

/// Heads composed for each token in the dc_layers of generated gates (#85 on): each head gets a share of what the
/// heads' weights, mixed by a factor a head, make of its values within a window.
struct DcAttentionConfig {
  std::int64_t window = 112;  ///< keys t - window + 1 to t
  double eps = 1e-6;          ///< added to the mean square of the factors of the mixture
};

/// Logits are scale sigmoid((z + shift) / divisor) (#54 on).
struct LogitCapConfig {
  std::optional<double> scale;  ///< null: they are not; logit_softcap may act
  double shift = 5.0;
  double divisor = 7.5;
};

/// A table of pairs of tokens, whose rows are added to the stream at the start of each layer, times learned numbers
/// (#62 on). Row of position t: (m0 token[t] XOR m1 token[t - 1]) mod (rows - 1) in 32-bit two's complement, and rows -
/// 1 at position 0. Documents do not matter.
struct BigramConfig {
  std::int64_t rows = 0;   ///< 0: there is none
  std::int64_t dim = 768;  ///< features of a row; the others of the stream get nothing
  std::int64_t token_multiplier = 36313;
  std::int64_t previous_multiplier = 27191;
  /// At position 1, what takes the place of token[0]: rows - 1, as the records' loop in place does, or itself.
  BigramStart previous_of_first = BigramStart::kReserved;
  /// S > 0 (#83 on): a row is multiplied by row (token[t - 1] XOR token[t]) mod S of a table of signs that is not
  /// trained, row 0 at position 0.
  std::int64_t sign_rows = 0;
  /// With EmbeddingInjection::kAfterAttention: from the first addition on, the embedding is the one with the pair's row
  /// wherever it is read (#83, #84).
  bool x0_included = false;
};

/// E = model_dim / num_heads is the head width, L = num_layers.
struct ModelConfig {
  std::int64_t num_layers = 12;
  std::int64_t num_heads = 6;
  std::int64_t num_kv_heads = 6;
  std::int64_t model_dim = 768;
  std::int64_t mlp_ratio = 4;
  std::int64_t vocab_size = 50257;
  std::int64_t vocab_pad_multiple = 128;
  bool vocab_pad_embeddings = false;
  NormType norm = NormType::kRms;  ///< kLayer: LayerNorm with weight and bias (record #1)
  /// kLearned: a table of positions is added to the token embedding (record #1); kNone: no table and no rotation.
  PositionEncoding position = PositionEncoding::kRotary;
  bool bias = false;  ///< a bias in every linear layer of the blocks (record #1)
  Activation activation = Activation::kReluSquared;
  double norm_eps = 0.0078125;  // 2^-7: torch's value for bfloat16 input until PR 142848
  bool qk_norm = true;
  std::optional<double> qk_norm_eps;                                  ///< null: norm_eps
  QkNormPosition qk_norm_position = QkNormPosition::kBeforeRotation;  ///< order does not matter except for rounding
  RopeConfig rope;
  ValueEmbeddingConfig value_embeddings;
  std::vector<std::int64_t> attention_skip_layers = {7};
  std::vector<std::int64_t> mlp_skip_layers;  ///< layers without MLP; attention, lambdas and U-net role stay (#30)
  /// Layers that are left out altogether (#35 on); the others keep their numbers, and a U-net skip whose other end is
  /// left out does not exist.
  std::vector<std::int64_t> skip_layers;
  std::optional<double> logit_softcap = 30.0;
  SoftcapForm logit_softcap_form = SoftcapForm::kTanh;
  LogitCapConfig logit_cap;
  double logit_scale = 1.0;  ///< factor on the logits before the cap (D^-0.5 in #22 to #27)
  bool unet_skips = true;
  SkipConfig skip;
  BigramConfig bigram;  ///< needs residual_scaling
  /// kBlock (#45 on): a layer begins with x = resid_lambdas[i] x + x0_lambdas[i] x0, after its skip.
  /// kSublayer (#73 on): x = r[i, 0] x + p[i, 0] y after attention and x = r[i, 1] x + p[i, 1] y after the MLP, r and p
  /// being resid_lambdas and post_lambdas.
  ResidualScaling residual_scaling = ResidualScaling::kNone;
  /// Where x0 and the pair's row are added: at the start of each layer, or (#73 on) after its attention; then the first
  /// pair's row is added before layer 0 and not in it.
  EmbeddingInjection x0_injection = EmbeddingInjection::kBlockStart;
  TwoLanesConfig two_lanes;  ///< needs kSublayer
  LateAttentionConfig late_attention_input;
  MuddConfig mudd;
  /// What it makes takes the place of learned numbers: xsa_alphas, the gates of heads (without sigmoid), x0_lambdas and
  /// bigram_lambdas (EmbeddingInjection::kGenerated), the skip's gate (LateSkipGate::kGenerated).
  GeneratedGatesConfig generated_gates;
  DcAttentionConfig dc_attention;
  SkipGate unet_skip_gate = SkipGate::kLinear;  ///< x += w skip, or x += sigmoid(w) skip with w = -1.5 at first
  bool x0_lambdas = true;
  bool embed_norm = true;
  bool tied_head = false;
  /// The head and the token table share their weights until the update of this step, at which Adam's state of the head
  /// is copied to the table (#53 on); -1: never, but both start alike; null: nothing of this.
  std::optional<std::int64_t> untie_step;
  bool merged_qkv = false;
  QkvRows qkv_rows = QkvRows::kSeparate;
  /// Projections of queries, keys, values and output as one parameter: (4, C, C), or the same memory as (C, 4 C) or
  /// (4 C, C). Each of the four is orthogonalised alone; NorMuon's statistics follow the stored shape.
  MergedQkvo merged_qkvo = MergedQkvo::kOff;
  /// attn.lambdas multiply weights (#47 on): the first those of queries, keys and values; the second the value
  /// embedding (kQkv), or the weight of the output (kQkvAndOutput, #48 on).
  AttentionWeightLambdas attention_weight_lambdas = AttentionWeightLambdas::kNone;
  /// In these layers (#58 on) queries, keys and values [T, H, E] are read as [2 T, H / 2, E], with the window and the
  /// documents of the longer sequence, so that one of two heads sees the other's keys.
  std::vector<std::int64_t> paired_head_layers;
  /// kHalves: in memory order, so heads h and h + H / 2 are a pair, while positions are 2 t + h mod 2 whatever the row.
  /// kNeighbours: heads 2 p and 2 p + 1 are, and each row has its own position.
  HeadPairing paired_head_order = HeadPairing::kHalves;
  /// In these layers (#82 on) each head's output loses tanh(xsa_alphas[i, h]) of its part along the token's own values.
  std::vector<std::int64_t> xsa_layers;
  /// In these layers keys take some dimensions from the key before them, after norm and rotation (#49 on). The first
  /// keeps its own; documents do not matter.
  std::vector<std::int64_t> key_offset_layers;
  /// kUpperHalf: dimensions from E / 2 on. kQuarters: E / 4 to E / 2 and 3 E / 4 to E, which stand still where pairs
  /// are halves.
  KeyOffsetDims key_offset_dims = KeyOffsetDims::kUpperHalf;
  /// kInPlace: each key is read after the one before it was written, so that all have the first one's numbers there.
  KeyOffsetCopy key_offset_copy = KeyOffsetCopy::kShifted;
  bool mlp_proj_transposed = false;  ///< the second matrix of the MLP is stored as (hidden, C)
  bool mlp_fc_transposed = false;  ///< the first matrix of the MLP is stored as (C, hidden); Muon scales by that shape
  std::int64_t attention_gate_dim = 0;  ///< G > 0: a learned sigmoid gate a head, of the first G normalised features
  std::vector<std::int64_t> attention_gate_skip_layers;  ///< layers without it
  std::int64_t smear_gate_dim = 0;            ///< G > 0: each embedding gets a gated share of the one before it
  std::optional<std::int64_t> backout_layer;  ///< this layer's output, times a learned number, leaves before the head
  /// Rows that nothing reads (#85 on), with gradients of zero: those by which the coefficients of mudd and the numbers
  /// of generated_gates are fewer than in the larger of their sets, and one row of the gates of value embeddings.
  bool unread_rows = false;
  std::optional<double> attention_scale;  ///< null: E^-0.5
  double attention_scale_growth = 0.0;    ///< g: a window change w -> w' multiplies the scale by g ln(w' / w) + 1
  double attention_branch_scale = 1.0;
  std::optional<double>
      linear_init_std;  ///< f: uniform with standard deviation f fan_in^-0.5; null: U(-1, 1) fan_in^-0.5

  std::int64_t head_dim() const { return model_dim / num_heads; }
  std::int64_t kv_dim() const { return num_kv_heads * head_dim(); }
  std::int64_t padded_vocab_size() const;
  std::int64_t embedding_rows() const;  ///< rows of embed and value tables
  bool has_layer(std::int64_t layer) const;
  bool has_attention(std::int64_t layer) const;
  bool has_mlp(std::int64_t layer) const;
  bool has_attention_gate(std::int64_t layer) const;
  bool has_dc_attention() const;  ///< in any layer
  bool generates_xsa() const;
  /// The layer whose output a layer of the second half adds; nullopt: none.
  std::optional<std::int64_t> skip_source(std::int64_t layer) const;
  /// Whether a layer of the blocks or the head reads the output of this layer again.
  bool keeps_output(std::int64_t layer) const;
};

}  // namespace nanobench::core
