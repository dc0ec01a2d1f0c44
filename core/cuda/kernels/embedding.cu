#include "core/cuda/kernels/embedding.h"

#include <string>

#include "core/cuda/kernels/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kSlab = kWarp * kVector;  // columns of a block of the gradient
static_assert(kSlab == kThreads);       // a thread stores a column

/// Each thread copies eight numbers of a row; blockIdx.y is the table.
template <class Number, class Token>
__global__ void __launch_bounds__(kThreads)
    look_up(std::int64_t length, const Token* tokens, EmbeddingTables<Number> tables) {
  const std::int64_t width = tables.width, pieces = (width + kVector - 1) / kVector;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t position = thread / pieces;
  if (position >= length) return;
  const std::int64_t begin = thread % pieces * kVector;
  const Number* const row = tables.tables[blockIdx.y] + static_cast<std::int64_t>(tokens[position]) * width;
  bf16* const to = tables.outputs[blockIdx.y] + position * width;
  const bool has_vectors = is_aligned(row) && is_aligned(to);
  store_up_to(to, begin, width, has_vectors, load_up_to(row, begin, width, has_vectors));
}

/// Adds numbers [begin, begin + 8) of the positions first, first + 8, ... below `last`.
template <class Gradient>
__device__ inline Floats8 sum_of_positions(const Gradient* d, const std::int32_t* order, std::int64_t first,
                                           std::int64_t last, std::int64_t begin, std::int64_t width, bool rounds_d) {
  Floats8 sum = {};
  for (std::int64_t i = first; i < last; i += kWarps) {
    const Gradient* const row = d + order[i] * width;
    Floats8 x = load_up_to(row, begin, width, is_aligned(row));
    if (rounds_d) x = rounded(x);
#pragma unroll
    for (int j = 0; j < kVector; ++j) sum.at[j] += x.at[j];
  }
  return sum;
}

/// Block (segment, slab of columns).
template <class Gradient, class Number>
__global__ void __launch_bounds__(kThreads)
    sum_segments(TokenSegments segments, std::int64_t width, const Gradient* d, bool rounds_d, Number* table) {
  __shared__ float sums[kWarps][kSlab];
  const std::int64_t segment = blockIdx.x;
  if (segment >= *segments.count) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t slab = static_cast<std::int64_t>(blockIdx.y) * kSlab, begin = slab + lane * kVector;
  const std::int64_t first = segments.starts[segment], last = segments.starts[segment + 1];
  if (begin < width) {
    const Floats8 sum = sum_of_positions(d, segments.order, first + warp, last, begin, width, rounds_d);
#pragma unroll
    for (int j = 0; j < kVector; ++j) sums[warp][lane * kVector + j] = sum.at[j];
  }
  __syncthreads();
  const std::int64_t column = slab + threadIdx.x;
  if (column >= width) return;
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) sum += sums[i][threadIdx.x];
  Number* const to = table + static_cast<std::int64_t>(segments.tokens[segment]) * width + column;
  store1(to, load1(to) + sum);
}

}  // namespace

template <class Number, class Token>
void embedding_forward(std::int64_t length, const Token* tokens, const EmbeddingTables<Number>& tables, Stream stream) {
  if (tables.count > kMaxTables)
    throw Error(ErrorCode::kInvalidArgument, "embedding_forward: " + std::to_string(tables.count) +
                                                 " tables; expected at most " + std::to_string(kMaxTables));
  if (length <= 0 || tables.count <= 0) return;
  const std::int64_t threads = length * ceil_div(tables.width, kVector);
  const dim3 grid(static_cast<unsigned>(ceil_div(threads, kThreads)), static_cast<unsigned>(tables.count));
  NB_LAUNCH((look_up<Number, Token>), grid, dim3(kThreads), 0, stream, length, tokens, tables);
}

TokenOrder token_order(std::span<const std::int32_t> tokens, std::int64_t vocabulary) {
  std::vector<std::int32_t> next(static_cast<std::size_t>(vocabulary) + 1);
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary)
      throw Error(ErrorCode::kInvalidArgument,
                  "token_order: token " + std::to_string(token) + "; expected one below " + std::to_string(vocabulary));
    ++next[static_cast<std::size_t>(token) + 1];
  }
  TokenOrder sorted;
  for (std::size_t token = 0; token + 1 < next.size(); ++token) {
    if (next[token + 1] > 0) {
      sorted.tokens.push_back(static_cast<std::int32_t>(token));
      sorted.starts.push_back(next[token]);
    }
    next[token + 1] += next[token];
  }
  sorted.starts.push_back(static_cast<std::int32_t>(tokens.size()));
  sorted.order.resize(tokens.size());
  for (std::size_t position = 0; position < tokens.size(); ++position)
    sorted.order[static_cast<std::size_t>(next[static_cast<std::size_t>(tokens[position])]++)] =
        static_cast<std::int32_t>(position);
  return sorted;
}

template <class Gradient, class Number>
void embedding_backward(const TokenSegments& segments, std::int64_t width, const Gradient* d, bool rounds_d,
                        Number* table, Stream stream) {
  if (segments.most <= 0 || width <= 0) return;
  const dim3 grid(static_cast<unsigned>(segments.most), static_cast<unsigned>(ceil_div(width, kSlab)));
  NB_LAUNCH((sum_segments<Gradient, Number>), grid, dim3(kThreads), 0, stream, segments, width, d, rounds_d, table);
}

template void embedding_forward(std::int64_t, const std::int32_t*, const EmbeddingTables<bf16>&, Stream);
template void embedding_forward(std::int64_t, const std::int64_t*, const EmbeddingTables<bf16>&, Stream);
template void embedding_forward(std::int64_t, const std::int32_t*, const EmbeddingTables<float>&, Stream);
template void embedding_forward(std::int64_t, const std::int64_t*, const EmbeddingTables<float>&, Stream);
template void embedding_backward(const TokenSegments&, std::int64_t, const bf16*, bool, bf16*, Stream);
template void embedding_backward(const TokenSegments&, std::int64_t, const bf16*, bool, float*, Stream);
template void embedding_backward(const TokenSegments&, std::int64_t, const float*, bool, bf16*, Stream);
template void embedding_backward(const TokenSegments&, std::int64_t, const float*, bool, float*, Stream);

}  // namespace nanobench::core::cuda
