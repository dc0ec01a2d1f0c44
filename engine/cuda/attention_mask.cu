#include "engine/cuda/attention.h"
#include "engine/cuda/platform.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kThreads = 1024;  // tokens of a chunk
constexpr int kWarps = kThreads / 32;
constexpr unsigned kLanes = 0xffffffffU;

/// The max of the values of this thread and all preceding threads in the block; every thread calls it. `shared` has
/// kWarps numbers.
__device__ int running_maximum(int value, int* shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (unsigned step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(kLanes, value, step);
    value = max(value, other);
  }
  if (lane == 31) shared[warp] = value;
  __syncthreads();
  int before = 0;
  for (int i = 0; i < warp; ++i) before = max(before, shared[i]);
  return max(value, before);
}

/// chunk_starts[c]: position of the last separator in chunk c, 0 if there is none.
__global__ void find_last_separators(AttentionMaskInputs in, std::int32_t* chunk_starts) {
  __shared__ int shared[kWarps];
  const int q = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const bool opens = in.document_mask && q < in.length && in.tokens[q] == in.document_separator;
  const int start = running_maximum(opens ? q : 0, shared);
  if (threadIdx.x == kThreads - 1) chunk_starts[blockIdx.x] = start;
}

__device__ int first_in_window(const AttentionMaskInputs& in, int q) {
  const int window = in.window_tokens == nullptr ? 0 : *in.window_tokens;
  if (window <= 0) return 0;
  if (in.window == AttentionWindow::kTokenInclusive) return max(0, q - window);
  int first = 0;
  if (in.window != AttentionWindow::kBlock) first = q - window + 1;
  if (in.window != AttentionWindow::kToken) {
    const int blocks = (window - 1) / in.block_size + 1;
    first = max(first, (q / in.block_size - blocks + 1) * in.block_size);
  }
  return first;
}

__global__ void find_first_keys(AttentionMaskInputs in, const std::int32_t* chunk_starts, std::int32_t* first_key) {
  __shared__ int shared[kWarps];
  __shared__ int carried[kWarps];
  const int chunk = static_cast<int>(blockIdx.x);
  int before = 0;
  for (int c = static_cast<int>(threadIdx.x); c < chunk; c += kThreads) before = max(before, chunk_starts[c]);
  before = running_maximum(before, carried);
  // The last thread has the maximum over all chunks before this one.
  __shared__ int chunk_before;
  if (threadIdx.x == kThreads - 1) chunk_before = before;
  __syncthreads();
  const int q = chunk * kThreads + static_cast<int>(threadIdx.x);
  const bool opens = in.document_mask && q < in.length && in.tokens[q] == in.document_separator;
  const int start = running_maximum(opens ? q : chunk_before, shared);
  if (q < in.length) first_key[q] = max(start, first_in_window(in, q));
}

/// first_key never decreases, so the last query of a key is found by bisection. Ranges of keys with the same last query
/// may be long, so each thread writes only its own key.
__global__ void find_last_queries(const std::int32_t* first_key, int length, std::int32_t* last_query) {
  const int key = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (key >= length) return;
  int sees = key;       // it sees itself
  int misses = length;  // as if a query after the last one missed every key
  while (misses - sees > 1) {
    const int middle = sees + (misses - sees) / 2;
    if (first_key[middle] <= key) {
      sees = middle;
    } else {
      misses = middle;
    }
  }
  last_query[key] = sees;
}

}  // namespace

void attention_mask(const AttentionMaskInputs& in, std::int32_t* first_key, std::int32_t* last_query, Stream stream) {
  if (in.length < 1 || in.block_size < 1) {
    throw Error(ErrorCode::kInvalidArgument, "attention mask: " + std::to_string(in.length) + " tokens in blocks of " +
                                                 std::to_string(in.block_size) + "; both must be positive");
  }
  const auto chunks = static_cast<unsigned>((in.length + kThreads - 1) / kThreads);
  // There are fewer chunks than tokens, and last_query is written last: it holds the chunks' starts until then.
  NB_LAUNCH(find_last_separators, dim3(chunks), dim3(kThreads), 0, stream, in, last_query);
  NB_LAUNCH(find_first_keys, dim3(chunks), dim3(kThreads), 0, stream, in, last_query, first_key);
  NB_LAUNCH(find_last_queries, dim3(chunks), dim3(kThreads), 0, stream, first_key, in.length, last_query);
}

}  // namespace nanobench::core::cuda
