#include "core/config/memory_model.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "core/config/parameter_list.h"

namespace nanobench::core {
namespace {

constexpr std::int64_t kBfloat16Bytes = 2;
constexpr std::int64_t kTokenBytes = 8;

/// Counts the parameters, their gradients and what their optimisers keep.
class StateCounter {
 public:
  explicit StateCounter(const TrainConfig& config) : config_(config), processes_(config.distributed.processes) {}

  void count(MemoryCounts& counts) {
    for (const ParameterShape& parameter : parameter_list(config_)) {
      const OptimizerGroupConfig& group = settings_of(config_.optimizer, parameter.group, parameter.name);
      const bool is_adam = group.type == OptimizerType::kAdam;
      const bool is_stored_short =
          (is_adam ? adam_storage(config_.precision, parameter.group, parameter.role)
                   : muon_storage(config_.precision, parameter.role)) == StoredPrecision::kBfloat16;
      const bool has_copy = has_master(config_.precision.parameters, parameter.role);
      add(counts.parameters, parameter.numbers(), is_stored_short || has_copy);
      add(counts.gradients, parameter.numbers(), is_stored_short || has_copy);
      if (is_adam && (group.step_every > 1 || group.pause_steps > 0)) add(counts.gradients, parameter.numbers(), false);
      if (has_copy) add(counts.optimizer, parameter.numbers(), false);
      if (is_adam) {
        const bool is_short = is_stored_short || config_.precision.adam_state == StoredPrecision::kBfloat16;
        add(counts.optimizer, 2 * updated_numbers(parameter.numbers()), is_short);
      } else if (owns(parameter)) {
        add(counts.optimizer, parameter.numbers(), is_stored_short);
        if (group.second_moment_beta2) add(counts.optimizer, second_moments(parameter, group), false);
      }
    }
  }

 private:
  static void add(TypedNumbers& numbers, std::int64_t count, bool is_bfloat16) {
    (is_bfloat16 ? numbers.bfloat16 : numbers.full) += count;
  }

  /// The numbers that one process updates with an Adam that processes share out.
  std::int64_t updated_numbers(std::int64_t numbers) const {
    const bool is_shared = processes_ > 1 && config_.distributed.gradient_sums == GradientSums::kOwners;
    return is_shared && is_sliced(numbers, processes_) ? numbers / processes_ : numbers;
  }

  /// Whether the first process orthogonalises this parameter. Called for each of Muon's in order.
  bool owns(const ParameterShape& parameter) {
    if (processes_ == 1 || config_.distributed.muon == MuonSharding::kReplicated) return true;
    const bool is_one_group = config_.distributed.muon == MuonSharding::kAllReduce;
    const std::vector<std::int64_t> key =
        is_one_group ? std::vector<std::int64_t>() : muon_group_key(parameter.sizes, config_.distributed.muon_groups);
    return members_[key]++ % processes_ == 0;
  }

  /// Numbers of NorMuon's moments: one for each row, or for each column.
  static std::int64_t second_moments(const ParameterShape& parameter, const OptimizerGroupConfig& group) {
    const std::int64_t stored_columns = parameter.sizes.back();
    const std::int64_t stored_rows = *(parameter.sizes.end() - 2);
    if (!group.blockwise) return parameter.numbers() / std::min(stored_rows, stored_columns);
    const bool has_parts = group.query_key_blocks > 1 && parameter.role == ParameterRole::kMergedAttention;
    if (!has_parts) return block_moments(group, parameter.matrices, parameter.numbers(), parameter, stored_rows);
    const std::int64_t half = parameter.numbers() / 2;
    return block_moments(group, 2 * group.query_key_blocks, half, parameter, stored_rows) +
           block_moments(group, 2, half, parameter, stored_rows);
  }

  static std::int64_t block_moments(const OptimizerGroupConfig& group, std::int64_t matrices, std::int64_t numbers,
                                    const ParameterShape& parameter, std::int64_t stored_rows) {
    const std::int64_t columns = parameter.columns(), rows = numbers / columns / matrices;
    const bool is_tall =
        group.shape_of == ShapeSource::kStored ? stored_rows >= parameter.sizes.back() : rows >= columns;
    return matrices * (group.mean_axis == MeanAxis::kRow || is_tall ? rows : columns);
  }

