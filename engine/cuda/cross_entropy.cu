#include "engine/cuda/cross_entropy.h"

#include <cfloat>
#include <cmath>
#include <type_traits>

#include "engine/cuda/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

/// Two blocks share a multiprocessor, because two rows of 50304 fill its shared memory. 640 threads need ten rounds for
/// such a row, the last of which is nearly full, and leave each thread 48 registers.
constexpr int kThreads = 640;
constexpr int kSharedSums = kThreads / kWarp;
/// Max bytes of a cached row: every device since sm_80 offers a block 99 KiB, including the warps' sums.
constexpr std::int64_t kMaxCached = 99 * 1024 - kSharedSums * static_cast<int>(sizeof(float));

/// Bytes for `vocabulary` logits, at any position of the first one in its vector.
template <class Logit>
constexpr std::int64_t cached_bytes(std::int64_t vocabulary) {
  return (vocabulary + 2 * kVector) * static_cast<std::int64_t>(sizeof(Logit));
}
static_assert(cached_bytes<bf16>(50304) <= kMaxCached);

constexpr float kLog2E = 1.44269504f;

__device__ inline float exponential(float x) {
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

__host__ __device__ inline bool is_rounded_loss(const CrossEntropyOptions& options) {
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

/// The max capped logit, or a bound of it, and the sum of exponentials of all logits relative to it.
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

/// Any form of the loss. Both forms are used by the kernel alike: `add` in the first pass, `gradient` in the second.
template <class Logit, class Gradient>
class AnyLoss {
 public:
  explicit AnyLoss(const CrossEntropyOptions& options)
      : options_(options), inverse_cap_(options.cap > 0.0f ? 1.0f / options.cap : 0.0f) {}

  __device__ Softmax empty() const { return {-FLT_MAX, 0.0f}; }
  __device__ float relative(float logit, const Softmax& softmax) const {
    return capped_of(logit, options_, inverse_cap_).value - softmax.most;
  }
  __device__ void add(Softmax& own, const Row<Logit>& row, std::int64_t begin, Floats8 x) const {
    float most = own.most;
#pragma unroll
    for (int i = 0; i < kVector; ++i) x.at[i] = capped_of(x.at[i], options_, inverse_cap_).value;
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
  __device__ Softmax of_block(const Softmax& own, float* shared) const {
    const float most = block_max(own.most, shared);
    return {most, block_sum<kThreads>(own.sum * exponential(own.most - most), shared)};
  }
  __device__ float loss(float right, const Softmax& softmax) const {
    const float loss = logf(softmax.sum) - right;
    return options_.rounding == CrossEntropyRounding::kAll ? rounded(loss) : loss;
  }
  __device__ Floats8 gradient(Floats8 x, std::int64_t begin, std::int64_t target, const Softmax& softmax) const {
    const float share = 1.0f / softmax.sum, log_sum = logf(softmax.sum);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const Capped capped = capped_of(x.at[i], options_, inverse_cap_);
      if (is_rounded_loss(options_)) {
        x.at[i] = rounded_gradient(capped.value - softmax.most - log_sum, begin + i == target, capped.squash, options_);
        continue;
      }
      float gradient = exponential(capped.value - softmax.most) * share;
      if (begin + i == target) gradient -= 1.0f;
      gradient *= options_.factor * options_.logit_scale;
      if (options_.cap > 0.0f) {
        if (options_.rounds_capped) gradient = rounded(gradient);
        gradient *= 1.0f - capped.squash * capped.squash;  // in either form
      }
      x.at[i] = options_.rounds_logits ? rounded(gradient) : gradient;
    }
    return x;
  }

 private:
  CrossEntropyOptions options_;
  float inverse_cap_;
};

/// A cap bounds the logits, so their max need not be known: exponentials are relative to the bound. With
/// s = 1 / (1 + exp(2 logit / cap)), capped = bound - 2 cap s in both forms, and d capped / d logit = 4 s (1 - s). A
/// logit takes three instructions of the special-function unit a pass, where tanhf and an exponential take about five.
template <class Logit, class Gradient, bool kRoundsCapped>
class BoundedLoss {
 public:
  explicit BoundedLoss(const CrossEntropyOptions& options)
      : slope_(2.0f * kLog2E * options.logit_scale / options.cap),
        bound_(options.is_sigmoid ? 2.0f * options.cap : options.cap),
        twice_cap_(2.0f * options.cap),
        factor_(options.factor * options.logit_scale),
        rounds_logits_(options.rounds_logits) {}

  static bool fits(const CrossEntropyOptions& options) {
    constexpr float kMaxCap = 40.0f;  // exp(-2 cap) for all of a row must not vanish
    return options.cap > 0.0f && options.cap <= kMaxCap && !is_rounded_loss(options) &&
           options.rounds_capped == kRoundsCapped;
  }

  __device__ Softmax empty() const { return {bound_, 0.0f}; }
  __device__ float relative(float logit, const Softmax&) const { return below_bound(complement(logit)); }
  __device__ void add(Softmax& own, const Row<Logit>& row, std::int64_t begin, const Floats8& x) const {
    const bool has_all = row.has_all(begin);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float share = exponential(below_bound(complement(x.at[i])));
      if (has_all || row.has(begin + i)) own.sum += share;
    }
  }
  __device__ Softmax of_block(const Softmax& own, float* shared) const {
    return {own.most, block_sum<kThreads>(own.sum, shared)};
  }
  __device__ float loss(float right, const Softmax& softmax) const {
    return logf(softmax.sum) - right;
  }
  __device__ Floats8 gradient(Floats8 x, std::int64_t begin, std::int64_t target, const Softmax& softmax) const {
    const float share = factor_ / softmax.sum;
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float s = complement(x.at[i]);
      float gradient = exponential(below_bound(s)) * share;
      if (begin + i == target) gradient -= factor_;
      if (kRoundsCapped) gradient = rounded(gradient);
      gradient *= 4.0f * (s - s * s);
      x.at[i] = kStoresBfloat16 || !rounds_logits_ ? gradient : rounded(gradient);
    }
    return x;
  }

 private:
  static constexpr bool kReadsBfloat16 = std::is_same_v<Logit, bf16>;
  static constexpr bool kStoresBfloat16 = std::is_same_v<Gradient, bf16>;  // which rounds anyway

  __device__ float complement(float logit) const {
    if (!kReadsBfloat16 && rounds_logits_) logit = rounded(logit);
    return reciprocal_fast(1.0f + exp2_fast(logit * slope_));
  }
  __device__ float below_bound(float s) const {
    return kRoundsCapped ? rounded(bound_ - twice_cap_ * s) - bound_ : -twice_cap_ * s;
  }

  float slope_, bound_, twice_cap_, factor_;
  bool rounds_logits_;
};

