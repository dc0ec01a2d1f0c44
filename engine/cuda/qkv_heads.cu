#include "engine/cuda/qkv_heads.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "engine/cuda/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBackwardBlocks = 3;  ///< of the backward pass, on a multiprocessor
/// Blocks of the backward pass: two full waves on a GPU of 132 multiprocessors.
constexpr std::int64_t kMaxBackwardBlocks = 2 * kBackwardBlocks * 132;
static_assert(kMaxBackwardBlocks <= kPartialBlocks);

/// A lane's pairs: numbers j and j + E / 2 of a head, eight neighbouring j.
struct Pairs {
  Floats8 first, second;
};

/// Position of a lane: its projection, its head, and its eight pairs of that head.
struct LanePlace {
  std::int64_t row;
  int head;        ///< of q, then of k, then of v
  int pair;        ///< the first of its eight
  bool is_active;  ///< false: there is nothing for this lane, but it takes the sums of its warp
};

__device__ inline LanePlace place_of(const QkvHeadsShape& shape, std::int64_t item, int lane) {
  const auto heads = static_cast<unsigned>(shape.heads + 2 * shape.kv_heads);
  const auto index = static_cast<unsigned>(item);  // checked to fit by the caller
  const unsigned row = index / heads;
  const int pair = lane * kVector;
  return {row, static_cast<int>(index - row * heads), pair, row < shape.length && 2 * pair < shape.head_dim};
}

template <class Number>
__device__ inline Pairs load_pairs(const Number* head, const LanePlace& place, std::int64_t head_dim) {
  if (!place.is_active || head == nullptr) return {};
  return {load8(head + place.pair), load8(head + place.pair + head_dim / 2)};
}
template <class Number>
__device__ inline void store_pairs(Number* head, const LanePlace& place, std::int64_t head_dim, const Pairs& x) {
  if (!place.is_active || head == nullptr) return;
  store8(head + place.pair, x.first);
  store8(head + place.pair + head_dim / 2, x.second);
}

/// The rotation of a lane's pairs; by the opposite angle with sign = -1.
struct Turn {
  Floats8 cos, sin;
  bool is_there = false;
  bool rounds = false;

  __device__ Turn(const QkvHeadsOptions& options, const LanePlace& place, std::int64_t head_dim)
      : cos{}, sin{}, is_there(options.cos != nullptr), rounds(options.rounds_rotation) {
    if (!is_there || !place.is_active) return;
    const std::int64_t at = place.row * (head_dim / 2) + place.pair;
    cos = load8(options.cos + at);
    sin = load8(options.sin + at);
  }

  /// Rounds the result.
  __device__ Pairs operator()(const Pairs& x, float sign) const {
    if (!is_there) return x;
    Pairs y;
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      float a = x.first.at[i] * cos.at[i], b = x.second.at[i] * sin.at[i];
      float c = x.second.at[i] * cos.at[i], d = x.first.at[i] * sin.at[i];
      if (rounds) a = rounded(a), b = rounded(b), c = rounded(c), d = rounded(d);
      y.first.at[i] = rounded(a + sign * b);
      y.second.at[i] = rounded(c - sign * d);
    }
    return y;
  }
};

template <int kLanes>
__device__ inline float pair_sum(const Pairs& a, const Pairs& b) {
  return group_sum<kLanes>(dot8(a.first, b.first) + dot8(a.second, b.second));
}

template <int kLanes>
__device__ inline float inverse_of(const Pairs& x, std::int64_t head_dim, float eps) {
  return 1.0f / sqrtf(pair_sum<kLanes>(x, x) / static_cast<float>(head_dim) + eps);
}

/// round(x / RMS(x)).
template <int kLanes>
__device__ inline Pairs normalized(const Pairs& x, std::int64_t head_dim, float eps) {
  const float inverse = inverse_of<kLanes>(x, head_dim, eps);
  Pairs y;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    y.first.at[i] = rounded(x.first.at[i] * inverse);
    y.second.at[i] = rounded(x.second.at[i] * inverse);
  }
  return y;
}

