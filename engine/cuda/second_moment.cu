#include "engine/cuda/second_moment.h"

#include <algorithm>
#include <string>

#include "engine/cuda/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kParts = 64;  // blocks that share a matrix
constexpr float kTiny = 1e-10f;

/// Places in the workspace. `divisors` first holds sums of squares.
struct Workspace {
  float* divisors;  ///< [matrices, groups]
  float* norms;     ///< [matrices]
  float* partials;  ///< [matrices, kParts]
};

struct Arguments {
  DeviceSecondMoment of;
  Workspace workspace;
  std::int64_t groups;  ///< rows or columns that have a moment each
  bool is_by_rows;

  __device__ float* divisors() const { return workspace.divisors + blockIdx.y * groups; }
};

__global__ void __launch_bounds__(kThreads) sum_rows(Arguments a) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (row >= a.of.rows) return;
  const float* const v = a.of.updates[blockIdx.y] + row * a.of.columns;
  float sum = 0.0f;
  for (std::int64_t i = threadIdx.x % kWarp; i < a.of.columns; i += kWarp) sum += v[i] * v[i];
  sum = group_sum(sum);
  if (threadIdx.x % kWarp == 0) a.divisors()[row] = sum;
}

/// A lane takes a column, a warp every kWarps-th row.
__global__ void __launch_bounds__(kThreads) sum_columns(Arguments a) {
  __shared__ float sums[kWarps][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + lane;
  const float* const v = a.of.updates[blockIdx.y];
  float sum = 0.0f;
  for (std::int64_t row = warp; column < a.of.columns && row < a.of.rows; row += kWarps) {
    const float x = v[row * a.of.columns + column];
    sum += x * x;
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= a.of.columns) return;
  float total = 0.0f;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) total += sums[w][lane];
  a.divisors()[column] = total;
}

/// Moments, divisors and the norm of a matrix.
__global__ void __launch_bounds__(kThreads) update_moments(Arguments a) {
  __shared__ float shared[kWarps];
  float* const divisors = a.divisors();
  float* const moments = a.of.moments[blockIdx.y];
  const auto count = static_cast<float>(a.is_by_rows ? a.of.columns : a.of.rows);
  float total = 0.0f;
  for (std::int64_t i = threadIdx.x; i < a.groups; i += kThreads) {
    const float squares = divisors[i];
    total += squares;
    const float moment = moments[i] + a.of.rest * (squares / count - moments[i]);
    moments[i] = moment;
    divisors[i] = fmaxf(sqrtf(moment), kTiny);
  }
  total = block_sum<kThreads>(total, shared);
  if (threadIdx.x == 0) a.workspace.norms[blockIdx.y] = sqrtf(total);
}

__device__ inline float stored(const Arguments& a, float x) {
  return a.of.rounds ? rounded(x) : x;
}

__global__ void __launch_bounds__(kThreads) divide(Arguments a) {
  __shared__ float shared[kWarps];
  const auto numbers = static_cast<unsigned>(a.of.rows * a.of.columns), columns = static_cast<unsigned>(a.of.columns);
  float* const v = a.of.updates[blockIdx.y];
  const float* const divisors = a.divisors();
  float squares = 0.0f;
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < numbers; i += kParts * kThreads) {
    const float x = stored(a, v[i] / divisors[a.is_by_rows ? i / columns : i % columns]);
    v[i] = x;
    squares += x * x;
  }
  squares = block_sum<kThreads>(squares, shared);
  if (threadIdx.x == 0) a.workspace.partials[blockIdx.y * kParts + blockIdx.x] = squares;
}

__global__ void __launch_bounds__(kThreads) rescale(Arguments a) {
  const auto numbers = static_cast<unsigned>(a.of.rows * a.of.columns);
  float squares = 0.0f;
  for (int part = 0; part < kParts; ++part) squares += a.workspace.partials[blockIdx.y * kParts + part];
  const float factor = a.workspace.norms[blockIdx.y] / fmaxf(sqrtf(squares), kTiny);
  float* const v = a.of.updates[blockIdx.y];
  float* const parameter = a.of.parameters[blockIdx.y];
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < numbers; i += kParts * kThreads) {
    const float x = stored(a, v[i] * factor);
    v[i] = x;
    if (parameter != nullptr) parameter[i] -= a.of.rate * x;
  }
}

}  // namespace

std::int64_t second_moment_workspace(std::int64_t rows, std::int64_t columns, std::int64_t matrices) {
  return matrices * (std::max(rows, columns) + 1 + kParts);
}

void second_moment_normalize(const DeviceSecondMoment& of, float* workspace, Stream stream) {
  if (of.matrices > kSecondMomentMatrices || of.rows * of.columns >= std::int64_t{1} << 31)
    throw Error(ErrorCode::kInvalidArgument, "second_moment: " + std::to_string(of.matrices) + " matrices of " +
                                                 std::to_string(of.rows * of.columns) +
                                                 " numbers; at most 64 of less than 2^31");
  if (of.matrices <= 0 || of.rows <= 0 || of.columns <= 0) return;
  const bool is_by_rows = of.rows >= of.columns;
  const std::int64_t groups = is_by_rows ? of.rows : of.columns;
  float* const norms = workspace + of.matrices * groups;
  const Arguments arguments{of, {workspace, norms, norms + of.matrices}, groups, is_by_rows};
  const auto matrices = static_cast<unsigned>(of.matrices);
  const auto grid = [&](std::int64_t blocks) { return dim3(static_cast<unsigned>(blocks), matrices); };
  const dim3 block(kThreads);
  if (is_by_rows) {
    NB_LAUNCH(sum_rows, grid(ceil_div(of.rows, kWarps)), block, 0, stream, arguments);
  } else {
    NB_LAUNCH(sum_columns, grid(ceil_div(of.columns, kWarp)), block, 0, stream, arguments);
  }
  NB_LAUNCH(update_moments, grid(1), block, 0, stream, arguments);
  NB_LAUNCH(divide, grid(kParts), block, 0, stream, arguments);
  NB_LAUNCH(rescale, grid(kParts), block, 0, stream, arguments);
}

}  // namespace nanobench::core::cuda
