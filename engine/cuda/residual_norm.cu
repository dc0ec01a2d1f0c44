#include "engine/cuda/residual_norm.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "engine/cuda/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kWarps = 4;  // rows of a block at a time
/// Blocks of the backward pass on a multiprocessor. With 8, all kPartialBlocks of them are resident at once on a GPU of
/// 132 multiprocessors; with fewer, a second wave would leave most of it idle. Longer rows need more registers.
template <int kVectors>
constexpr int kBackwardBlocks = kVectors <= 3 ? 8 : 5;

/// a, b and w.
struct Weights {
  float x, x0, skip;
};

__device__ inline Weights weights_of(const DeviceResidualBlend& blend) {
  return {blend.weights != nullptr ? blend.weights[0] : 1.0f, blend.weights != nullptr ? blend.weights[1] : 0.0f,
          blend.skip_weight != nullptr ? *blend.skip_weight : blend.skip_scale};
}

/// A lane's part of a row: vectors `lane`, `lane` + 32, ...
template <int kVectors>
struct Part {
  std::int64_t width;
  std::int64_t begin;  ///< of the row
  __device__ bool has(int k) const { return column(k) < width; }
  __device__ std::int64_t at(int k) const { return begin + column(k); }

 private:
  __device__ std::int64_t column(int k) const {
    return (static_cast<std::int64_t>(k) * kWarp + threadIdx.x % kWarp) * kVector;
  }
};

/// 1 / sqrt(mean(row^2) + eps), of the whole warp's row.
template <int kVectors>
__device__ inline float inverse_of(const Floats8 (&row)[kVectors], std::int64_t width, float eps) {
  float squares = 0.0f;
#pragma unroll
  for (int k = 0; k < kVectors; ++k) squares += dot8(row[k], row[k]);
  return 1.0f / sqrtf(group_sum(squares) / static_cast<float>(width) + eps);
}

/// x + w skip.
__device__ inline Floats8 skipped(const DeviceResidualBlend& blend, const Weights& weights, std::int64_t at) {
  Floats8 x = load8(blend.x + at);
  if (blend.skip == nullptr) return x;
  const Floats8 skip = load8(blend.skip + at);
#pragma unroll
  for (int i = 0; i < kVector; ++i) x.at[i] += weights.skip * skip.at[i];
  return x;
}

__device__ inline Floats8 blended(const DeviceResidualBlend& blend, const Weights& weights, std::int64_t at) {
  Floats8 x = skipped(blend, weights, at);
#pragma unroll
  for (int i = 0; i < kVector; ++i) x.at[i] *= weights.x;
  if (blend.x0 != nullptr) {
    const Floats8 x0 = load8(blend.x0 + at);
#pragma unroll
    for (int i = 0; i < kVector; ++i) x.at[i] += weights.x0 * x0.at[i];
  }
  return rounded(x);
}

template <int kVectors>
__global__ void __launch_bounds__(kWarps* kWarp)
    forward_rows(ResidualShape shape, DeviceResidualBlend blend, ResidualOutputs out) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (row >= shape.rows) return;
  const Part<kVectors> part{shape.width, row * shape.width};
  const Weights weights = weights_of(blend);
  Floats8 x[kVectors];
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    x[k] = {};
    if (!part.has(k)) continue;
    x[k] = blended(blend, weights, part.at(k));
    if (out.blended != nullptr) store8(out.blended + part.at(k), x[k]);
  }
  if (out.normed == nullptr) return;
  const float inverse = inverse_of(x, shape.width, out.eps);
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    if (!part.has(k)) continue;
#pragma unroll
    for (int i = 0; i < kVector; ++i) x[k].at[i] *= inverse;
    store8(out.normed + part.at(k), x[k]);
  }
}

/// d of a row: round(dblended + inverse dnormed - blended inverse^3 mean(dnormed blended)).
template <int kVectors>
__device__ inline void gradient_of_row(const ResidualGradients& g, const Part<kVectors>& part, Floats8 (&d)[kVectors]) {
  Floats8 row[kVectors];
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    d[k] = row[k] = {};
    if (g.dnormed == nullptr || !part.has(k)) continue;
    d[k] = load8(g.dnormed + part.at(k));
    row[k] = load8(g.blended + part.at(k));
  }
  float inverse = 0.0f, projection = 0.0f;
  if (g.dnormed != nullptr) {  // the same for the whole warp
    inverse = inverse_of(row, part.width, g.eps);
#pragma unroll
    for (int k = 0; k < kVectors; ++k) projection += dot8(d[k], row[k]);
    projection = group_sum(projection) * inverse * inverse * inverse / static_cast<float>(part.width);
  }
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const bool has_more = g.dblended != nullptr && part.has(k);
    const Floats8 more = has_more ? load8(g.dblended + part.at(k)) : Floats8{};
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      d[k].at[i] = rounded(more.at[i] + (d[k].at[i] * inverse - row[k].at[i] * projection));
  }
}