/// round(inverse dy - x inverse^3 mean(dy x)).
template <int kLanes>
__device__ inline Pairs norm_gradient(const Pairs& x, const Pairs& dy, std::int64_t head_dim, float eps) {
  const float inverse = inverse_of<kLanes>(x, head_dim, eps);
  const float projection = pair_sum<kLanes>(dy, x) * inverse * inverse * inverse / static_cast<float>(head_dim);
  Pairs dx;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    dx.first.at[i] = rounded(dy.first.at[i] * inverse - x.first.at[i] * projection);
    dx.second.at[i] = rounded(dy.second.at[i] * inverse - x.second.at[i] * projection);
  }
  return dx;
}

/// Weights of v and of its embedding.
struct BlendWeights {
  float value = 1.0f, embedding = 0.0f;
};

__device__ inline BlendWeights blend_weights(const QkvHeadsOptions& options) {
  const float* w = options.value_weights;
  switch (options.blend) {
    case HeadValueBlend::kNone: return {};
    case HeadValueBlend::kFirstOnly: return {w[0], 0.0f};
    case HeadValueBlend::kPair: return {w[0], w[1]};
    case HeadValueBlend::kLerp: return {1.0f - w[0], w[0]};
  }
  return {};
}

__device__ inline Floats8 weighted(float a, const Floats8& x) {
  Floats8 product;
#pragma unroll
  for (int i = 0; i < kVector; ++i) product.at[i] = a * x.at[i];
  return product;
}
__device__ inline Floats8 weighted(float a, const Floats8& x, float b, const Floats8& y) {
  Floats8 sum;
#pragma unroll
  for (int i = 0; i < kVector; ++i) sum.at[i] = a * x.at[i] + b * y.at[i];
  return sum;
}

/// The projection and head that a lane works on.
struct Role {
  bool is_query, is_value;
  std::int64_t head;
  std::int64_t heads;  ///< of the projection

  __device__ Role(const QkvHeadsShape& shape, const LanePlace& place)
      : is_query(place.head < shape.heads), is_value(place.head >= shape.heads + shape.kv_heads) {
    heads = is_query ? shape.heads : shape.kv_heads;
    head = place.head - (is_query ? 0 : is_value ? shape.heads + shape.kv_heads : shape.heads);
  }
  /// By value: a reference to one of three parameters would put all of them on the stack.
  template <class Value>
  __device__ Value of(Value q, Value k, Value v) const {
    return is_query ? q : is_value ? v : k;
  }
  template <class Number>
  __device__ Number* row_of(HeadRows<Number> q, HeadRows<Number> k, HeadRows<Number> v, const LanePlace& place,
                            std::int64_t dim) const {
    return head_of(of(q.data, k.data, v.data), of(q.stride, k.stride, v.stride), place, dim);
  }
  template <class Number>
  __device__ Number* row_of(Number* q, Number* k, Number* v, const LanePlace& place, std::int64_t dim) const {
    return head_of(of(q, k, v), heads * dim, place, dim);
  }
  template <class Number>
  __device__ Number* head_of(Number* data, std::int64_t stride, const LanePlace& place, std::int64_t dim) const {
    return data == nullptr ? nullptr : data + place.row * stride + head * dim;
  }
};

/// Zeros if the blend has none.
__device__ inline Pairs embedding_of(const QkvHeadsOptions& options, const Role& role, const LanePlace& place,
                                     std::int64_t dim) {
  const bool is_there = options.blend == HeadValueBlend::kPair || options.blend == HeadValueBlend::kLerp;
  const HeadRows<const bf16> rows = options.value_embedding;
  return is_there ? load_pairs(role.head_of(rows.data, rows.stride, place, dim), place, dim) : Pairs{};
}

