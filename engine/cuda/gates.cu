#include "engine/cuda/gates.h"

#include <algorithm>
#include <string>

#include "engine/cuda/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kWarps = 4;  // rows of a block at a time
constexpr int kMaxEntries = static_cast<int>(kMaxGateHeads * kMaxGateDim);

__device__ inline float sigmoid(float z) {
  return 1.0f / (1.0f + expf(-z));
}

__device__ inline int lane() {
  return static_cast<int>(threadIdx.x) % kWarp;
}
__device__ inline int warp() {
  return static_cast<int>(threadIdx.x) / kWarp;
}

/// sum a b over `count` numbers, a multiple of 8, in every lane.
__device__ inline float row_product(const bf16* a, const bf16* b, std::int64_t count) {
  float sum = 0.0f;
  for (std::int64_t i = lane() * kVector; i < count; i += kWarp * kVector) sum += dot8(load8(a + i), load8(b + i));
  return group_sum(sum);
}

__device__ inline float inverse_rms(const bf16* x, std::int64_t width, float eps) {
  return 1.0f / sqrtf(row_product(x, x, width) / static_cast<float>(width) + eps);
}

/// to = factor from.
__device__ inline void scale_row(const bf16* from, float factor, std::int64_t count, bf16* to) {
  for (std::int64_t i = lane() * kVector; i < count; i += kWarp * kVector) {
    Floats8 v = load8(from + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) v.at[k] *= factor;
    store8(to + i, v);
  }
}

__global__ void __launch_bounds__(kWarps* kWarp)
    head_gate_rows(DeviceHeadGateShape shape, DeviceHeadGate in, float* gates, bf16* out) {
  const std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp();
  if (t >= shape.length) return;
  const bf16* const x = in.x + t * shape.width;
  const float inverse = inverse_rms(x, shape.width, in.eps);
  float gate = 0.0f;  // of head `lane`
  if (lane() < shape.heads) {
    float z = 0.0f;
    for (std::int64_t g = 0; g < shape.gate_dim; ++g)
      z += inverse * to_float(x[g]) * in.weight[lane() * shape.gate_dim + g];
    gate = sigmoid(z);
    gates[t * shape.heads + lane()] = gate;
  }
  for (int h = 0; h < static_cast<int>(shape.heads); ++h) {
    const std::int64_t begin = (t * shape.heads + h) * shape.head_dim;
    scale_row(in.y + begin, __shfl_sync(kWholeWarp, gate, h), shape.head_dim, out + begin);
  }
}

/// dx = inverse dn - x inverse^3 mean(dn x), where dn is zero after its first numbers; lane g has dn[g].
__device__ inline void head_gate_dx(const DeviceHeadGateShape& shape, const bf16* x, float inverse, float dn,
                                    bf16* dx) {
  const bool has_feature = lane() < shape.gate_dim;
  const float product = group_sum(has_feature ? dn * to_float(x[lane()]) : 0.0f);
  const float projection = inverse * inverse * inverse * product / static_cast<float>(shape.width);
  for (std::int64_t first = 0; first < shape.width; first += kWarp * kVector) {  // the whole warp shuffles
    const std::int64_t i = first + lane() * kVector;
    const bool is_inside = i < shape.width;
    Floats8 v = is_inside ? load8(x + i) : Floats8{};
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const std::int64_t feature = i + k;
      const float direct = __shfl_sync(kWholeWarp, dn, static_cast<int>(feature % kWarp));
      v.at[k] = (feature < shape.gate_dim ? inverse * direct : 0.0f) - v.at[k] * projection;
    }
    if (is_inside) store8(dx + i, v);
  }
}