/// Writes the gradients of the blend's inputs for eight numbers of d.
__device__ inline void store_gradients(const ResidualGradients& g, const Weights& weights, const Floats8& d,
                                       std::int64_t at) {
  Floats8 dx, dskip, dx0;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    dx.at[i] = weights.x * d.at[i];
    dskip.at[i] = weights.skip * dx.at[i];
    dx0.at[i] = weights.x0 * d.at[i];
  }
  if (g.dx != nullptr) store8(g.dx + at, dx);
  if (g.dskip != nullptr) store8(g.dskip + at, dskip);
  if (g.dx0 != nullptr) store8(g.dx0 + at, dx0);
}

/// Partial sums of the three scalars: workspace[i * blocks + block].
template <int kVectors>
__global__ void __launch_bounds__(kWarps* kWarp, kBackwardBlocks<kVectors>)
    backward_rows(ResidualShape shape, DeviceResidualBlend blend, ResidualGradients g, bool sums_weights) {
  __shared__ float shared[kWarps];
  const Weights weights = weights_of(blend);
  float sums[3] = {};  // of d (x + w skip), d x0, d skip
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp; row < shape.rows;
       row += stride) {
    const Part<kVectors> part{shape.width, row * shape.width};
    Floats8 d[kVectors];
    gradient_of_row(g, part, d);
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (!part.has(k)) continue;
      if (sums_weights) {
        sums[0] += dot8(d[k], skipped(blend, weights, part.at(k)));
        if (blend.x0 != nullptr) sums[1] += dot8(d[k], load8(blend.x0 + part.at(k)));
        if (blend.skip != nullptr) sums[2] += dot8(d[k], load8(blend.skip + part.at(k)));
      }
      store_gradients(g, weights, d[k], part.at(k));
    }
  }
  if (!sums_weights) return;
  sums[2] *= weights.x;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const float sum = block_sum<kWarps * kWarp>(sums[i], shared);
    if (threadIdx.x == 0) g.workspace[i * gridDim.x + blockIdx.x] = sum;
  }
}

void check_width(const ResidualShape& shape) {
  if (shape.width > 0 && shape.width % kVector == 0 && shape.width <= kMaxResidualWidth) return;
  throw Error(ErrorCode::kInvalidArgument, "residual_norm: rows of " + std::to_string(shape.width) +
                                               " numbers; expected a multiple of 8 up to " +
                                               std::to_string(kMaxResidualWidth));
}

/// Calls body with the min number of vectors per lane that holds a row, as a type.
template <class Body>
void with_vectors(std::int64_t width, const Body& body) {
  const std::int64_t vectors = ceil_div(width, kWarp * kVector);
  if (vectors <= 1) return body(std::integral_constant<int, 1>{});
  if (vectors <= 3) return body(std::integral_constant<int, 3>{});
  body(std::integral_constant<int, 4>{});
}

}  // namespace

void residual_norm_forward(const ResidualShape& shape, const DeviceResidualBlend& blend, const ResidualOutputs& out,
                           Stream stream) {
  check_width(shape);
  if (shape.rows <= 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(shape.rows, kWarps));
  with_vectors(shape.width, [&](auto vectors) {
    NB_LAUNCH((forward_rows<decltype(vectors)::value>), dim3(blocks), dim3(kWarps * kWarp), 0, stream, shape, blend,
              out);
  });
}

void residual_norm_backward(const ResidualShape& shape, const DeviceResidualBlend& blend,
                            const ResidualGradients& gradients, Stream stream) {
  check_width(shape);
  if (shape.rows <= 0) return;
  const bool sums_weights = gradients.dweights != nullptr || gradients.dskip_weight != nullptr;
  const std::int64_t blocks = std::min(kPartialBlocks, ceil_div(shape.rows, kWarps));
  with_vectors(shape.width, [&](auto vectors) {
    NB_LAUNCH((backward_rows<decltype(vectors)::value>), dim3(static_cast<unsigned>(blocks)), dim3(kWarps * kWarp), 0,
              stream, shape, blend, gradients, sums_weights);
  });
  const float* partials = gradients.workspace;
  if (gradients.dweights != nullptr)
    sum_partials(2, blocks, partials, 1.0f, /*adds=*/false, gradients.dweights, stream);
  if (gradients.dskip_weight != nullptr)
    sum_partials(1, blocks, partials + 2 * blocks, 1.0f, /*adds=*/false, gradients.dskip_weight, stream);
}

}  // namespace nanobench::core::cuda
