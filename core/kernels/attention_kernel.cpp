#include "core/kernels/attention_kernel.h"

#include <algorithm>
#include <array>

#include "core/kernels/attention_paths.h"
#include "core/kernels/cpu_path.h"

namespace nanobench::core {
namespace {

const AttentionPath& path_in_use() {
  switch (cpu_path()) {
#if defined(__x86_64__)
    case CpuPath::kAvx2: return kAttentionAvx2;
    case CpuPath::kAvx512: return kAttentionAvx512;
#endif
    default: return kAttentionGeneric;
  }
}

}  // namespace

std::vector<float>& scratch(int slot, std::int64_t size) {
  thread_local std::array<std::vector<float>, 3> slots;
  std::vector<float>& buffer = slots[static_cast<std::size_t>(slot)];
  if (static_cast<std::int64_t>(buffer.size()) < size) buffer.resize(static_cast<std::size_t>(size));
  return buffer;
}

void attention_forward(const AttentionShape& shape, const AttentionInputs& in, float* y, float* log_sums,
                       const ParallelFor& parallel) {
  path_in_use().forward(shape, in, y, log_sums, parallel);
}

void attention_backward(const AttentionShape& shape, const AttentionInputs& in, const float* y, const float* log_sums,
                        const float* dy, float* dq, float* dk, float* dv, const ParallelFor& parallel) {
  path_in_use().backward(shape, in, y, log_sums, dy, dq, dk, dv, parallel);
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
