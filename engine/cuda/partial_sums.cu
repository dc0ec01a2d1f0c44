#include "engine/cuda/partial_sums.h"

#include "engine/cuda/platform.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void sum_rows(std::int64_t count, const float* partials, float factor, bool adds, float* to) {
  __shared__ double sums[kThreads];
  const float* row = partials + static_cast<std::int64_t>(blockIdx.x) * count;
  double sum = 0.0;
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads) sum += static_cast<double>(row[i]);
  sums[threadIdx.x] = sum;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  const auto total = static_cast<float>(sums[0] * static_cast<double>(factor));
  to[blockIdx.x] = adds ? to[blockIdx.x] + total : total;
}

}  // namespace

void sum_partials(std::int64_t sums, std::int64_t count, const float* partials, float factor, bool adds, float* to,
                  Stream stream) {
  if (sums <= 0) return;
  NB_LAUNCH(sum_rows, dim3(static_cast<unsigned>(sums)), dim3(kThreads), 0, stream, count, partials, factor, adds, to);
}

}  // namespace nanobench::core::cuda
