#include "engine/kernels/attention_kernel.h"

#include <algorithm>

namespace nanobench::core {

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
