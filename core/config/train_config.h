/// Every setting of one training run. Defaults are record #17 at its official size, in float32 throughout.
///
/// A TrainConfig is a plain value. read_train_config reads it from JSON and checks types, ranges and relations between
/// fields; to_json writes it; digest() names it. Two runs with equal digests do the same arithmetic.
///
/// To add a field, add a member here, a line with its meaning in train_config_fields.cpp, and a relation (if any) in
/// train_config_checks.cpp. Its default must be what engines without the field do, and must never change: digests and
/// run specifications hold only settings that differ from it. A new behaviour is a new value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/config/model_config.h"
#include "core/config/setting_enums.h"

namespace nanobench::core {

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
  CautiousCondition cautious_condition = CautiousCondition::kNotNegative;  ///< u p >= 0 (#50 to #52), or > 0
  double beta1 = 0.8;
  double beta2 = 0.95;
  double eps = 1e-8;
  /// eps is added to sqrt(v / (1 - b2^t)), or (#24 on) to sqrt(v) before the correction of the bias.
  EpsPosition eps_position = EpsPosition::kCorrected;
  std::int64_t step_every = 1;  ///< k: updated at steps s with k | s + 1, by the sum of k steps' gradients
  /// Not updated, and gradients dropped, for so many steps from each change of window or batch on (#52, #53).
  std::int64_t pause_steps = 0;
  double weight_decay = 0.0;  ///< decoupled (AdamW): p -= lr weight_decay p, before the update
  bool fused = true;          ///< one kernel over the group, or a sequence of tensor operations
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
  ShapeSource shape_of = ShapeSource::kBlock;
  /// n > 1 (#80 on): of a parameter of stacked rows of q, k, v and output, q and k are n matrices each, of C / n rows.
  std::int64_t query_key_blocks = 1;
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

/// The last of the stages, in ascending order, that has begun at a step; nullptr: there are none.
template <class Stage>
const Stage* stage_at(const std::vector<Stage>& stages, std::int64_t step) {
  const auto next =
      std::find_if(stages.begin(), stages.end(), [step](const Stage& stage) { return stage.from > step; });
  return next == stages.begin() ? nullptr : &*std::prev(next);
}

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
  double rate_factor = 1.0;  ///< on the learning rates of all groups; a sweep of it shows which rates are stable
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
  /// Target of the last token that is left of a cut document: the token that follows in the sequence, which opens
  /// another document, as the records have it, or the one that was cut off.
  CutTarget cut_target = CutTarget::kNextDocument;
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
  std::int64_t length_of_step(std::int64_t step) const;
  /// The tokens of the first `steps` steps together.
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

/// A weight over some steps, linear in between.
struct WeightStage {
  std::int64_t from = 0;
  double to = 1.0;  ///< steps; need not be whole
  double start = 0.0;
  double end = 0.0;
};

/// The training loss; validation has the next token alone.
struct LossConfig {
  std::vector<TargetStage> multi_token;  ///< empty: the next token; else ascending, the first from step 0 (#53 on)
  /// kAll (#79 on): in gradients the softmax counts for all weights at the end of a sequence too, where targets are
  /// missing. The loss is not affected, so they are not quite its gradients.
  TargetNormalizer multi_token_normalizer = TargetNormalizer::kExisting;
  /// Weight of another target (#88 on): the longest token of the vocabulary that the next token's bytes begin with,
  /// where there is one. Empty: none; else ascending, the first from step 0.
  std::vector<WeightStage> prefix;
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
  double bigram_lambda = 0.1;  ///< of model.bigram
  // With scheme kRecords. Absent: as the fields above and model.linear_init_std say.
  std::optional<double> value_table_std;  ///< of the value tables: N(0, std^2) (#49 on)
  std::optional<double> lm_head_std;      ///< of the head, and of a table that starts as the head: N(0, std^2) (#51 on)
  std::optional<double> attention_std;    ///< model.linear_init_std of attention's matrices (#53 on)
  /// Attention's output projections begin like linear layers, whatever output_projections is (#64 on).
  bool linear_attention_outputs = false;
  std::optional<std::string> note;
};

/// The head in 8-bit floating point (records #19 to #21): operands are multiplied by their scale and rounded to e4m3
/// (gradients e5m2) with saturation; products accumulate in float32. Validation uses the plain product.
struct Fp8Config {
  double x_scale = 2;
  double weight_scale = 32;
  double grad_scale = 536870912;  ///< 2^29
};

/// The scales of the second product of an MLP in 8-bit floating point (#89). Each is the range of what came before, so
/// that operands are rounded as they are written: a margin makes up for growth.
struct DelayedFp8Config {
  double activation_margin = 1.8;        ///< times the largest activation of the rank's last forward pass
  double weight_margin = 1.12;           ///< times the largest weight before the last update
  std::int64_t exact_weight_steps = 16;  ///< the first so many updates are followed by the weights' own range
};

/// Where values are rounded to bfloat16. Arithmetic stays float32 (or float64); values are rounded where the records'
/// compiled kernels store them. Everything is float32 unless stated otherwise.
struct PrecisionConfig {
  /// kAutocast (#2 to #9): inputs and outputs of matrix products and attention are rounded; the residual stream stays
  /// float32. kBfloat16 (#1, #10 on): the stream is rounded too.
  ActivationPrecision activations = ActivationPrecision::kFloat32;
  ValidationPrecision validation =
      ValidationPrecision::kTraining;  ///< kFloat32: validation without rounding (#2 to #4)
  /// kBfloat16Stochastic: bfloat16 copies of all parameters, rounded at random, beside float32 masters (#1).
  /// kBfloat16Truncated: products take the upper 16 bits of the matrices of attention and MLP, and the optimiser
  /// updates all 32; they start rounded (#57 on).
  ParameterStorage parameters = ParameterStorage::kFloat32;
  StoredPrecision embeddings = StoredPrecision::kFloat32;   ///< tables and their Adam state
  StoredPrecision scalars = StoredPrecision::kFloat32;      ///< lambdas, skip weights and their Adam state
  StoredPrecision linear_init = StoredPrecision::kFloat32;  ///< matrices are rounded once, at the start (#10 to #17)
  RotaryPrecision rotary_tables = RotaryPrecision::kFloat32;
  StoredPrecision rotation = StoredPrecision::kFloat32;  ///< kBfloat16: x is rounded before rotation
  StoredPrecision logits = StoredPrecision::kFloat32;    ///< precision of the softcap
  /// kBfloat16 (#37 to #59): soft cap and log-softmax are rounded too, and so is each line of their backward pass.
  /// kBfloat16Sigmoid (#79 on): the sigmoid of model.logit_cap is rounded in training, for loss and gradient.
  LossPrecision cross_entropy = LossPrecision::kFloat32;
  StoredPrecision lm_head = StoredPrecision::kFloat32;     ///< the head's matrix and its Adam state (#32 on)
  StoredPrecision gates = StoredPrecision::kFloat32;       ///< attention and smear gates and their momentum (#32 on)
  StoredPrecision adam_state = StoredPrecision::kFloat32;  ///< kBfloat16: the moments of every group (#32 on)
  ProductPrecision head = ProductPrecision::kActivations;
  Fp8Config fp8;
  /// kFp8: e4m3 operands in the forward passes of training, with gradients of the operands as they were. mlp_up (#84)
  /// takes the ranges of its own operands, mlp_down (#89) earlier ones.
  ProductPrecision mlp_up = ProductPrecision::kActivations;
  ProductPrecision mlp_down = ProductPrecision::kActivations;
  DelayedFp8Config mlp_down_fp8;
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
/// The same with keys in their alphabetical order, for code that compares and merges.
Json to_plain_json(const TrainConfig& config);

/// For engines and digests: only the fields that differ from TrainConfig{}. read_train_config restores the same
/// configuration from it, even in a program that lacks fields not present in it.
Json changed_settings(const TrainConfig& config);

/// Checks the relations between fields; read_train_config calls it. Throws Error{kInvalidArgument} or Error{kConflict}.
void check_train_config(const TrainConfig& config, const std::string& source);

}  // namespace nanobench::core
