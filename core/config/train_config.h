/// Every setting of one training run. Defaults are record #17 at its official size; golden/README gives the same schema
/// in words.
///
/// A TrainConfig is a plain value. It is read from JSON by read_train_config (which checks types, ranges and the
/// relations between fields), written by to_json, and named by digest(): two runs with equal digests do the same
/// arithmetic. To add a field: member here, one line in train_config_fields.h, a relation (if any) in
/// train_config_checks.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace nanobench::core {

enum class Activation { kReluSquared, kGelu };
enum class ValueSource { kNone, kFirstLayer, kTokens };
enum class ValueMix { kNone, kLerp, kPair };
enum class QkvRows { kSeparate, kStacked };
enum class SoftcapForm { kTanh, kSigmoid };
enum class WindowGranularity { kToken, kTokenBlockClipped, kBlock };
enum class WindowScheduleType { kConstant, kNone, kLinear };
enum class WindowRounding { kFloor, kCeil };
enum class OptimizerType { kAdam, kMuon };
enum class MomentumForm { kLerp, kAccumulate };
enum class Orthogonalizer { kNewtonSchulz, kSvd };
enum class NewtonSchulzDtype { kCompute, kBfloat16 };
enum class UpdateScale { kNone, kSqrtRowsOverColumns, kSqrtLargestSide };
enum class LoaderPosition { kPerRank, kGlobal };  ///< who has a position in the token stream (core/data/data_loader.h)
enum class GradientReduction { kMean, kMeanOverRanks };

struct RopeConfig {
  double base = 1024;
  bool half_truncate = true;  ///< E/4 frequencies 1 ... 1/base, then E/4 zeros; false: E/2 frequencies base^(-2j/E)
  bool precompute = true;     ///< tables made once for max_seq_len, or anew each forward pass: the same numbers
  std::int64_t max_seq_len = 65536;
};

struct ValueEmbeddingConfig {
  ValueSource source = ValueSource::kTokens;
  std::int64_t num_tables = 3;
  /// Table of each layer, or nullopt; num_layers long.
  std::vector<std::optional<std::int64_t>> layer_map = {
      0, 1, 2, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt, 0, 1, 2};
  ValueMix mix = ValueMix::kPair;
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
  Activation activation = Activation::kReluSquared;
  double norm_eps = 0.0078125;  // 2^-7: what torch took for bfloat16 input until PR 142848
  bool qk_norm = true;
  std::optional<double> qk_norm_eps;  ///< null: norm_eps
  RopeConfig rope;
  ValueEmbeddingConfig value_embeddings;
  std::vector<std::int64_t> attention_skip_layers = {7};
  std::optional<double> logit_softcap = 30.0;
  SoftcapForm logit_softcap_form = SoftcapForm::kTanh;
  bool unet_skips = true;
  bool x0_lambdas = true;
  bool embed_norm = true;
  bool tied_head = false;
  bool merged_qkv = false;
  QkvRows qkv_rows = QkvRows::kSeparate;
  std::optional<double> attention_scale;  ///< null: E^-0.5
  double attention_branch_scale = 1.0;
  std::optional<double>
      linear_init_std;  ///< f: uniform with standard deviation f fan_in^-0.5; null: U(-1, 1) fan_in^-0.5

  std::int64_t head_dim() const { return model_dim / num_heads; }
  std::int64_t kv_dim() const { return num_kv_heads * head_dim(); }
  std::int64_t padded_vocab_size() const;
  std::int64_t embedding_rows() const;  ///< rows of embed and value tables
  bool has_attention(std::int64_t layer) const;
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
};

struct WindowConfig {
  WindowGranularity granularity = WindowGranularity::kBlock;
  std::vector<std::int64_t> half_layers;  ///< see max(1, n / 2) blocks when the others see n
  WindowScheduleConfig schedule;
};

struct AttentionConfig {
  bool document_mask = true;
  std::int64_t document_separator = 50256;  ///< opens its document
  std::int64_t block_size = 128;            ///< tokens
  WindowConfig window;
};

