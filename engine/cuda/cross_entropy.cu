#include "engine/cuda/cross_entropy.h"

#include <cfloat>
#include <cmath>
#include <type_traits>

#include "engine/cuda/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kThreads = 1024;  // two blocks fill a multiprocessor, and two rows of 50304 its shared memory
constexpr int kSharedSums = kThreads / kWarp;
/// Max bytes of a cached row: every device since sm_80 offers a block 99 KiB, including the warps' sums.
constexpr std::int64_t kMaxCached = 99 * 1024 - kSharedSums * static_cast<int>(sizeof(float));

/// Bytes for `vocabulary` logits, at any position of the first one in its vector.
template <class Logit>
constexpr std::int64_t cached_bytes(std::int64_t vocabulary) {
  return (vocabulary + 2 * kVector) * static_cast<std::int64_t>(sizeof(Logit));
}
static_assert(cached_bytes<bf16>(50304) <= kMaxCached);

__device__ inline float exponential(float x) {
  constexpr float kLog2E = 1.44269504f;
  return exp2_fast(x * kLog2E);
}

/// A row as vectors of eight that are aligned in memory: the first and the last may contain numbers outside the row.
template <class Logit>
struct Row {
  const Logit* data;
  std::int64_t count;
  int before;  ///< numbers of the first vector that come before the row

  __device__ Row(const Logit* row, std::int64_t vocabulary)
      : data(row),
        count(vocabulary),
        before(static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 16 / sizeof(Logit))) {}
  __device__ std::int64_t vectors() const { return (before + count + kVector - 1) / kVector; }
  __device__ std::int64_t begin(std::int64_t vector) const { return vector * kVector - before; }
  __device__ bool has_all(std::int64_t begin) const { return begin >= 0 && begin + kVector <= count; }
  __device__ bool has(std::int64_t index) const { return index >= 0 && index < count; }

  __device__ Floats8 load(std::int64_t begin) const {
    if (has_all(begin)) return load8(data + begin);
    Floats8 x = {};
    for (int i = 0; i < kVector; ++i)
      if (has(begin + i)) x.at[i] = load1(data + begin + i);
    return x;
  }
};

/// A logit as used in the loss.
struct Capped {
  float value;
  float squash;  ///< tanh of logit / cap; 0 without a cap; in a rounded loss the rounded sigmoid of 2 logit / cap
};

__device__ inline bool is_rounded_loss(const CrossEntropyOptions& options) {
  return options.rounding != CrossEntropyRounding::kNone;
}

__device__ inline Capped capped_of(float logit, const CrossEntropyOptions& options, float inverse_cap) {
  if (options.rounds_logits) logit = rounded(logit);
  logit *= options.logit_scale;
  if (options.cap <= 0.0f) return {logit, 0.0f};
  if (is_rounded_loss(options)) {
    const float sigmoid = rounded(1.0f / (1.0f + expf(-rounded(logit / (0.5f * options.cap)))));
    return {rounded(sigmoid * (2.0f * options.cap)), sigmoid};
  }
  const float tanh = tanhf(logit * inverse_cap);
  float value = tanh * options.cap;
  if (options.is_sigmoid) value += options.cap;
  return {options.rounds_capped ? rounded(value) : value, tanh};
}

/// The max capped logit, and the sum of exponentials of all logits relative to it.
struct Softmax {
  float most, sum;
};

/// The max over the block, in every thread.
__device__ inline float block_max(float x, float* shared) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) x = fmaxf(x, __shfl_xor_sync(kWholeWarp, x, distance));
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = x;
  __syncthreads();
  for (int warp = 0; warp < kThreads / kWarp; ++warp) x = fmaxf(x, shared[warp]);
  return x;
}

/// First pass; leaves the row in `cache` unless that is null.
template <class Logit>
__device__ inline Softmax softmax_of(const Row<Logit>& row, Logit* cache, const CrossEntropyOptions& options,
                                     float inverse_cap) {
  __shared__ float shared[kSharedSums];
  Softmax own{-FLT_MAX, 0.0f};
  const std::int64_t vectors = row.vectors();
  for (std::int64_t vector = threadIdx.x; vector < vectors; vector += kThreads) {
    const std::int64_t begin = row.begin(vector);
    Floats8 x = row.load(begin);
    if (cache != nullptr) store8(cache + vector * kVector, x);
    float most = own.most;
#pragma unroll
    for (int i = 0; i < kVector; ++i) x.at[i] = capped_of(x.at[i], options, inverse_cap).value;
    if (!row.has_all(begin)) {
      for (int i = 0; i < kVector; ++i)
        if (!row.has(begin + i)) x.at[i] = -INFINITY;
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) most = fmaxf(most, x.at[i]);
    float sum = own.sum * exponential(own.most - most);
#pragma unroll
    for (int i = 0; i < kVector; ++i) sum += exponential(x.at[i] - most);
    own = {most, sum};
  }
  const float most = block_max(own.most, shared);
  return {most, block_sum<kThreads>(own.sum * exponential(own.most - most), shared)};
}

__device__ inline void store_gradient(fp8_e5m2* to, float x, float scale) {
  *to = to_e5m2(x * scale);
}
template <class Gradient>
__device__ inline void store_gradient(Gradient* to, float x, float) {
  store1(to, x);
}

__device__ inline void store_gradients(fp8_e5m2* to, const Floats8& x, float scale) {
  std::uint32_t words[2] = {};
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    words[i / 4] |= static_cast<std::uint32_t>(to_e5m2(x.at[i] * scale).bits) << (8 * (i % 4));
  store_vector(to, make_uint2(words[0], words[1]));
}
template <class Gradient>
__device__ inline void store_gradients(Gradient* to, const Floats8& x, float) {
  store8(to, x);
}