/// Partial sums of dweight: workspace[i * blocks + block].
__global__ void __launch_bounds__(kWarps* kWarp)
    head_gate_gradients(DeviceHeadGateShape shape, DeviceHeadGate in, DeviceHeadGateGradients g) {
  __shared__ float dweight[kWarps][kMaxEntries];
  const int heads = static_cast<int>(shape.heads), dim = static_cast<int>(shape.gate_dim), entries = heads * dim;
  for (int i = lane(); i < entries; i += kWarp) dweight[warp()][i] = 0.0f;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp(); t < shape.length; t += stride) {
    const bf16* const x = in.x + t * shape.width;
    const float inverse = inverse_rms(x, shape.width, in.eps);
    const float n = lane() < dim ? inverse * to_float(x[lane()]) : 0.0f;
    float dn = 0.0f;  // of feature `lane`
    for (int h = 0; h < heads; ++h) {
      const std::int64_t begin = (t * heads + h) * shape.head_dim;
      const float gate = g.gates[t * heads + h];
      const float dz = row_product(g.dout + begin, in.y + begin, shape.head_dim) * gate * (1.0f - gate);
      scale_row(g.dout + begin, gate, shape.head_dim, g.y + begin);
      if (lane() >= dim) continue;
      dweight[warp()][h * dim + lane()] += dz * n;
      dn += dz * in.weight[h * dim + lane()];
    }
    head_gate_dx(shape, x, inverse, dn, g.x + t * shape.width);
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < entries; i += kWarps * kWarp) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += dweight[w][i];
    g.workspace[static_cast<std::int64_t>(i) * gridDim.x + blockIdx.x] = sum;
  }
}

__global__ void __launch_bounds__(kWarps* kWarp)
    smear_rows(DeviceSmearShape shape, DeviceSmear in, float* gates, bf16* out) {
  const std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp();
  if (t >= shape.length) return;
  const bf16* const now = in.e + t * shape.width;
  if (t == 0) return scale_row(now, 1.0f, shape.width, out);
  const bool has_feature = lane() < shape.gate_dim;
  const float gate = sigmoid(group_sum(has_feature ? to_float(now[lane()]) * in.weight[lane()] : 0.0f));
  if (lane() == 0) gates[t] = gate;
  const float share = *in.lambda * gate;
  for (std::int64_t i = lane() * kVector; i < shape.width; i += kWarp * kVector) {
    Floats8 v = load8(now + i);
    const Floats8 before = load8(now - shape.width + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) v.at[k] += share * before.at[k];
    store8(out + t * shape.width + i, v);
  }
}

/// dz of row t: lambda s (1 - s) sum dout[t] e[t - 1], and the sum; zero for the first row.
struct SmearRow {
  float dz, product;
};
__device__ inline SmearRow smear_row(const DeviceSmearShape& shape, const DeviceSmear& in,
                                     const DeviceSmearGradients& g, std::int64_t t) {
  if (t == 0) return {0.0f, 0.0f};
  const float product = row_product(g.dout + t * shape.width, in.e + (t - 1) * shape.width, shape.width);
  const float gate = g.gates[t];
  return {*in.lambda * product * gate * (1.0f - gate), product * gate};
}

/// Partial sums of dweight and, last, dlambda: workspace[i * blocks + block].
__global__ void __launch_bounds__(kWarps* kWarp)
    smear_gradients(DeviceSmearShape shape, DeviceSmear in, DeviceSmearGradients g) {
  __shared__ float sums[kWarps][kWarp + 1];
  const int dim = static_cast<int>(shape.gate_dim);
  float dweight = 0.0f, dlambda = 0.0f;  // of feature `lane`; the same in all lanes
  const float weight = lane() < dim ? in.weight[lane()] : 0.0f;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp(); t < shape.length; t += stride) {
    const SmearRow row = smear_row(shape, in, g, t);
    const std::int64_t begin = t * shape.width;
    if (lane() < dim) dweight += row.dz * to_float(in.e[begin + lane()]);
    dlambda += row.product;
    const bool has_next = t + 1 < shape.length;
    const float share = has_next ? *in.lambda * g.gates[t + 1] : 0.0f;
    for (std::int64_t first = 0; first < shape.width; first += kWarp * kVector) {  // the whole warp shuffles
      const std::int64_t i = first + lane() * kVector;
      const bool is_inside = i < shape.width;
      Floats8 v = is_inside ? load8(g.dout + begin + i) : Floats8{};
      const Floats8 next = is_inside && has_next ? load8(g.dout + begin + shape.width + i) : Floats8{};
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        const std::int64_t feature = i + k;
        const float direct = __shfl_sync(kWholeWarp, weight, static_cast<int>(feature % kWarp));
        v.at[k] += share * next.at[k] + (feature < dim ? row.dz * direct : 0.0f);
      }
      if (is_inside) store8(g.e + begin + i, v);
    }
  }
  sums[warp()][lane()] = dweight;
  if (lane() == 0) sums[warp()][kWarp] = dlambda;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i <= dim; i += kWarps * kWarp) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += sums[w][i < dim ? i : kWarp];
    g.workspace[static_cast<std::int64_t>(i) * gridDim.x + blockIdx.x] = sum;
  }
}

