#include "ablations/claim_counters.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include "ablations/claim.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/config/parameter_list.h"
#include "core/config/schedule.h"
#include "core/data/block_mask.h"

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

/// Lookup tables: of tokens, values, positions.
double table_parameters(const TrainConfig& config) {
  const core::ModelConfig& model = config.model;
  const double positions =
      model.position == core::PositionEncoding::kLearned ? as_double(model.rope.max_seq_len * model.model_dim) : 0;
  return value_table_parameters(config) + as_double(model.embedding_rows() * model.model_dim) + positions;
}

double matrix_parameters(const TrainConfig& config) {
  double sum = 0;
  for (const auto& [key, count] : core::hidden_matrix_counts(config.model)) sum += as_double(key.front() * count);
  const core::ModelConfig& model = config.model;
  return sum + (model.tied_head ? 0 : as_double(model.padded_vocab_size() * model.model_dim));
}

/// Leaves out the few hundred scalars of blends and skips.
double parameters(const TrainConfig& config) {
  return table_parameters(config) + matrix_parameters(config);
}

/// Weights of the U-net's skips and of the later single skip, with its gate.
double skip_parameters(const TrainConfig& config) {
  double sum = 0;
  for (const core::ParameterShape& parameter : core::parameter_list(config)) {
    if (parameter.role == core::ParameterRole::kSkip || parameter.role == core::ParameterRole::kSkipGate)
      sum += as_double(parameter.numbers());
  }
  return sum;
}

/// The sequences of one step that no mask fits: a mask needs whole blocks.
double unaligned_sequences(const TrainConfig& config) {
  return config.data.sequence_length % config.attention.block_size == 0 ? 0 : as_double(config.data.sequences_per_step);
}

double effective_learning_rate(const TrainConfig& config) {
  double sum = 0;
  for (std::int64_t step = 0; step < config.schedule.num_steps; ++step)
    sum += core::learning_rate_factor(config.schedule, step);
  return config.optimizer.hidden_matrices.lr * sum / as_double(config.schedule.num_steps);
}

double gradient_bytes(const TrainConfig& config) {
  const bool is_rounded = config.precision.embeddings == core::StoredPrecision::kBfloat16;
  return table_parameters(config) * (is_rounded ? kBfloat16Bytes : kFloatBytes) +
         matrix_parameters(config) * kFloatBytes;
}

/// One pair of tables per layer with attention, as in the records' modules.
std::optional<double> rotary_table_bytes(const TrainConfig& config) {
  const core::ModelConfig& model = config.model;
  if (model.position != core::PositionEncoding::kRotary || !model.rope.precompute) return std::nullopt;
  std::int64_t layers = 0;
  for (std::int64_t layer = 0; layer < model.num_layers; ++layer) layers += model.has_attention(layer) ? 1 : 0;
  const bool is_rounded = config.precision.rotary_tables == core::RotaryPrecision::kBfloat16Tables;
  return as_double(layers * model.rope.max_seq_len * model.head_dim()) * (is_rounded ? kBfloat16Bytes : kFloatBytes);
}

/// Newton-Schulz on an r x c matrix, r <= c, takes 4 r^2 c + 2 r^3 a step.
double orthogonalization_work(const core::ParameterShape& parameter) {
  const double a = as_double(parameter.matrix_rows()), b = as_double(parameter.columns());
  const double r = std::min(a, b), c = std::max(a, b);
  return as_double(parameter.matrices) * r * r * (4 * c + 2 * r);
}

/// Work of the process that has most of it, over the mean; P if every process does all.
std::optional<double> busiest_rank_share(const TrainConfig& config) {
  if (config.optimizer.hidden_matrices.type != core::OptimizerType::kMuon || config.data.ranks < 2) return std::nullopt;
  const core::DistributedConfig& distributed = config.distributed;
  if (distributed.muon == core::MuonSharding::kReplicated) return as_double(config.data.ranks);
  std::vector<double> work(static_cast<std::size_t>(config.data.ranks), 0.0);
  std::map<std::vector<std::int64_t>, std::size_t> next;  // by group: matrices of one size or shape, or all matrices
  double sum = 0;
  for (const core::ParameterShape& parameter : core::parameter_list(config)) {
    if (parameter.group != core::ParameterGroup::kHiddenMatrices) continue;
    std::vector<std::int64_t> group;
    if (distributed.muon == core::MuonSharding::kAllGather)
      group = core::muon_group_key(parameter.sizes, distributed.muon_groups);
    const double each = orthogonalization_work(parameter);
    work[next[group]++ % work.size()] += each;
    sum += each;
  }
  return *std::max_element(work.begin(), work.end()) / (sum / as_double(config.data.ranks));
}

double flops_per_token(const TrainConfig& config) {
  const DocumentMaskCounts counts = count_masks(config);
  const core::StepCost cost = core::training_cost(config, counts.attention, counts.steps);
  const double flops = cost.of(core::CostPhase::kForward).flops + cost.of(core::CostPhase::kBackward).flops;
  return flops / as_double(counts.steps * config.data.tokens_per_step());
}

using Count = std::optional<double> (*)(const TrainConfig&);

/// A mean over steps, or a total over all of them, from the masks.
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

constexpr std::int64_t kCountedSteps = 4;
constexpr std::uint64_t kStreamSeed = 1;
constexpr double kLogDeviation = 1.0;  // of ln(tokens), as in the default corpus
constexpr std::int64_t kShortest = 16;
constexpr std::uint16_t kWord = 1;

