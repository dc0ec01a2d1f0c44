#include "engine/kernels/attention_kernel.h"

#include <algorithm>

#include "engine/kernels/vector/paths.h"

namespace nanobench::core {

void attention_forward(const AttentionShape& shape, const AttentionInputs& in, float* y, float* log_sums,
                       ThreadPool& threads) {
  NB_BY_PATH(attention_forward)(shape, in, y, log_sums, threads);
}

void attention_backward(const AttentionShape& shape, const AttentionInputs& in, const float* y, const float* log_sums,
                        const float* dy, float* dq, float* dk, float* dv, ThreadPool& threads) {
  NB_BY_PATH(attention_backward)(shape, in, y, log_sums, dy, dq, dk, dv, threads);
}

double attention_forward_flops(const AttentionShape& shape, std::span<const std::int64_t> first_key) {
  constexpr std::int64_t kSide = 64;
  double pairs = 0;
  for (std::int64_t query = 0; query < shape.length; query += kSide) {
    const std::int64_t queries = std::min(kSide, shape.length - query);
    const std::int64_t begin = first_key[static_cast<std::size_t>(query)] / kSide * kSide;
    const std::int64_t blocks = (query + queries - begin + kSide - 1) / kSide;
    pairs += static_cast<double>(queries * blocks * kSide);
  }
  return pairs * static_cast<double>(shape.heads * shape.head_dim) * 4.0;
}

}  // namespace nanobench::core
