#include "engine/cuda/muon.h"

#include <algorithm>

#include "engine/cuda/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kBlock = kThreads * kVector;  // numbers that a block takes at a time

/// a + weight (b - a), counted from the nearer end. `rest` is 1 - weight.
__device__ inline float lerp(float a, float b, float weight, float rest) {
  return weight < 0.5f ? a + weight * (b - a) : b - (b - a) * rest;
}

struct Moved {
  float buffer, update;
};

__device__ inline Moved moved(const MuonMomentum& form, const MuonFactors& f, float buffer, float g) {
  if (form.accumulates) {
    buffer = buffer * f.momentum + g;
    return {buffer, form.is_nesterov ? g + f.momentum * buffer : buffer};
  }
  buffer = lerp(buffer, g, f.rest, f.momentum);
  return {buffer, form.is_nesterov ? lerp(g, buffer, f.momentum, f.rest) : buffer};
}

/// The number as stored.
__device__ inline float stored(const float*, float x) {
  return x;
}
__device__ inline float stored(const bf16*, float x) {
  return rounded(x);
}

/// Block (i, matrix) handles every gridDim.x-th piece of the matrix.
template <class Gradient, class Update>
__global__ void __launch_bounds__(kThreads)
    move_momentum(std::int64_t numbers, MuonMomentum form, const MuonFactors* factors, const Gradient* const* gradients,
                  float* buffers, Update* updates, float* partials) {
  __shared__ float shared[kThreads / kWarp];
  const std::int64_t matrix = blockIdx.y;
  const MuonFactors f = *factors;
  const Gradient* const gradient = gradients[matrix];
  float* const buffer = buffers + matrix * numbers;
  Update* const update = updates + matrix * numbers;
  const bool has_vectors = is_aligned(gradient) && is_aligned(buffer) && is_aligned(update);
  float squares = 0.0f;
  for (std::int64_t at = blockIdx.x * kBlock + threadIdx.x * kVector; at < numbers; at += gridDim.x * kBlock) {
    const Floats8 g = gradient != nullptr ? load_up_to(gradient, at, numbers, has_vectors) : Floats8{};
    Floats8 b = load_up_to(buffer, at, numbers, has_vectors), u;
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const Moved after = moved(form, f, b.at[i], g.at[i]);
      b.at[i] = after.buffer;
      u.at[i] = stored(update, after.update);
      squares += u.at[i] * u.at[i];  // zeros beyond the end
    }
    store_up_to(buffer, at, numbers, has_vectors, b);
    store_up_to(update, at, numbers, has_vectors, u);
  }
  squares = block_sum<kThreads>(squares, shared);
  if (threadIdx.x == 0) partials[matrix * kMuonPartials + blockIdx.x] = squares;
}

/// The divisor of a matrix, the same in every lane: partial sums i and i + 32, then over the warp.
template <class Update>
__device__ inline float divisor_of(const float* partials, std::int64_t count, const MuonDivisor& by) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const float low = lane < count ? partials[lane] : 0.0f;
  const float high = lane + kWarp < count ? partials[lane + kWarp] : 0.0f;
  static_assert(kMuonPartials == 2 * kWarp);
  const Update* const as = nullptr;
  const float norm = stored(as, sqrtf(group_sum(low + high)));
  return stored(as, stored(as, by.norm_factor * norm) + by.eps);
}

template <class Update>
__global__ void __launch_bounds__(kThreads)
    normalize(std::int64_t numbers, const Update* updates, const float* partials, std::int64_t count, MuonDivisor by,
              bf16* xs) {
  const std::int64_t matrix = blockIdx.y;
  const Update* const update = updates + matrix * numbers;
  bf16* const x = xs + matrix * numbers;
  const float divisor = divisor_of<Update>(partials + matrix * kMuonPartials, count, by);
  const bool has_vectors = is_aligned(update) && is_aligned(x);
  for (std::int64_t at = blockIdx.x * kBlock + threadIdx.x * kVector; at < numbers; at += gridDim.x * kBlock) {
    Floats8 u = load_up_to(update, at, numbers, has_vectors);
#pragma unroll
    for (int i = 0; i < kVector; ++i) u.at[i] = u.at[i] / divisor;
    store_up_to(x, at, numbers, has_vectors, u);
  }
}

__global__ void __launch_bounds__(kThreads)
    combine(std::int64_t count, float a, const bf16* x, float b, const bf16* y, bf16* out, bool has_vectors) {
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  if (at >= count) return;
  Floats8 sum = load_up_to(x, at, count, has_vectors);
  const Floats8 second = y != nullptr ? load_up_to(y, at, count, has_vectors) : Floats8{};
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    sum.at[i] = rounded(a * sum.at[i]);
    if (y != nullptr) sum.at[i] += rounded(b * second.at[i]);
  }
  store_up_to(out, at, count, has_vectors, sum);
}

