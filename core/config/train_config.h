/// Every setting of one training run. Defaults are record #17 at its official size, in float32 throughout.
///
/// A TrainConfig is a plain value. read_train_config reads it from JSON and checks types, ranges and relations between
/// fields; to_json writes it; digest() names it. Two runs with equal digests do the same arithmetic.
///
/// To add a field, add a member here, a line with its meaning in train_config_fields.h, and a relation (if any) in
/// train_config_checks.cpp. Its default must be what engines without the field do, and must never change: digests and
/// run specifications hold only settings that differ from it. A new behaviour is a new value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace nanobench::core {

enum class NormType { kRms, kLayer };
enum class PositionEncoding { kRotary, kLearned, kNone };
enum class Activation { kReluSquared, kGelu, kGeluTanh };
enum class QkNormPosition { kBeforeRotation, kAfterRotation };
enum class ValueTableLayout { kSeparate, kJoined };
enum class ValueSource { kNone, kFirstLayer, kTokens };
enum class ValueMix { kNone, kLerp, kPair, kAdd, kGate };
enum class RopePairing { kHalf, kAdjacent };
enum class HeadPairing { kHalves, kNeighbours };
enum class LateSkipGate { kNone, kX0 };
enum class TargetNormalizer { kExisting, kAll };
enum class QkvRows { kSeparate, kStacked };
enum class MergedQkvo { kOff, kBatched, kWide, kRows };
enum class AttentionWeightLambdas { kNone, kQkv, kQkvAndOutput };
enum class KeyOffsetDims { kUpperHalf, kQuarters };
enum class SkipGate { kLinear, kSigmoid };
enum class RopeWindowScaling { kNone, kYarn };
enum class SoftcapForm { kTanh, kSigmoid };
enum class WindowGranularity { kToken, kTokenBlockClipped, kBlock, kTokenInclusive };
enum class WindowScheduleType { kConstant, kNone, kLinear, kList, kStages };
enum class WindowRounding { kFloor, kCeil };
enum class AttentionImplementation { kTiled, kDense };
enum class KeyBlockOrder { kAscending, kNearestFirst };
enum class AttentionProducts { kWarp, kWarpgroup };
enum class OptimizerType { kAdam, kMuon };
enum class NewtonSchulzForm { kGrouped, kTerms };
enum class NewtonSchulzNorm { kRounded, kExact };
enum class ScaleApplication { kRate, kUpdate };
enum class MuonShape { kBlock, kStored };
enum class MeanAxis { kShape, kRow };
enum class CautiousCondition { kPositive, kNotNegative };
enum class ResidualScaling { kNone, kBlock };
enum class GradientClipType { kNone, kGlobalNorm, kPerParameter };
enum class LearningRateShape { kTrapezoid, kCosine };
enum class MomentumHold { kEnd, kLastWarmupStep };
enum class MomentumForm { kLerp, kAccumulate };
enum class Orthogonalizer { kNewtonSchulz, kSvd, kPolarExpress };
enum class NewtonSchulzRounding { kEachOperation, kFused };
enum class EpsPosition { kCorrected, kUncorrected };
enum class NewtonSchulzDtype { kCompute, kBfloat16 };
enum class UpdateScale { kNone, kSqrtRowsOverColumns, kSqrtLargestSide };
enum class LoaderPosition { kPerRank, kGlobal };  ///< whose position in the token stream (core/data/data_loader.h)
enum class BatchOrder { kSequential, kShuffled };
enum class BatchAlignment { kNone, kBos, kDocuments };  ///< where training sequences begin (core/data/data_loader.h)
enum class ShardStorage { kMapped, kRead, kPinned };
enum class FetchTime { kStepStart, kAfterForward, kAfterBackward };
enum class TokenDtype { kInt64, kInt32 };
enum class GradientReduction { kMean, kMeanOverRanks };
enum class LossReduction { kMean, kSum };
enum class GradientSync { kLastMicroStep, kEveryMicroStep };
enum class ReductionSchedule { kOverlappedBuckets, kBuckets, kPerParameter };
enum class BucketStorage { kViews, kCopies };
enum class MuonSharding { kReplicated, kAllReduce, kAllGather };
enum class MuonGroups { kElements, kShape };
enum class GradientSums { kAllProcesses, kOwners };
enum class GatherTiming { kAsynchronous, kBlocking };
enum class GatherBuffer { kContiguous, kSeparate };
enum class MatrixInit { kZero, kLinear };
enum class TableInit { kByHead, kNormal, kLinear };
enum class InitScheme { kRecords, kGpt2 };
enum class ActivationPrecision { kFloat32, kAutocast, kBfloat16 };
enum class ValidationPrecision { kTraining, kFloat32 };
enum class StoredPrecision { kFloat32, kBfloat16 };
enum class ParameterStorage { kFloat32, kBfloat16Stochastic };
enum class RotaryPrecision { kFloat32, kBfloat16Tables, kBfloat16Frequencies };
enum class HeadPrecision { kActivations, kFp8 };

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
};