double uniform(core::RandomStream& random) {
  return (static_cast<double>(random.next_32()) + 0.5) / 4294967296.0;
}

/// Box and Muller.
double normal(core::RandomStream& random) {
  const double radius = std::sqrt(-2.0 * std::log(uniform(random)));
  return radius * std::cos(2.0 * std::numbers::pi * uniform(random));
}

class MaskCounter {
 public:
  explicit MaskCounter(const core::TrainConfig& config) : config_(config) {}

  DocumentMaskCounts count() {
    const core::DataConfig& data = config_.data;
    const std::int64_t step_tokens = data.tokens_per_step();
    starts_ = document_starts(kCountedSteps * step_tokens);
    counts_.steps = kCountedSteps;
    count_documents(data.sequence_length);
    for (std::int64_t i = 0; i < kCountedSteps; ++i) {
      const std::int64_t step = i * config_.schedule.num_steps / kCountedSteps;
      const core::StepWindows windows = core::step_windows(config_.attention, config_.schedule, step);
      for (std::int64_t sequence = 0; sequence < data.sequences_per_step; ++sequence)
        count_sequence(i * step_tokens + sequence * data.sequence_length, windows);
    }
    return counts_;
  }

 private:
  void count_documents(std::int64_t sequence_length) {
    const std::int64_t end = counts_.steps * config_.data.tokens_per_step();
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      const std::int64_t last = (i + 1 < starts_.size() ? starts_[i + 1] : end) - 1;
      ++counts_.documents;
      if (starts_[i] % config_.attention.block_size != 0) ++counts_.unaligned_documents;
      if (starts_[i] / sequence_length != last / sequence_length) ++counts_.cut_documents;
    }
  }

  std::vector<std::uint16_t> tokens_from(std::int64_t begin) const {
    const std::int64_t length = config_.data.sequence_length;
    std::vector<std::uint16_t> tokens(static_cast<std::size_t>(length), kWord);
    for (auto start = std::lower_bound(starts_.begin(), starts_.end(), begin);
         start != starts_.end() && *start < begin + length; ++start)
      tokens[static_cast<std::size_t>(*start - begin)] =
          static_cast<std::uint16_t>(config_.attention.document_separator);
    return tokens;
  }

  void count_sequence(std::int64_t begin, const core::StepWindows& windows) {
    const core::AttentionConfig& attention = config_.attention;
    const std::vector<std::uint16_t> tokens = tokens_from(begin);
    core::BlockMaskOptions options{.block_size = attention.block_size,
                                   .document_mask = attention.document_mask,
                                   .document_separator = attention.document_separator,
                                   .granularity = attention.window.granularity,
                                   .window_tokens = windows.whole};
    const core::BlockMask mask(tokens, options);
    core::MaskCounts found = core::count_mask(mask.first_key(), attention.block_size, attention.window.granularity);
    if (!attention.split_full_blocks) found.full_blocks = 0;
    counts_.attention.whole += found;
    counts_.mask_evaluations +=
        (found.visited_blocks - found.full_blocks) * attention.block_size * attention.block_size;
    count_pairs(tokens, mask);
    if (attention.window.narrow_layers().empty()) return;
    options.window_tokens = windows.half;
    const core::BlockMask half(tokens, options);
    counts_.attention.half += core::count_mask(half.first_key(), attention.block_size, attention.window.granularity);
  }

  void count_pairs(const std::vector<std::uint16_t>& tokens, const core::BlockMask& mask) {
    std::int64_t start = 0;
    for (std::size_t query = 0; query < tokens.size(); ++query) {
      const auto q = static_cast<std::int64_t>(query);
      if (tokens[query] == config_.attention.document_separator) start = q;
      counts_.cross_document_pairs += std::max<std::int64_t>(0, start - mask.first_key()[query]);
      counts_.pairs_inside_documents += q - start + 1;
    }
  }

  const core::TrainConfig& config_;
  std::vector<std::int64_t> starts_;
  DocumentMaskCounts counts_;
};

}  // namespace

std::optional<double> counted(const std::string& metric, const TrainConfig& config) {
  static const std::map<std::string, Count> counts = {
      {"parameters", [](const TrainConfig& c) -> std::optional<double> { return parameters(c); }},
      {"value_table_parameters",
       [](const TrainConfig& c) -> std::optional<double> { return value_table_parameters(c); }},
      {"unaligned_sequences", [](const TrainConfig& c) -> std::optional<double> { return unaligned_sequences(c); }},
      {"skip_parameters", [](const TrainConfig& c) -> std::optional<double> { return skip_parameters(c); }},
      {"effective_learning_rate",
       [](const TrainConfig& c) -> std::optional<double> { return effective_learning_rate(c); }},
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

std::vector<std::int64_t> document_starts(std::int64_t tokens) {
  core::RandomStream random(kStreamSeed, 0);
  const double log_mean = std::log(static_cast<double>(kCountedDocumentTokens)) - kLogDeviation * kLogDeviation / 2;
  std::vector<std::int64_t> starts;
  for (std::int64_t start = 0; start < tokens;) {
    starts.push_back(start);
    start += std::max(kShortest, static_cast<std::int64_t>(std::exp(log_mean + kLogDeviation * normal(random))));
  }
  return starts;
}

DocumentMaskCounts count_masks(const core::TrainConfig& config) {
  return MaskCounter(config).count();
}

}  // namespace nanobench::ablations