/// Settings of one parameter group. `type` decides which of the fields count (and are written).
struct OptimizerGroupConfig {
  OptimizerType type = OptimizerType::kAdam;
  double lr = 0.0;
  // adam
  double beta1 = 0.8;
  double beta2 = 0.95;
  double eps = 1e-8;
  // muon
  bool nesterov = true;
  MomentumForm momentum_form = MomentumForm::kLerp;
  Orthogonalizer orthogonalizer = Orthogonalizer::kNewtonSchulz;
  std::int64_t ns_steps = 5;
  double ns_eps = 1e-7;
  NewtonSchulzDtype ns_dtype = NewtonSchulzDtype::kBfloat16;
  UpdateScale update_scale = UpdateScale::kSqrtRowsOverColumns;
};

struct OptimizerConfig {
  OptimizerGroupConfig embeddings{.lr = 0.6};
  OptimizerGroupConfig lm_head{.lr = 0.008};
  OptimizerGroupConfig hidden_matrices{.type = OptimizerType::kMuon, .lr = 0.05};
  OptimizerGroupConfig scalars{.lr = 0.04};
};

struct LearningRateConfig {
  std::int64_t warmup_steps = 0;
  double cooldown_steps = 600;
  double floor = 0.0;  ///< fraction of the base rate that the cooldown ends at
};

struct MomentumConfig {
  double start = 0.85;
  double end = 0.95;
  std::int64_t warmup_steps = 300;
};

struct ScheduleConfig {
  std::int64_t num_steps = 1490;
  LearningRateConfig learning_rate;
  MomentumConfig muon_momentum;
};

struct LoaderConfig {
  LoaderPosition position = LoaderPosition::kPerRank;
  std::int64_t reserve_tokens = 1;
  std::int64_t sequences_per_read = 1;
  bool first_read_twice = false;
  bool wrap = true;
};

struct DataConfig {
  std::int64_t sequence_length = 65536;  ///< T, tokens
  std::int64_t sequences_per_step = 8;
  std::int64_t ranks = 8;
  LoaderConfig loader;
  std::int64_t val_sequences = 160;
  std::optional<std::int64_t> val_sequence_length;  ///< null: sequence_length

  std::int64_t tokens_per_step() const { return sequence_length * sequences_per_step; }
  std::int64_t val_length() const { return val_sequence_length.value_or(sequence_length); }
};

struct RunConfig {
  std::int64_t stop_after = 1490;
  std::int64_t val_every = 125;
  std::int64_t untimed_steps = 10;  ///< the training clock starts at this step (the records' rule)
  GradientReduction gradient_reduction = GradientReduction::kMean;
  std::vector<std::int64_t> gradient_steps;  ///< a trace keeps the gradients of these steps
};

/// How parameters begin when no file gives them. With a seed of the run, a parameter's values depend only on (seed,
/// name, shape).
struct InitConfig {
  std::optional<std::string> file;  ///< safetensors, relative to the configuration's folder
  double zero_init_std = 0.0;       ///< the records' zero-initialised matrices: N(0, (std)^2 / fan_in)
  double scalar_std = 0.0;          ///< noise added to the initial scalars
  std::optional<std::string> note;
};

struct TrainConfig {
  std::string name = "unnamed";
  ModelConfig model;
  AttentionConfig attention;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  DataConfig data;
  RunConfig run;
  InitConfig init;

  /// Identity of the arithmetic: of all fields but name, init.file and init.note.
  std::string digest() const;
};

/// Reads a complete or partial configuration (absent fields keep their defaults) and checks it as a whole.
/// Throws Error{kInvalidArgument} with `source` and the JSON pointer.
TrainConfig read_train_config(const Json& value, const std::string& source);
TrainConfig read_train_config_file(const std::string& file);

/// Every field, in the order of the headers above.
OrderedJson to_json(const TrainConfig& config);

/// The relations between fields; read_train_config calls it. Throws Error{kInvalidArgument} or Error{kConflict}.
void check_train_config(const TrainConfig& config, const std::string& source);

/// JSON pointers of all fields, for suggestions and documentation.
std::vector<std::string> train_config_pointers();

}  // namespace nanobench::core