/// Logits are scale sigmoid((z + shift) / divisor) (#54 on).
struct LogitCapConfig {
  std::optional<double> scale;  ///< null: they are not; logit_softcap may act
  double shift = 5.0;
  double divisor = 7.5;
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
  /// kBlock (#45 on): a layer begins with x = resid_lambdas[i] x + x0_lambdas[i] x0, after its skip.
  ResidualScaling residual_scaling = ResidualScaling::kNone;
  SkipGate unet_skip_gate = SkipGate::kLinear;  ///< x += w skip, or x += sigmoid(w) skip with w = -1.5 at first
  bool x0_lambdas = true;
  bool embed_norm = true;
  bool tied_head = false;
  /// The head and the token table are one up to the update of this step, at which Adam's state of the head is copied to
  /// the table (#53 on); -1: never, but both start alike; null: nothing of this.
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
  /// In these layers keys take some dimensions from the key before them, after norm and rotation (#49 on). The first
  /// keeps its own; documents do not matter.
  std::vector<std::int64_t> key_offset_layers;
  /// kUpperHalf: dimensions from E / 2 on. kQuarters: E / 4 to E / 2 and 3 E / 4 to E, which stand still where pairs
  /// are halves.
  KeyOffsetDims key_offset_dims = KeyOffsetDims::kUpperHalf;
  bool mlp_proj_transposed = false;  ///< the second matrix of the MLP is stored as (hidden, C)
  bool mlp_fc_transposed = false;  ///< the first matrix of the MLP is stored as (C, hidden); Muon scales by that shape
  std::int64_t attention_gate_dim = 0;  ///< G > 0: a learned sigmoid gate a head, of the first G normalised features
  std::int64_t smear_gate_dim = 0;      ///< G > 0: each embedding gets a gated share of the one before it
  std::optional<std::int64_t> backout_layer;  ///< this layer's output, times a learned number, leaves before the head
  std::optional<double> attention_scale;      ///< null: E^-0.5
  double attention_scale_growth = 0.0;        ///< g: a window change w -> w' multiplies the scale by g ln(w' / w) + 1
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
  /// The layer whose output a layer of the second half adds; nullopt: none.
  std::optional<std::int64_t> skip_source(std::int64_t layer) const;
  /// Whether a layer of the blocks or the head reads the output of this layer again.
  bool keeps_output(std::int64_t layer) const;
};

/// Windows from step `from` on.
struct WindowStage {
  std::int64_t from = 0;
  std::int64_t long_tokens = 384;
  std::int64_t short_tokens = 128;  ///< of attention.window.short_layers
};

struct WindowScheduleConfig {
  WindowScheduleType type = WindowScheduleType::kLinear;
  std::int64_t tokens = 1024;  ///< constant only
  /// linear only: quantum * round((start + (end - start) s / num_steps + offset) / quantum), in exact integer
  /// arithmetic
  std::int64_t start_tokens = 64;
  std::int64_t end_tokens = 1792;
  std::int64_t offset_tokens = 64;
  std::int64_t quantum_tokens = 128;
  WindowRounding rounding = WindowRounding::kFloor;
  /// list only (#29 on): k windows; step s has entry min(k - 1, k s / (num_steps + 1)), rounded down
  std::vector<std::int64_t> tokens_list = {384, 896, 1408};
  std::vector<WindowStage> stages;  ///< stages only (#42 on): ascending, the first from step 0
};

struct WindowConfig {
  WindowGranularity granularity = WindowGranularity::kBlock;
  std::vector<std::int64_t> half_layers;   ///< these layers see max(1, n / 2) blocks when the others see n
  std::vector<std::int64_t> short_layers;  ///< stages only: these layers have the short windows
  WindowScheduleConfig schedule;
  std::optional<std::int64_t> final_validation_tokens;  ///< the window of the last validation; null: as scheduled
  /// In the last validation these layers see final_validation_layers_tokens instead.
  std::vector<std::int64_t> final_validation_layers;
  std::optional<std::int64_t> final_validation_layers_tokens;