__global__ void __launch_bounds__(kThreads)
    apply(std::int64_t numbers, const bf16* updates, float scale, const MuonFactors* factors, float* const* parameters,
          bf16* const* copies) {
  const std::int64_t matrix = blockIdx.y;
  const float rate = factors->rate;
  const bf16* const update = updates + matrix * numbers;
  float* const parameter = parameters[matrix];
  bf16* const copy = copies != nullptr ? copies[matrix] : nullptr;
  const bool has_vectors = is_aligned(update) && is_aligned(parameter) && is_aligned(copy);
  for (std::int64_t at = blockIdx.x * kBlock + threadIdx.x * kVector; at < numbers; at += gridDim.x * kBlock) {
    const Floats8 u = load_up_to(update, at, numbers, has_vectors);
    Floats8 p = load_up_to(parameter, at, numbers, has_vectors);
#pragma unroll
    for (int i = 0; i < kVector; ++i) p.at[i] -= rate * rounded(scale * u.at[i]);
    store_up_to(parameter, at, numbers, has_vectors, p);
    if (copy != nullptr) store_up_to(copy, at, numbers, has_vectors, p);
  }
}

/// Depends only on the shape, like the order of the sums.
dim3 grid_of(const MuonShape& shape) {
  const std::int64_t blocks = std::min(kMuonPartials, ceil_div(shape.numbers, kBlock));
  return dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(shape.matrices));
}

bool is_empty(const MuonShape& shape) {
  return shape.matrices <= 0 || shape.numbers <= 0;
}

}  // namespace

MuonFactors muon_factors(double momentum, double rate) {
  return {static_cast<float>(momentum), static_cast<float>(1.0 - momentum), static_cast<float>(rate)};
}

template <class Gradient, class Update>
void muon_momentum(const MuonShape& shape, const MuonMomentum& form, const MuonFactors* factors,
                   const Gradient* const* gradients, float* buffer, Update* update, float* partials, Stream stream) {
  if (is_empty(shape)) return;
  NB_LAUNCH((move_momentum<Gradient, Update>), grid_of(shape), dim3(kThreads), 0, stream, shape.numbers, form, factors,
            gradients, buffer, update, partials);
}

template <class Update>
void muon_normalize(const MuonShape& shape, const Update* update, const float* partials, const MuonDivisor& divisor,
                    bf16* x, Stream stream) {
  if (is_empty(shape)) return;
  const dim3 grid = grid_of(shape);
  NB_LAUNCH(normalize<Update>, grid, dim3(kThreads), 0, stream, shape.numbers, update, partials,
            static_cast<std::int64_t>(grid.x), divisor, x);
}

void muon_combine(std::int64_t count, float a, const bf16* x, float b, const bf16* y, bf16* out, Stream stream) {
  if (count <= 0) return;
  const bool has_vectors = is_aligned(x) && is_aligned(y) && is_aligned(out);
  NB_LAUNCH(combine, dim3(static_cast<unsigned>(ceil_div(count, kBlock))), dim3(kThreads), 0, stream, count, a, x, b, y,
            out, has_vectors);
}

void muon_apply(const MuonShape& shape, const bf16* update, float scale, const MuonFactors* factors,
                float* const* parameters, bf16* const* copies, Stream stream) {
  if (is_empty(shape)) return;
  NB_LAUNCH(apply, grid_of(shape), dim3(kThreads), 0, stream, shape.numbers, update, scale, factors, parameters,
            copies);
}

template void muon_momentum(const MuonShape&, const MuonMomentum&, const MuonFactors*, const float* const*, float*,
                            float*, float*, Stream);
template void muon_momentum(const MuonShape&, const MuonMomentum&, const MuonFactors*, const float* const*, float*,
                            bf16*, float*, Stream);
template void muon_momentum(const MuonShape&, const MuonMomentum&, const MuonFactors*, const bf16* const*, float*,
                            float*, float*, Stream);
template void muon_momentum(const MuonShape&, const MuonMomentum&, const MuonFactors*, const bf16* const*, float*,
                            bf16*, float*, Stream);
template void muon_normalize(const MuonShape&, const float*, const float*, const MuonDivisor&, bf16*, Stream);
template void muon_normalize(const MuonShape&, const bf16*, const float*, const MuonDivisor&, bf16*, Stream);

}  // namespace nanobench::core::cuda