template <int kLanes>
__global__ void __launch_bounds__(kThreads)
    forward_heads(QkvHeadsShape shape, QkvProjections in, QkvHeadsOptions options, QkvHeads out) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const LanePlace place = place_of(shape, thread / kLanes, static_cast<int>(thread % kLanes));
  const Role role(shape, place);
  const std::int64_t dim = shape.head_dim;
  Pairs x = load_pairs(role.row_of(in.q, in.k, in.v, place, dim), place, dim);
  bf16* const to = role.row_of(out.q, out.k, out.v, place, dim);
  // Called by the whole warp: lanes of v also take part in the norm's sums.
  Pairs placed = options.norm == HeadNorm::kBeforeRotation ? normalized<kLanes>(x, dim, options.eps) : x;
  placed = Turn(options, place, dim)(placed, 1.0f);
  if (options.norm == HeadNorm::kAfterRotation) placed = normalized<kLanes>(placed, dim, options.eps);
  if (!role.is_value) {
    store_pairs(to, place, dim, placed);
    return;
  }
  if (options.blend != HeadValueBlend::kNone) {
    const BlendWeights weights = blend_weights(options);
    const Pairs e = embedding_of(options, role, place, dim);
    x = {weighted(weights.value, x.first, weights.embedding, e.first),
         weighted(weights.value, x.second, weights.embedding, e.second)};
  }
  store_pairs(to, place, dim, x);
}

/// Gradient of a head of q or k with respect to its projection.
template <int kLanes>
__device__ inline Pairs unplaced(const QkvHeadsOptions& options, const LanePlace& place, std::int64_t dim,
                                 const Pairs& x, Pairs d) {
  const Turn turn(options, place, dim);
  if (options.norm == HeadNorm::kAfterRotation)
    return turn(norm_gradient<kLanes>(turn(x, 1.0f), d, dim, options.eps), -1.0f);
  d = turn(d, -1.0f);
  return options.norm == HeadNorm::kNone ? d : norm_gradient<kLanes>(x, d, dim, options.eps);
}

/// Half of a lane's pairs of v: their gradients, and their contribution to the weights' gradients.
__device__ inline void value_gradients(const QkvHeadsOptions& options, const QkvHeadsGradients& g,
                                       const BlendWeights& weights, const Floats8& d, const Floats8& v,
                                       const Floats8& e, bf16* dv, std::int64_t at, float (&sums)[2]) {
  if (options.blend == HeadValueBlend::kLerp) {
    sums[0] += dot8(d, weighted(1.0f, e, -1.0f, v));
  } else {
    sums[0] += dot8(d, v);
    sums[1] += dot8(d, e);
  }
  if (g.value_embedding != nullptr) store8(g.value_embedding + at, weighted(weights.embedding, d));
  if (dv != nullptr) store8(dv, weighted(weights.value, d));
}

template <int kLanes>
__global__ void __launch_bounds__(kThreads, kBackwardBlocks)
    backward_heads(QkvHeadsShape shape, QkvProjections in, QkvHeadsOptions options, QkvHeadsGradients g) {
  __shared__ float shared[kThreads / kWarp];
  const std::int64_t dim = shape.head_dim, kv_heads = shape.kv_heads;
  const std::int64_t threads = shape.length * (shape.heads + 2 * kv_heads) * kLanes;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const BlendWeights weights = blend_weights(options);
  float sums[2] = {};
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads; first < threads; first += stride) {
    const std::int64_t thread = first + threadIdx.x;
    const LanePlace place = place_of(shape, thread / kLanes, static_cast<int>(thread % kLanes));
    const Role role(shape, place);
    const Pairs x = load_pairs(role.row_of(in.q, in.k, in.v, place, dim), place, dim);
    const Pairs d = load_pairs(role.row_of(g.q_heads, g.k_heads, g.v_heads, place, dim), place, dim);
    const Pairs dx = unplaced<kLanes>(options, place, dim, x, d);  // the whole warp, as above
    bf16* const to = role.row_of(g.q, g.k, g.v, place, dim);
    if (!role.is_value) {
      store_pairs(to, place, dim, dx);
    } else if (place.is_active) {
      const Pairs e = embedding_of(options, role, place, dim);
      const std::int64_t at = (place.row * kv_heads + role.head) * dim + place.pair, half = dim / 2;
      bf16* const to_first = to == nullptr ? nullptr : to + place.pair;
      bf16* const to_second = to == nullptr ? nullptr : to_first + half;
      value_gradients(options, g, weights, d.first, x.first, e.first, to_first, at, sums);
      value_gradients(options, g, weights, d.second, x.second, e.second, to_second, at + half, sums);
    }
  }
  if (g.value_weights == nullptr) return;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float sum = block_sum<kThreads>(sums[i], shared);
    if (threadIdx.x == 0) g.workspace[i * gridDim.x + blockIdx.x] = sum;
  }
}