  /// The layers whose window is not that of most: half_layers or short_layers.
  const std::vector<std::int64_t>& narrow_layers() const { return short_layers.empty() ? half_layers : short_layers; }
};

struct AttentionConfig {
  bool document_mask = true;
  std::int64_t document_separator = 50256;                                   ///< starts a document
  std::int64_t block_size = 128;                                             ///< tokens
  AttentionImplementation implementation = AttentionImplementation::kTiled;  ///< kDense: T x T products
  bool split_full_blocks = true;  ///< tiled: blocks without a masked pair skip the mask; false: every block is masked
  KeyBlockOrder block_order = KeyBlockOrder::kAscending;  ///< tiled: summation order of a query's key blocks
  WindowConfig window;
};

/// Settings of one parameter group. `type` decides which fields apply (and are written).
struct OptimizerGroupConfig {
  OptimizerType type = OptimizerType::kAdam;
  double lr = 0.0;
  /// Decay (#43 on) of the entries p that their update makes smaller: with r the rate of a step and k Muon's factors on
  /// it, p -= k r^2 cautious_decay p where u p > 0 (k = 1 for Adam, whose u is its update), or for Muon where u p >= 0.
  double cautious_decay = 0.0;
  // adam
  CautiousCondition cautious_condition = CautiousCondition::kPositive;  ///< kNotNegative: u p >= 0 (#50 to #52)
  double beta1 = 0.8;
  double beta2 = 0.95;
  double eps = 1e-8;
  /// eps is added to sqrt(v / (1 - b2^t)), or (#24 on) to sqrt(v) before the correction of the bias.
  EpsPosition eps_position = EpsPosition::kCorrected;
  std::int64_t step_every = 1;  ///< k: updated at steps s with k | s + 1, by the sum of k steps' gradients
  double weight_decay = 0.0;    ///< decoupled (AdamW): p -= lr weight_decay p, before the update
  bool fused = true;            ///< one kernel over the group, or a sequence of tensor operations
  // muon
  bool nesterov = true;
  MomentumForm momentum_form = MomentumForm::kLerp;
  Orthogonalizer orthogonalizer = Orthogonalizer::kNewtonSchulz;
  std::int64_t ns_steps = 5;
  double ns_eps = 1e-7;
  NewtonSchulzDtype ns_dtype = NewtonSchulzDtype::kBfloat16;
  /// kGrouped: (b A + c A A) X; kTerms: b (A X) + c (A (A X)), up to record #10. Both are the same polynomial.
  NewtonSchulzForm ns_form = NewtonSchulzForm::kGrouped;
  /// With ns_dtype bfloat16: the Frobenius norm of the rounded matrix, or (records #3, #4) of the unrounded matrix.
  NewtonSchulzNorm ns_norm = NewtonSchulzNorm::kRounded;
  /// With ns_dtype bfloat16: each product and sum is rounded, or (#27 on) a product together with what is added to it.
  NewtonSchulzRounding ns_rounding = NewtonSchulzRounding::kEachOperation;
  /// NorMuon (#41): decay of the second moments by which updates are normalised (engine/optim/second_moment.h); null:
  /// they are not.
  std::optional<double> second_moment_beta2;
  bool split_qkv = true;  ///< stacked or merged QKV: three matrices, or (record #3) one of 3 D rows
  UpdateScale update_scale = UpdateScale::kSqrtRowsOverColumns;
  double rate_multiplier = 1.0;  ///< factor on the rate beside that of update_scale (#42 on: 2 for some of the MLP)
  /// Each matrix that is orthogonalised has its own norm and second moments, whatever parameter it is part of (#42 on).
  bool blockwise = false;
  /// With blockwise: the shape of the matrix, or of the parameter that holds it, chooses the factor of update_scale and
  /// the dimension over which second moments are means (kStored up to #60).
  MuonShape shape_of = MuonShape::kBlock;
  MeanAxis mean_axis = MeanAxis::kShape;  ///< with blockwise; kRow: means over each row, whatever the shape
  /// kRate: the scale multiplies the rate; kUpdate: the scale multiplies the update, in the dtype of the iterations (#5
  /// to #14).
  ScaleApplication scale_application = ScaleApplication::kRate;
};

