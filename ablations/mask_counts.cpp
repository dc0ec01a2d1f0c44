#include "ablations/mask_counts.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ablations/claim_counters.h"
#include "core/base/random.h"
#include "core/config/schedule.h"
#include "core/data/block_mask.h"

namespace nanobench::ablations {
namespace {

constexpr std::int64_t kCountedSteps = 4;
constexpr std::uint64_t kStreamSeed = 1;
constexpr double kLogDeviation = 1.0;  // of ln(tokens), as the default corpus has it
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
      const std::optional<std::int64_t> window =
          core::window_tokens(config_.attention.window.schedule, step, config_.schedule.num_steps);
      for (std::int64_t sequence = 0; sequence < data.sequences_per_step; ++sequence)
        count_sequence(i * step_tokens + sequence * data.sequence_length, window);
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

  void count_sequence(std::int64_t begin, std::optional<std::int64_t> window) {
    const core::AttentionConfig& attention = config_.attention;
    const std::vector<std::uint16_t> tokens = tokens_from(begin);
    core::BlockMaskOptions options{.block_size = attention.block_size,
                                   .document_mask = attention.document_mask,
                                   .document_separator = attention.document_separator,
                                   .granularity = attention.window.granularity,
                                   .window_tokens = window};
    const core::BlockMask mask(tokens, options);
    core::MaskCounts found = core::count_mask(mask.first_key(), attention.block_size, attention.window.granularity);
    if (!attention.split_full_blocks) found.full_blocks = 0;
    counts_.attention.whole += found;
    counts_.mask_evaluations +=
        (found.visited_blocks - found.full_blocks) * attention.block_size * attention.block_size;
    count_pairs(tokens, mask);
    if (attention.window.half_layers.empty()) return;
    options.window_tokens = core::half_window_tokens(attention, window);
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