  const TrainConfig& config_;
  std::int64_t processes_;
  std::map<std::vector<std::int64_t>, std::int64_t> members_;  ///< parameters so far, by the key of Muon's group
};

/// Counts what the kernels of engine/ops/fused_block.h, attention.h and softcapped_cross_entropy.h keep of a sequence.
class ActivationCounter {
 public:
  explicit ActivationCounter(const TrainConfig& config)
      : model_(config.model),
        tokens_(config.data.sequence_length),
        is_product_short_(config.precision.activations != ActivationPrecision::kFloat32),
        is_stream_short_(config.precision.activations == ActivationPrecision::kBfloat16) {}

  TypedNumbers count() {
    embeddings();
    for (std::int64_t layer = 0; layer < model_.num_layers; ++layer) {
      if (model_.has_attention(layer)) attention(layer);
      if (model_.has_mlp(layer)) mlp();
    }
    head();
    return numbers_;
  }

 private:
  /// Rows of the residual stream.
  void stream(std::int64_t width) { (is_stream_short_ ? numbers_.bfloat16 : numbers_.full) += tokens_ * width; }
  /// Rows that enter or leave a matrix product or attention.
  void products(std::int64_t width) { (is_product_short_ ? numbers_.bfloat16 : numbers_.full) += tokens_ * width; }
  /// Rows of statistics, which are never rounded.
  void statistics(std::int64_t width) { numbers_.full += tokens_ * width; }

  void embeddings() {
    numbers_.bytes_alone += 2 * tokens_ * kTokenBytes;  // tokens and targets
    stream(model_.model_dim);                           // the looked-up rows
    if (model_.embed_norm) stream(model_.model_dim);
    const ValueEmbeddingConfig& values = model_.value_embeddings;
    std::vector<bool> is_used(static_cast<std::size_t>(values.num_tables));
    for (std::int64_t layer = 0; layer < model_.num_layers; ++layer) {
      if (values.num_tables == 0 || !model_.has_attention(layer)) continue;
      const std::optional<std::int64_t>& table = values.layer_map[static_cast<std::size_t>(layer)];
      if (table) is_used[static_cast<std::size_t>(*table)] = true;
    }
    const bool is_joined = values.layout == ValueTableLayout::kJoined;
    const auto used = is_joined ? values.num_tables : std::count(is_used.begin(), is_used.end(), true);
    products(used * model_.kv_dim());
  }

  void attention(std::int64_t layer) {
    const std::int64_t query_width = model_.num_heads * model_.head_dim();
    if (layer > 0 || model_.x0_lambdas) stream(model_.model_dim);  // the blended input
    products(query_width + 2 * model_.kv_dim());
    products(query_width);                                                      // what attention gives
    statistics(1 + model_.num_heads + model_.num_kv_heads + model_.num_heads);  // norms, and the sum of each softmax
  }

  void mlp() {
    stream(2 * model_.model_dim);  // between the halves of the block, and after it
    products(model_.mlp_ratio * model_.model_dim);
    statistics(1);
  }

  void head() {
    stream(2 * model_.model_dim);  // the final norm, and the gradient that the loss leaves
    numbers_.full += model_.padded_vocab_size() * model_.model_dim;  // of the head's matrix, likewise
  }

  const ModelConfig& model_;
  std::int64_t tokens_;
  bool is_product_short_, is_stream_short_;
  TypedNumbers numbers_;
};

}  // namespace

std::int64_t TypedNumbers::bytes(std::int64_t number_bytes) const {
  return full * number_bytes + bfloat16 * kBfloat16Bytes + bytes_alone;
}

std::int64_t TypedNumbers::emulated_bytes(std::int64_t number_bytes) const {
  return (full + bfloat16) * number_bytes + bytes_alone;
}

const TypedNumbers& MemoryCounts::of(MemoryPart part) const {
  switch (part) {
    case MemoryPart::kParameters: return parameters;
    case MemoryPart::kGradients: return gradients;
    case MemoryPart::kOptimizer: return optimizer;
    case MemoryPart::kActivations: break;
  }
  return activations;
}

TypedNumbers MemoryCounts::total() const {
  TypedNumbers sum;
  for (const MemoryPart part : kMemoryParts) sum += of(part);
  return sum;
}

MemoryCounts memory_counts(const TrainConfig& config) {
  MemoryCounts counts;
  StateCounter(config).count(counts);
  counts.activations = ActivationCounter(config).count();
  return counts;
}

}  // namespace nanobench::core