/// Clipping of the averaged gradients before the optimisers see them.
struct GradientClipConfig {
  GradientClipType type = GradientClipType::kNone;
  /// kGlobalNorm: all gradients are multiplied by min(1, max_norm / (norm + 1e-6)). kPerParameter: each gradient is
  /// divided by (its own norm + 1e-6).
  double max_norm = 1.0;
};

struct OptimizerConfig {
  OptimizerGroupConfig embeddings{.lr = 0.6};
  OptimizerGroupConfig lm_head{.lr = 0.008};
  OptimizerGroupConfig hidden_matrices{.type = OptimizerType::kMuon, .lr = 0.05};
  OptimizerGroupConfig scalars{.lr = 0.04};
  /// Settings of families of parameters, by name (parameter_list.h, family_of), in place of their group's. JSON holds
  /// only what differs from the group, so a change of the group reaches its families.
  std::map<std::string, OptimizerGroupConfig> families;

  /// The group of a family: by its name, whether or not the model has such parameters.
  const OptimizerGroupConfig& group_of_family(const std::string& family) const;
  GradientClipConfig gradient_clip;
};

/// A factor on all rates from step `from` on.
struct RateStage {
  std::int64_t from = 0;
  double factor = 1.0;
};

struct LearningRateConfig {
  /// kTrapezoid: flat, then linear over cooldown_steps; kCosine: cosine from the end of the warm-up to num_steps
  /// (record #1).
  LearningRateShape shape = LearningRateShape::kTrapezoid;
  std::int64_t warmup_steps = 0;
  double cooldown_steps = 600;    ///< trapezoid only
  double floor = 0.0;             ///< final fraction of the base rate
  bool covers_extension = false;  ///< the schedule ends with the extension, not with num_steps (#41)
  /// Trapezoid only (#46 on): the factor of the last stage that has begun multiplies the rate, but not its floor; and
  /// the extension has exactly the floor. Empty: 1 throughout.
  std::vector<RateStage> stages;
};

struct MomentumConfig {
  double start = 0.85;
  double end = 0.95;
  std::int64_t warmup_steps = 300;
  std::int64_t cooldown_steps = 0;  ///< last steps, over which it returns to `start` (#39 on)
  /// Between warm-up and cooldown: `end`, or (#39, #40) the value of the last step of the warm-up.
  MomentumHold hold = MomentumHold::kEnd;
};

struct ScheduleConfig {
  std::int64_t num_steps = 1490;
  /// Steps that follow num_steps with its last window. The learning rate stays that of step 0.9999 num_steps, unless
  /// its schedule covers them (#35 on).
  std::int64_t extension_steps = 0;
  LearningRateConfig learning_rate;
  MomentumConfig muon_momentum;

  std::int64_t total_steps() const { return num_steps + extension_steps; }
};

struct LoaderConfig {
  LoaderPosition position = LoaderPosition::kPerRank;
  std::int64_t reserve_tokens = 1;
  std::int64_t sequences_per_read = 1;
  bool first_read_twice = false;
  bool wrap = true;
  /// kShuffled: shards, and reads within each shard, come in an order drawn from the run's seed (record #1).
  BatchOrder order = BatchOrder::kSequential;
  BatchAlignment alignment = BatchAlignment::kNone;  ///< of training sequences to documents (#26 on)
  std::optional<std::int64_t> max_document_length;   ///< tokens; longer documents are cut (alignment "documents")
  /// Alignment "bos": the sequences of a step are searched for in this many times its tokens.
  std::int64_t search_window = 2;
  ShardStorage storage = ShardStorage::kMapped;  ///< where a shard's tokens are: the file, memory, locked memory
  FetchTime fetch = FetchTime::kStepStart;       ///< when a step's tokens are fetched: at its start, or a step ahead
  TokenDtype token_dtype = TokenDtype::kInt64;   ///< dtype of the model's inputs
};

/// Training sequences from step `from` on; their number stays.
struct DataStage {
  std::int64_t from = 0;
  std::int64_t sequence_length = 16384;
  std::int64_t max_document_length = 2048;
};

struct DataConfig {
  std::int64_t sequence_length = 65536;  ///< T, tokens
  std::int64_t sequences_per_step = 8;
  std::int64_t ranks = 8;
  LoaderConfig loader;
  /// Ascending, the first from step 0 (#46 on); empty: sequence_length throughout, which is the longest of them.
  std::vector<DataStage> stages;
  std::int64_t val_sequences = 160;
  std::optional<std::int64_t> val_sequence_length;  ///< null: sequence_length

