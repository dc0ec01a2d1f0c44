#include "core/config/hidden_matrices.h"

namespace nanobench::core {

std::map<std::int64_t, std::int64_t> hidden_matrix_counts(const ModelConfig& model) {
  const std::int64_t square = model.model_dim * model.model_dim;
  const bool is_joined = model.merged_qkv || model.qkv_rows == QkvRows::kStacked;
  std::map<std::int64_t, std::int64_t> counts;
  for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
    counts[model.mlp_ratio * square] += 2;  // into the hidden layer and out of it
    if (!model.has_attention(layer)) continue;
    counts[square] += 1;  // output projection
    if (is_joined) {
      counts[3 * square] += 1;
    } else {
      counts[square] += 1;                            // queries
      counts[model.kv_dim() * model.model_dim] += 2;  // keys, values
    }
  }
  return counts;
}

}  // namespace nanobench::core
