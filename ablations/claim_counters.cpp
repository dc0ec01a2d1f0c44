#include "ablations/claim_counters.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ablations/claim.h"
#include "ablations/mask_counts.h"
#include "core/base/error.h"
#include "core/config/parameter_list.h"

namespace nanobench::ablations {
namespace {

using core::TrainConfig;

constexpr double kFloatBytes = 4, kBfloat16Bytes = 2;

double as_double(std::int64_t value) {
  return static_cast<double>(value);
}

double value_table_parameters(const TrainConfig& config) {
  const core::ModelConfig& model = config.model;
  if (model.value_embeddings.source != core::ValueSource::kTokens) return 0;
  return as_double(model.value_embeddings.num_tables * model.embedding_rows() * model.kv_dim());
}

/// Tables that are looked up: of tokens, values, positions.
double table_parameters(const TrainConfig& config) {
  const core::ModelConfig& model = config.model;
  const double positions =
      model.position == core::PositionEncoding::kLearned ? as_double(model.rope.max_seq_len * model.model_dim) : 0;
  return value_table_parameters(config) + as_double(model.embedding_rows() * model.model_dim) + positions;
}

double matrix_parameters(const TrainConfig& config) {
  double sum = 0;
  for (const auto& [size, count] : core::hidden_matrix_counts(config.model)) sum += as_double(size * count);
  const core::ModelConfig& model = config.model;
  return sum + (model.tied_head ? 0 : as_double(model.padded_vocab_size() * model.model_dim));
}

/// The few hundred scalars of blends and skips are left out.
double parameters(const TrainConfig& config) {
  return table_parameters(config) + matrix_parameters(config);
}

double gradient_bytes(const TrainConfig& config) {
  const bool is_rounded = config.precision.embeddings == core::StoredPrecision::kBfloat16;
  return table_parameters(config) * (is_rounded ? kBfloat16Bytes : kFloatBytes) +
         matrix_parameters(config) * kFloatBytes;
}

/// One pair of tables for each layer with attention, as the records' modules hold them.
std::optional<double> rotary_table_bytes(const TrainConfig& config) {
  const core::ModelConfig& model = config.model;
  if (model.position != core::PositionEncoding::kRotary || !model.rope.precompute) return std::nullopt;
  std::int64_t layers = 0;
  for (std::int64_t layer = 0; layer < model.num_layers; ++layer) layers += model.has_attention(layer) ? 1 : 0;
  const bool is_rounded = config.precision.rotary_tables == core::RotaryPrecision::kBfloat16Tables;
  return as_double(layers * model.rope.max_seq_len * model.head_dim()) * (is_rounded ? kBfloat16Bytes : kFloatBytes);
}

/// The matrices in the order of the parameters: number of elements.
std::vector<std::int64_t> matrices_in_order(const core::ModelConfig& model) {
  const std::int64_t square = model.model_dim * model.model_dim;
  std::vector<std::int64_t> sizes;
  for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
    if (model.has_attention(layer)) {
      const std::int64_t key = model.kv_dim() * model.model_dim;
      sizes.insert(sizes.end(), {square, key, key, square});
    }
    sizes.insert(sizes.end(), 2, model.mlp_ratio * square);
  }
  return sizes;
}

/// Queries, keys and values in one matrix, which the list below has as three.
bool has_joined_qkv(const core::ModelConfig& model) {
  return model.merged_qkv || model.qkv_rows == core::QkvRows::kStacked;
}

/// Newton-Schulz on a D x c matrix takes 4 D^2 c + 2 D^3 a step: with n = D c elements, D (4 n + 2 D^2).
std::optional<double> busiest_rank_share(const TrainConfig& config) {
  if (config.optimizer.hidden_matrices.type != core::OptimizerType::kMuon || config.data.ranks < 2) return std::nullopt;
  if (has_joined_qkv(config.model)) return std::nullopt;
  if (config.distributed.muon == core::MuonSharding::kReplicated) return as_double(config.data.ranks);
  const bool has_groups = config.distributed.muon == core::MuonSharding::kAllGather;
  std::vector<double> work(static_cast<std::size_t>(config.data.ranks), 0.0);
  std::map<std::int64_t, std::size_t> next;  // by group: of one size, or of all
  for (const std::int64_t size : matrices_in_order(config.model)) {
    const std::size_t rank = next[has_groups ? size : 0]++ % work.size();
    work[rank] += 4 * as_double(size) + 2 * as_double(config.model.model_dim * config.model.model_dim);
  }
  double sum = 0;
  for (const double each : work) sum += each;
  return *std::max_element(work.begin(), work.end()) / (sum / as_double(config.data.ranks));
}

double flops_per_token(const TrainConfig& config) {
  const DocumentMaskCounts counts = count_masks(config);
  const core::StepCost cost = core::training_cost(config, counts.attention, counts.steps);
  const double flops = cost.of(core::CostPhase::kForward).flops + cost.of(core::CostPhase::kBackward).flops;
  return flops / as_double(counts.steps * config.data.tokens_per_step());
}

using Count = std::optional<double> (*)(const TrainConfig&);

/// A mean over steps, or a number of all of them, from the masks.
std::optional<double> mask_metric(const std::string& metric, const TrainConfig& config) {
  const auto mean = [](std::int64_t sum, const DocumentMaskCounts& of) { return as_double(sum) / as_double(of.steps); };
  const DocumentMaskCounts counts = count_masks(config);
  const core::MaskCounts& whole = counts.attention.whole;
  if (metric == "visited_blocks") return mean(whole.visited_blocks, counts);
  if (metric == "full_blocks") return mean(whole.full_blocks, counts);
  if (metric == "full_block_share") return as_double(whole.full_blocks) / as_double(whole.visited_blocks);
  if (metric == "mask_evaluations") return mean(counts.mask_evaluations, counts);
  if (metric == "visible_pairs") return mean(whole.visible_pairs, counts);
  if (metric == "cross_document_pairs") return mean(counts.cross_document_pairs, counts);
  if (metric == "document_pairs_share") {
    return as_double(whole.visible_pairs - counts.cross_document_pairs) / as_double(counts.pairs_inside_documents);
  }
  if (metric == "unaligned_documents") return as_double(counts.unaligned_documents);
  if (metric == "cut_documents") return as_double(counts.cut_documents);
  throw core::Error(core::ErrorCode::kInternal, "nothing counts the metric " + metric);
}

}  // namespace

std::optional<double> counted(const std::string& metric, const TrainConfig& config) {
  static const std::map<std::string, Count> counts = {
      {"parameters", [](const TrainConfig& c) -> std::optional<double> { return parameters(c); }},
      {"value_table_parameters",
       [](const TrainConfig& c) -> std::optional<double> { return value_table_parameters(c); }},
      {"gradient_bytes", [](const TrainConfig& c) -> std::optional<double> { return gradient_bytes(c); }},
      {"rotary_table_bytes", rotary_table_bytes},
      {"flops_per_token", [](const TrainConfig& c) -> std::optional<double> { return flops_per_token(c); }},
      {"micro_steps_per_rank",
       [](const TrainConfig& c) -> std::optional<double> {
         return as_double(c.data.sequences_per_step) / as_double(c.data.ranks * c.data.loader.sequences_per_read);
       }},
      {"busiest_rank_share", busiest_rank_share},
      {"rank_parameter_difference", [](const TrainConfig&) -> std::optional<double> { return std::nullopt; }}};
  const auto found = counts.find(metric);
  return found != counts.end() ? found->second(config) : mask_metric(metric, config);
}

}  // namespace nanobench::ablations
