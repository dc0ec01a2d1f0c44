#include "engine/cuda/embedding.h"

#include <algorithm>

#include "engine/cuda/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kSlab = kWarp * kVector;  // columns of a block of the gradient
constexpr int kPlaces = 64;             // of the sorted sequence, of a block of the gradient
constexpr int kNoToken = -1;
constexpr std::size_t kMaxTables = 16;  // of a launch, whose arguments they are
static_assert(kSlab == kThreads);       // a thread stores a column of a frequent token

/// The arguments of a launch.
template <class Table>
struct Tables {
  Table at[kMaxTables];
};

/// Calls launch(tables, their number, the greatest width) for each 16 tables.
template <class Table, class Launch>
void for_each_batch(std::span<const Table> tables, const Launch& launch) {
  for (std::size_t first = 0; first < tables.size(); first += kMaxTables) {
    const std::span<const Table> batch = tables.subspan(first, std::min(kMaxTables, tables.size() - first));
    Tables<Table> arguments = {};
    std::int64_t width = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      arguments.at[i] = batch[i];
      width = std::max(width, batch[i].width);
    }
    launch(arguments, static_cast<unsigned>(batch.size()), width);
  }
}

/// Each thread copies eight numbers of a row; blockIdx.y is the table.
__global__ void __launch_bounds__(kThreads)
    look_up(std::int64_t length, const std::int32_t* tokens, Tables<EmbeddingTable> tables) {
  const EmbeddingTable& table = tables.at[blockIdx.y];
  const std::int64_t pieces = (table.width + kVector - 1) / kVector;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t position = thread / pieces;
  if (position >= length) return;
  const std::int64_t begin = thread % pieces * kVector;
  const float* const row = table.rows + tokens[position] * table.stride;
  bf16* const to = table.output + position * table.width;
  const Floats8 numbers = load_up_to(row, begin, table.width, is_aligned(row));
  store_up_to(to, begin, table.width, is_aligned(to), numbers);
}

/// Numbers [begin, begin + 8) of the rows at places first, first + step, ... below `last`.
__device__ inline Floats8 sum_of_rows(const EmbeddingGradient& table, const std::int64_t* positions, std::int64_t first,
                                      std::int64_t last, int step, std::int64_t begin) {
  Floats8 sum = {};
#pragma unroll 4
  for (std::int64_t place = first; place < last; place += step) {
    const bf16* const row = table.output + positions[place] * table.width;
    const Floats8 x = load_up_to(row, begin, table.width, is_aligned(row));
#pragma unroll
    for (int j = 0; j < kVector; ++j) sum.at[j] += x.at[j];
  }
  return sum;
}

/// One past the last place of the token at `first`.
__device__ inline std::int64_t end_of_token(const std::int32_t* tokens, std::int64_t first, std::int64_t length) {
  std::int64_t has = first, has_not = length;
  while (has + 1 < has_not) {
    const std::int64_t middle = (has + has_not) / 2;
    (tokens[middle] == tokens[first] ? has : has_not) = middle;
  }
  return has_not;
}

/// The row of the token that begins at `first`, computed by the whole block. Each warp handles every eighth place.
__device__ inline void sum_frequent(const EmbeddingGradient& table, std::int64_t token, const std::int64_t* positions,
                                    std::int64_t first, std::int64_t last, float (&sums)[kWarps][kSlab]) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t slab = static_cast<std::int64_t>(blockIdx.y) * kSlab, begin = slab + lane * kVector;
  if (begin < table.width) {
    const Floats8 sum = sum_of_rows(table, positions, first + warp, last, kWarps, begin);
#pragma unroll
    for (int j = 0; j < kVector; ++j) sums[warp][lane * kVector + j] = sum.at[j];
  }
  __syncthreads();
  const std::int64_t column = slab + threadIdx.x;
  if (column >= table.width) return;
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) sum += sums[i][threadIdx.x];
  table.rows[token * table.stride + column] = sum;
}

/// Block (places, slab of columns, table).
__global__ void __launch_bounds__(kThreads)
    sum_by_token(std::int64_t length, const std::int32_t* tokens, const std::int64_t* positions,
                 Tables<EmbeddingGradient> tables) {
  __shared__ std::int32_t near[2 * kPlaces + 1];  // the block's places, that before them, and as many behind them
  __shared__ float sums[kWarps][kSlab];
  __shared__ int frequent;  // which of `near`; 0: none
  const EmbeddingGradient& table = tables.at[blockIdx.z];
  const std::int64_t before = static_cast<std::int64_t>(blockIdx.x) * kPlaces - 1;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp;
  if (thread == 0) frequent = 0;
  if (thread < 2 * kPlaces + 1) {
    const std::int64_t place = before + thread;
    near[thread] = place >= 0 && place < length ? tokens[place] : kNoToken;
  }
  __syncthreads();
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.y) * kSlab + thread % kWarp * kVector;
  for (int i = 1 + warp; i <= kPlaces; i += kWarps) {
    const std::int32_t token = near[i];
    if (token == kNoToken || token == near[i - 1]) continue;
    if (token == near[i + kPlaces]) {
      frequent = i;  // by all lanes of one warp at most: no second one begins within 64 places
      continue;
    }
    int end = i + 1;
    while (near[end] == token) ++end;
    if (begin >= table.width) continue;
    float* const row = table.rows + token * table.stride;
    store_up_to(row, begin, table.width, is_aligned(row),
                sum_of_rows(table, positions, before + i, before + end, 1, begin));
  }
  __syncthreads();
  if (frequent == 0) return;
  const std::int64_t first = before + frequent;
  sum_frequent(table, near[frequent], positions, first, end_of_token(tokens, first, length), sums);
}

}  // namespace

void embedding_forward(std::int64_t length, const std::int32_t* tokens, std::span<const EmbeddingTable> tables,
                       Stream stream) {
  if (length <= 0) return;
  for_each_batch(tables, [&](const Tables<EmbeddingTable>& batch, unsigned count, std::int64_t width) {
    const dim3 grid(static_cast<unsigned>(ceil_div(length * ceil_div(width, kVector), kThreads)), count);
    NB_LAUNCH(look_up, grid, dim3(kThreads), 0, stream, length, tokens, batch);
  });
}

void embedding_backward(std::int64_t length, const std::int32_t* tokens, const std::int64_t* positions,
                        std::span<const EmbeddingGradient> tables, Stream stream) {
  if (length <= 0) return;
  for_each_batch(tables, [&](const Tables<EmbeddingGradient>& batch, unsigned count, std::int64_t width) {
    const dim3 grid(static_cast<unsigned>(ceil_div(length, kPlaces)), static_cast<unsigned>(ceil_div(width, kSlab)),
                    count);
    NB_LAUNCH(sum_by_token, grid, dim3(kThreads), 0, stream, length, tokens, positions, batch);
  });
}

}  // namespace nanobench::core::cuda