  std::int64_t tokens_per_step() const { return sequence_length * sequences_per_step; }
  /// The stage of a step; nullptr: there are none.
  const DataStage* stage_of(std::int64_t step) const;
  std::int64_t length_of_step(std::int64_t step) const;
  /// Of the first `steps` steps together.
  std::int64_t tokens_until(std::int64_t steps) const;
  std::int64_t val_length() const { return val_sequence_length.value_or(sequence_length); }
};

struct RunConfig {
  std::int64_t stop_after = 1490;
  std::int64_t val_every = 125;
  std::int64_t untimed_steps = 10;  ///< the training clock starts at this step (the records' rule)
  /// Whole training steps before step 0; their effect on parameters, optimisers and loader is then undone (#21
  /// re-timed).
  std::int64_t warmup_iterations = 0;
  bool val_gradients = false;  ///< validation keeps what a backward pass would need (records #5 to #9)
  GradientReduction gradient_reduction = GradientReduction::kMean;
  LossReduction loss_reduction = LossReduction::kMean;  ///< kSum: gradients of the sum over a sequence's tokens (#21)
  std::vector<std::int64_t> gradient_steps;             ///< a trace keeps the gradients of these steps
};

/// Weights of a token's targets over some steps, linear in between.
struct TargetStage {
  std::int64_t from = 0;
  double to = 1.0;            ///< steps; need not be whole
  std::vector<double> start;  ///< weight of the next token, of the one after it, ...
  std::vector<double> end;
};

/// The training loss; validation has the next token alone.
struct LossConfig {
  std::vector<TargetStage> multi_token;  ///< empty: the next token; else ascending, the first from step 0 (#53 on)
  /// kAll (#79 on): in gradients the softmax counts for all weights at the end of a sequence too, where targets are
  /// missing. The loss is not affected, so they are not quite its gradients.
  TargetNormalizer multi_token_normalizer = TargetNormalizer::kExisting;
};

/// Initial values of parameters that no file provides. A parameter's values depend only on (the run's seed, name,
/// shape).
struct InitConfig {
  std::optional<std::string> file;  ///< safetensors, relative to the configuration's folder
  /// kGpt2 (record #1): N(0, 0.02^2) for tables and matrices, divided by sqrt(2 L) for output projections, zero for
  /// padding rows and biases. The next three fields then have no effect.
  InitScheme scheme = InitScheme::kRecords;
  TableInit embeddings = TableInit::kByHead;          ///< kByHead: kLinear if the head is tied, else kNormal
  MatrixInit output_projections = MatrixInit::kZero;  ///< for attention and MLP
  MatrixInit lm_head = MatrixInit::kZero;
  double zero_init_std = 0.0;  ///< the records' zero-initialised matrices: N(0, (std)^2 / fan_in)
  double scalar_std = 0.0;     ///< noise added to the initial scalars
  double resid_lambda = 1.1;   ///< of model.residual_scaling
  std::optional<std::string> note;
};

/// The head in 8-bit floating point (records #19 to #21): operands are multiplied by their scale and rounded to e4m3
/// (gradients e5m2) with saturation; products accumulate in float32. Validation uses the plain product.
struct Fp8Config {
  double x_scale = 2;
  double weight_scale = 32;
  double grad_scale = 536870912;  ///< 2^29
};

/// Where values are rounded to bfloat16. Arithmetic stays float32 (or float64); values are rounded where the records'
/// compiled kernels store them. Everything is float32 unless stated otherwise.
struct PrecisionConfig {
  /// kAutocast (#2 to #9): inputs and outputs of matrix products and attention are rounded; the residual stream stays
  /// float32. kBfloat16 (#1, #10 on): the stream is rounded too.
  ActivationPrecision activations = ActivationPrecision::kFloat32;
  ValidationPrecision validation =
      ValidationPrecision::kTraining;                        ///< kFloat32: validation without rounding (#2 to #4)
  ParameterStorage parameters = ParameterStorage::kFloat32;  ///< kBfloat16Stochastic: float32 masters (#1)
  StoredPrecision embeddings = StoredPrecision::kFloat32;    ///< tables and their Adam state
  StoredPrecision scalars = StoredPrecision::kFloat32;       ///< lambdas, skip weights and their Adam state
  StoredPrecision linear_init = StoredPrecision::kFloat32;   ///< matrices are rounded once, at the start (#10 to #17)
  RotaryPrecision rotary_tables = RotaryPrecision::kFloat32;
  StoredPrecision rotation = StoredPrecision::kFloat32;  ///< kBfloat16: x is rounded before rotation
  StoredPrecision logits = StoredPrecision::kFloat32;    ///< precision of the softcap
  /// kBfloat16 (#37 on): soft cap and log-softmax are rounded too, and so is each line of their backward pass.
  StoredPrecision cross_entropy = StoredPrecision::kFloat32;
  StoredPrecision lm_head = StoredPrecision::kFloat32;     ///< the head's matrix and its Adam state (#32 on)
  StoredPrecision gates = StoredPrecision::kFloat32;       ///< attention and smear gates and their momentum (#32 on)
  StoredPrecision adam_state = StoredPrecision::kFloat32;  ///< kBfloat16: the moments of every group (#32 on)
  HeadPrecision head = HeadPrecision::kActivations;
  Fp8Config fp8;
};