/// d loss / d logit, each step rounded, from the log-softmax of a class.
__device__ inline float rounded_gradient(float log_share, bool is_target, float sigmoid,
                                         const CrossEntropyOptions& options) {
  const float share = expf(options.rounding == CrossEntropyRounding::kAll ? rounded(log_share) : log_share);
  float gradient = rounded(is_target ? share - 1.0f : share);
  gradient = rounded(gradient * (2.0f * options.cap));
  gradient = rounded(gradient * (1.0f - sigmoid) * sigmoid);
  return rounded(gradient / (0.5f * options.cap)) * options.factor * options.logit_scale;
}

/// Second pass over one vector of the row.
template <class Gradient>
__device__ inline Floats8 gradient_of(Floats8 x, std::int64_t begin, std::int64_t target, const Softmax& softmax,
                                      const CrossEntropyOptions& options, float inverse_cap) {
  const float share = 1.0f / softmax.sum, log_sum = logf(softmax.sum);
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const Capped capped = capped_of(x.at[i], options, inverse_cap);
    if (is_rounded_loss(options)) {
      x.at[i] = rounded_gradient(capped.value - softmax.most - log_sum, begin + i == target, capped.squash, options);
      continue;
    }
    float gradient = exponential(capped.value - softmax.most) * share;
    if (begin + i == target) gradient -= 1.0f;
    gradient *= options.factor * options.logit_scale;
    if (options.cap > 0.0f) {
      if (options.rounds_capped) gradient = rounded(gradient);
      gradient *= 1.0f - capped.squash * capped.squash;  // in either form
    }
    x.at[i] = options.rounds_logits ? rounded(gradient) : gradient;
  }
  return x;
}

template <class Logit, class Gradient>
__global__ void __launch_bounds__(kThreads, 2)
    loss_of_rows(LogitsShape shape, const Logit* logits, const std::int64_t* targets, CrossEntropyOptions options,
                 float* losses, Gradient* gradient, bool caches) {
  NB_DYNAMIC_SHARED(memory);
  Logit* const cache = caches ? reinterpret_cast<Logit*>(memory) : nullptr;
  const std::int64_t index = blockIdx.x, target = targets[index];
  const Row<Logit> row(logits + index * shape.logits_stride, shape.vocabulary);
  const float inverse_cap = options.cap > 0.0f ? 1.0f / options.cap : 0.0f;
  // Must precede any thread's write of a gradient over it.
  const float right = capped_of(load1(row.data + target), options, inverse_cap).value;
  const Softmax softmax = softmax_of(row, cache, options, inverse_cap);
  if (threadIdx.x == 0) {
    const float loss = logf(softmax.sum) + (softmax.most - right);
    losses[index] = options.rounding == CrossEntropyRounding::kAll ? rounded(loss) : loss;
  }
  if (gradient == nullptr) return;
  Gradient* const to = gradient + index * shape.gradient_stride;
  const std::int64_t vectors = row.vectors();
  for (std::int64_t vector = threadIdx.x; vector < vectors; vector += kThreads) {
    const std::int64_t begin = row.begin(vector);
    const Floats8 x = caches ? load8(cache + vector * kVector) : row.load(begin);  // what this thread wrote
    const Floats8 d = gradient_of<Gradient>(x, begin, target, softmax, options, inverse_cap);
    constexpr std::uintptr_t kAlignment = sizeof(Gradient) == 1 ? 8 : 16;
    if (row.has_all(begin) && reinterpret_cast<std::uintptr_t>(to + begin) % kAlignment == 0) {
      store_gradients(to + begin, d, options.e5m2_scale);
      continue;
    }
    for (int i = 0; i < kVector; ++i)
      if (row.has(begin + i)) store_gradient(to + begin + i, d.at[i], options.e5m2_scale);
  }
}

}  // namespace

template <class Logit, class Gradient>
void cross_entropy_rows(const LogitsShape& shape, const Logit* logits, const std::int64_t* targets,
                        const CrossEntropyOptions& options, float* losses, Gradient* gradient, Stream stream) {
  if (options.rounding != CrossEntropyRounding::kNone && (!options.is_sigmoid || options.cap <= 0.0f))
    throw Error(ErrorCode::kInvalidArgument, "cross_entropy: the rounded loss is that of the sigmoid form");
  if (shape.rows <= 0) return;
  CrossEntropyOptions complete = options;
  if (std::is_same_v<Logit, bf16>) complete.rounds_logits = true;  // their gradient, before e5m2 too
  const std::int64_t bytes = cached_bytes<Logit>(shape.vocabulary);
  const bool caches = gradient != nullptr && bytes <= kMaxCached;
  NB_LAUNCH((loss_of_rows<Logit, Gradient>), dim3(static_cast<unsigned>(shape.rows)), dim3(kThreads),
            caches ? static_cast<std::size_t>(bytes) : 0, stream, shape, logits, targets, complete, losses, gradient,
            caches);
}

template void cross_entropy_rows(const LogitsShape&, const bf16*, const std::int64_t*, const CrossEntropyOptions&,
                                 float*, bf16*, Stream);
template void cross_entropy_rows(const LogitsShape&, const bf16*, const std::int64_t*, const CrossEntropyOptions&,
                                 float*, fp8_e5m2*, Stream);
template void cross_entropy_rows(const LogitsShape&, const float*, const std::int64_t*, const CrossEntropyOptions&,
                                 float*, float*, Stream);
template void cross_entropy_rows(const LogitsShape&, const float*, const std::int64_t*, const CrossEntropyOptions&,
                                 float*, bf16*, Stream);
template void cross_entropy_rows(const LogitsShape&, const float*, const std::int64_t*, const CrossEntropyOptions&,
                                 float*, fp8_e5m2*, Stream);

}  // namespace nanobench::core::cuda