void check_shape(const QkvHeadsShape& shape) {
  const std::int64_t dim = shape.head_dim, items = shape.length * (shape.heads + 2 * shape.kv_heads);
  if (dim <= 0 || dim % (2 * kVector) != 0 || dim > kMaxHeadDim)
    throw Error(ErrorCode::kInvalidArgument, "qkv_heads: heads of " + std::to_string(dim) +
                                                 " numbers; expected a multiple of 16 up to " +
                                                 std::to_string(kMaxHeadDim));
  if (items > INT32_MAX / 2)
    throw Error(ErrorCode::kInvalidArgument,
                "qkv_heads: " + std::to_string(items) + " heads of all tokens; expected at most 2^30");
}

/// Calls body with the number of lanes per head, as a type: a power of two.
template <class Body>
void with_lanes(std::int64_t head_dim, const Body& body) {
  const std::int64_t lanes = head_dim / (2 * kVector);
  if (lanes <= 1) return body(std::integral_constant<int, 1>{});
  if (lanes <= 2) return body(std::integral_constant<int, 2>{});
  if (lanes <= 4) return body(std::integral_constant<int, 4>{});
  if (lanes <= 8) return body(std::integral_constant<int, 8>{});
  body(std::integral_constant<int, 16>{});
}

std::int64_t blocks_of(const QkvHeadsShape& shape, int lanes) {
  return ceil_div(shape.length * (shape.heads + 2 * shape.kv_heads) * lanes, kThreads);
}

}  // namespace

void qkv_heads_forward(const QkvHeadsShape& shape, const QkvProjections& in, const QkvHeadsOptions& options,
                       const QkvHeads& out, Stream stream) {
  check_shape(shape);
  if (shape.length <= 0) return;
  with_lanes(shape.head_dim, [&](auto lanes) {
    constexpr int kLanes = decltype(lanes)::value;
    const auto blocks = static_cast<unsigned>(blocks_of(shape, kLanes));
    NB_LAUNCH(forward_heads<kLanes>, dim3(blocks), dim3(kThreads), 0, stream, shape, in, options, out);
  });
}

void qkv_heads_backward(const QkvHeadsShape& shape, const QkvProjections& in, const QkvHeadsOptions& options,
                        const QkvHeadsGradients& gradients, Stream stream) {
  check_shape(shape);
  if (shape.length <= 0) return;
  with_lanes(shape.head_dim, [&](auto lanes) {
    constexpr int kLanes = decltype(lanes)::value;
    const std::int64_t blocks = std::min(kMaxBackwardBlocks, blocks_of(shape, kLanes));
    NB_LAUNCH(backward_heads<kLanes>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0, stream, shape, in,
              options, gradients);
    if (gradients.value_weights == nullptr || options.blend == HeadValueBlend::kNone) return;
    sum_partials(options.blend == HeadValueBlend::kLerp ? 1 : 2, blocks, gradients.workspace, 1.0f,
                 /*adds=*/false, gradients.value_weights, stream);
  });
}

}  // namespace nanobench::core::cuda