/// Data parallelism over processes. With one process nothing is communicated, and only `processes` has an effect.
struct DistributedConfig {
  std::int64_t processes = 1;  ///< each simulates data.ranks / processes ranks
  GradientSync gradient_sync = GradientSync::kLastMicroStep;
  ReductionSchedule reduction = ReductionSchedule::kOverlappedBuckets;
  BucketStorage buckets = BucketStorage::kViews;  ///< gradients are views of the buckets, or are copied in and out
  std::int64_t bucket_bytes = 25 * 1024 * 1024;
  /// Who orthogonalises. kReplicated: every process does everything. kAllReduce: each does its share, then one
  /// all-reduce sums all updates (#6 to #14). kAllGather: each does its share of a group of equal-sized matrices,
  /// gathered round by round (#15 on).
  MuonSharding muon = MuonSharding::kAllGather;
  GatherTiming all_gather = GatherTiming::kAsynchronous;
  GatherBuffer gather_buffer = GatherBuffer::kContiguous;
  bool ragged_groups = true;  ///< false (#15, #16): the processes must divide the matrices of each size
  /// What kAllGather shares out in rounds: matrices of as many elements (#15 to #23, #36 on), or of one shape (#24 on).
  MuonGroups muon_groups = MuonGroups::kElements;
  /// kAllProcesses: every process has every sum. kOwners: a gradient is summed only where it is needed (#24 on): in the
  /// process that updates the matrix, and for Adam in equal slices, whose state only that process keeps; the updated
  /// parameters are gathered. Needs `muon` kAllGather, no clipping, and one sum a step.
  GradientSums gradient_sums = GradientSums::kAllProcesses;
};

/// Settings of the GPU itself; they have no effect on a CPU.
struct GpuConfig {
  bool expandable_segments =
      true;  ///< LibTorch's allocator grows its segments instead of adding new ones (#17, #19 on)
  /// Runs a backward pass through one number before everything else (#18 on), so that LibTorch's threads and the
  /// driver's context exist before the process group.
  bool initial_backward = false;
  /// The forward and backward passes of a sequence are captured once and replayed as one graph
  /// (engine/train/step_graph.h).
  bool step_graph = false;
  /// Which tensor core instructions the attention kernels use: those of one warp, or those of four warps, which GPUs of
  /// compute capability 9.0 have.
  AttentionProducts attention_products = AttentionProducts::kWarp;
};

struct TrainConfig {
  std::string name = "unnamed";
  ModelConfig model;
  AttentionConfig attention;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  DataConfig data;
  RunConfig run;
  LossConfig loss;
  InitConfig init;
  PrecisionConfig precision;
  DistributedConfig distributed;
  GpuConfig gpu;

  /// Identity of the arithmetic: the digest of all changed settings except name, init.file and init.note.
  std::string digest() const;
};

/// Reads a complete or partial configuration (absent fields keep their defaults) and checks it as a whole.
/// Throws Error{kInvalidArgument} with `source` and the JSON pointer.
TrainConfig read_train_config(const Json& value, const std::string& source);
TrainConfig read_train_config_file(const std::string& file);

/// For readers: every field that applies to the chosen types, in the order of the structs above.
OrderedJson to_json(const TrainConfig& config);

/// For engines and digests: only the fields that differ from TrainConfig{}. read_train_config restores the same
/// configuration from it, even in a program that lacks fields not present in it.
Json changed_settings(const TrainConfig& config);

/// Checks the relations between fields; read_train_config calls it. Throws Error{kInvalidArgument} or Error{kConflict}.
void check_train_config(const TrainConfig& config, const std::string& source);

}  // namespace nanobench::core