void require(bool holds, const std::string& message) {
  if (!holds) throw Error(ErrorCode::kInvalidArgument, "gates: " + message);
}

void check_widths(std::int64_t width, std::int64_t gate_dim) {
  require(width > 0 && width % kVector == 0, "rows of " + std::to_string(width) + " numbers, no multiple of 8");
  require(gate_dim > 0 && gate_dim <= std::min(width, kMaxGateDim),
          "a gate reads " + std::to_string(gate_dim) + " features; at most 32, and not more than the row has");
}

void check(const DeviceHeadGateShape& shape) {
  check_widths(shape.width, shape.gate_dim);
  require(shape.heads > 0 && shape.heads <= kMaxGateHeads && shape.head_dim > 0 && shape.head_dim % kVector == 0,
          std::to_string(shape.heads) + " heads of " + std::to_string(shape.head_dim) +
              " numbers; at most 32 heads, of multiples of 8");
}

dim3 grid_of(std::int64_t blocks) {
  return dim3(static_cast<unsigned>(blocks));
}

std::int64_t partial_blocks(std::int64_t rows) {
  return std::min(kPartialBlocks, ceil_div(rows, kWarps));
}

}  // namespace

void head_gate_forward(const DeviceHeadGateShape& shape, const DeviceHeadGate& in, float* gates, bf16* out,
                       Stream stream) {
  check(shape);
  if (shape.length <= 0) return;
  NB_LAUNCH(head_gate_rows, grid_of(ceil_div(shape.length, kWarps)), dim3(kWarps * kWarp), 0, stream, shape, in, gates,
            out);
}

void head_gate_backward(const DeviceHeadGateShape& shape, const DeviceHeadGate& in,
                        const DeviceHeadGateGradients& gradients, Stream stream) {
  check(shape);
  if (shape.length <= 0) return;
  const std::int64_t blocks = partial_blocks(shape.length);
  NB_LAUNCH(head_gate_gradients, grid_of(blocks), dim3(kWarps * kWarp), 0, stream, shape, in, gradients);
  sum_partials(shape.heads * shape.gate_dim, blocks, gradients.workspace, 1.0f, /*adds=*/false, gradients.weight,
               stream);
}

void smear_forward(const DeviceSmearShape& shape, const DeviceSmear& in, float* gates, bf16* out, Stream stream) {
  check_widths(shape.width, shape.gate_dim);
  if (shape.length <= 0) return;
  NB_LAUNCH(smear_rows, grid_of(ceil_div(shape.length, kWarps)), dim3(kWarps * kWarp), 0, stream, shape, in, gates,
            out);
}

void smear_backward(const DeviceSmearShape& shape, const DeviceSmear& in, const DeviceSmearGradients& gradients,
                    Stream stream) {
  check_widths(shape.width, shape.gate_dim);
  if (shape.length <= 0) return;
  const std::int64_t blocks = partial_blocks(shape.length);
  NB_LAUNCH(smear_gradients, grid_of(blocks), dim3(kWarps * kWarp), 0, stream, shape, in, gradients);
  sum_partials(shape.gate_dim, blocks, gradients.workspace, 1.0f, /*adds=*/false, gradients.weight, stream);
  sum_partials(1, blocks, gradients.workspace + shape.gate_dim * blocks, 1.0f, /*adds=*/false, gradients.lambda,
               stream);
}

}  // namespace nanobench::core::cuda