template <class Logit, class Gradient, class Loss>
__global__ void __launch_bounds__(kThreads, 2)
    loss_of_rows(LogitsShape shape, const Logit* logits, const std::int64_t* targets, Loss loss, float* losses,
                 Gradient* gradient, float e5m2_scale, bool caches) {
  NB_DYNAMIC_SHARED(memory);
  __shared__ float shared[kSharedSums];
  Logit* const cache = caches ? reinterpret_cast<Logit*>(memory) : nullptr;
  const std::int64_t index = blockIdx.x, target = targets[index];
  const Row<Logit> row(logits + index * shape.logits_stride, shape.vocabulary);
  const float right = load1(row.data + target);  // before any thread writes a gradient over it
  const std::int64_t vectors = row.vectors();
  Softmax own = loss.empty();
  for (std::int64_t vector = threadIdx.x; vector < vectors; vector += kThreads) {
    const Floats8 x = row.load(row.begin(vector));
    if (caches) store8(cache + vector * kVector, x);
    loss.add(own, row, row.begin(vector), x);
  }
  const Softmax softmax = loss.of_block(own, shared);
  if (threadIdx.x == 0) losses[index] = loss.loss(loss.relative(right, softmax), softmax);
  if (gradient == nullptr) return;
  Gradient* const to = gradient + index * shape.gradient_stride;
  for (std::int64_t vector = threadIdx.x; vector < vectors; vector += kThreads) {
    const std::int64_t begin = row.begin(vector);
    const Floats8 x = caches ? load8(cache + vector * kVector) : row.load(begin);  // what this thread wrote
    const Floats8 d = loss.gradient(x, begin, target, softmax);
    constexpr std::uintptr_t kAlignment = sizeof(Gradient) == 1 ? 8 : 16;
    if (row.has_all(begin) && reinterpret_cast<std::uintptr_t>(to + begin) % kAlignment == 0) {
      store_gradients(to + begin, d, e5m2_scale);
      continue;
    }
    for (int i = 0; i < kVector; ++i)
      if (row.has(begin + i)) store_gradient(to + begin + i, d.at[i], e5m2_scale);
  }
}

/// Calls body with the cheapest form of the loss that computes it.
template <class Logit, class Gradient, class Body>
void with_loss(const CrossEntropyOptions& options, const Body& body) {
  using Bounded = BoundedLoss<Logit, Gradient, false>;
  using RoundedBounded = BoundedLoss<Logit, Gradient, true>;
  if (Bounded::fits(options)) return body(Bounded(options));
  if (RoundedBounded::fits(options)) return body(RoundedBounded(options));
  body(AnyLoss<Logit, Gradient>(options));
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
  with_loss<Logit, Gradient>(complete, [&](const auto& loss) {
    using Loss = std::decay_t<decltype(loss)>;
    NB_LAUNCH((loss_of_rows<Logit, Gradient, Loss>), dim3(static_cast<unsigned>(shape.rows)), dim3(kThreads),
              caches ? static_cast<std::size_t>(bytes) : 0, stream, shape, logits, targets, loss, losses, gradient,
              complete.e5m2_scale, caches);
  });
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
