// The half of a block before attention, for one instruction set; see block_kernel.h.
#include <cstdint>

#include "engine/kernels/block_kernel.h"
#include "engine/kernels/scratch.h"

namespace nanobench::core::NB_PATH {

#include "engine/kernels/vector/simd.inl"
//
#include "engine/kernels/vector/gemm.inl"
//
#include "engine/kernels/vector/rows.inl"
//
#include "engine/kernels/vector/weights.inl"

namespace {

std::int64_t query_width(const QkvShape& shape) {
  return shape.heads * shape.head_dim;
}
std::int64_t key_width(const QkvShape& shape) {
  return shape.kv_heads * shape.head_dim;
}

/// y1 = x1 cos + x2 sin, y2 = x2 cos - x1 sin in place; sign -1 rotates back.
void rotate_head(float* x, const float* cos, const float* sin, float sign, std::int64_t half) {
  float* __restrict first = x;
  float* __restrict second = x + half;
  for (std::int64_t j = 0; j < half; ++j) {
    const float x1 = first[j], x2 = second[j], s = sign * sin[j];
    first[j] = x1 * cos[j] + x2 * s;
    second[j] = x2 * cos[j] - x1 * s;
  }
}

/// Norm and rotation of the heads of row t, in place.
void place_heads(const QkvInputs& in, std::int64_t t, std::int64_t heads, std::int64_t head_dim, float* x,
                 float* inverses) {
  for (std::int64_t h = 0; h < heads; ++h, x += head_dim) {
    if (in.normalizes_heads) {
      inverses[h] = inverse_rms(x, head_dim, in.head_norm_eps);
      scale_row(x, inverses[h], head_dim, x);
    }
    if (in.cos != nullptr) {
      const std::int64_t half = head_dim / 2;
      rotate_head(x, in.cos + t * half, in.sin + t * half, 1.0f, half);
    }
  }
}

/// The gradient of the projection's output from dy of the placed heads y. Rotation keeps inner products, so the norm's
/// part is taken in rotated coordinates.
void place_heads_backward(const QkvInputs& in, std::int64_t t, std::int64_t heads, std::int64_t head_dim,
                          const float* y, const float* inverses, const float* dy, float* dx) {
  for (std::int64_t h = 0; h < heads; ++h, y += head_dim, dy += head_dim, dx += head_dim) {
    const float inverse = in.normalizes_heads ? inverses[h] : 1.0f;
    const float projection = in.normalizes_heads ? inner_product(dy, y, head_dim) / static_cast<float>(head_dim) : 0.0f;
    for (std::int64_t e = 0; e < head_dim; e += NB_LANES)
      store(dx + e, (load(dy + e) - load(y + e) * projection) * inverse);
    if (in.cos != nullptr) {
      const std::int64_t half = head_dim / 2;
      rotate_head(dx, in.cos + t * half, in.sin + t * half, -1.0f, half);
    }
  }
}

void mix_values(const QkvInputs& in, std::int64_t t, std::int64_t width, float* v) {
  const float* embedding = in.value_embedding == nullptr ? nullptr : in.value_embedding + t * width;
  for (std::int64_t j = 0; j < width; j += NB_LANES) {
    Vec mixed = load(v + j) * in.value_weight;
    if (embedding != nullptr) mixed += load(embedding + j) * in.embedding_weight;
    store(v + j, mixed);
  }
}

/// The three projections as they are multiplied by.
struct Projections {
  Weight weights[3];
  float* packed;

  Projections(const QkvShape& shape, const QkvInputs& in, bool transposes, ThreadPool& threads)
      : weights{{in.wq, query_width(shape), shape.model_dim, transposes, 1.0f},
                {in.wk, key_width(shape), shape.model_dim, transposes, 1.0f},
                {in.wv, key_width(shape), shape.model_dim, transposes, transposes ? 1.0f : in.value_weight}},
        packed(scratch(ScratchUse::kPackedMatrix, weights[0].size() + weights[1].size() + weights[2].size())) {
    pack_weights(weights, 3, packed, threads);
  }

  /// out = a W^T (or a W) of projection i, [rows, out_width].
  template <bool Accumulate>
  void apply(int i, std::int64_t rows, const float* a, float* out) const {
    const float* at = packed;
    for (int before = 0; before < i; ++before) at += weights[before].size();
    const std::int64_t columns = weights[i].outer();
    multiply<Accumulate>(rows, columns, weights[i].inner(), a, weights[i].inner(), at, out, columns);
  }
};

/// The blended residual stream, from the forward pass.
const float* blended(const QkvInputs& in, const QkvActivations& saved) {
  return in.blend.is_identity() ? in.blend.x : saved.x;
}

/// Sums of one part of the rows.
struct RowSums {
  BlendSums blend;
  float value_embedding = 0.0f;
};

struct HeadGradients {
  float *q, *k;  // of the projections' outputs, [T, H E] and [T, Hkv E]
};

void qkv_rows_backward(const QkvShape& shape, const QkvInputs& in, const QkvActivations& saved, const QkvGradients& g,
                       const Projections& projections, const HeadGradients& heads, std::int64_t begin,
                       std::int64_t count, RowSums& sums) {
  const std::int64_t width = shape.model_dim, q_width = query_width(shape), k_width = key_width(shape);
  for (std::int64_t t = begin; t < begin + count; ++t) {
    place_heads_backward(in, t, shape.heads, shape.head_dim, saved.q + t * q_width, saved.q_inverse + t * shape.heads,
                         g.dq + t * q_width, heads.q + t * q_width);
    place_heads_backward(in, t, shape.kv_heads, shape.head_dim, saved.k + t * k_width,
                         saved.k_inverse + t * shape.kv_heads, g.dk + t * k_width, heads.k + t * k_width);
    if (in.value_embedding == nullptr) continue;
    sums.value_embedding += inner_product(g.dv + t * k_width, in.value_embedding + t * k_width, k_width);
    if (g.value_embedding != nullptr)
      scale_row(g.dv + t * k_width, in.embedding_weight, k_width, g.value_embedding + t * k_width);
  }
  float* const dn = scratch(ScratchUse::kRows, rows_of_part(width) * width);
  projections.apply<false>(0, count, heads.q + begin * q_width, dn);
  projections.apply<true>(1, count, heads.k + begin * k_width, dn);
  projections.apply<true>(2, count, g.dv + begin * k_width, dn);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = (begin + i) * width;
    float* const dx = dn + i * width;
    rms_norm_row_backward(blended(in, saved) + at, saved.inverse[begin + i], dx, g.dx == nullptr ? nullptr : g.dx + at,
                          width, dx);
    blend_row_backward(in.blend, at, width, dx, g.blend, sums.blend);
  }
}

/// dWv holds dv^T n, unscaled: its product with Wv is the gradient of the weight of values, and scaled it is Wv's.
void finish_value_weight(const QkvShape& shape, const QkvInputs& in, const QkvGradients& g) {
  const std::int64_t count = key_width(shape) * shape.model_dim;
  double sum = 0.0;
  for (std::int64_t row = 0; row < count; row += shape.model_dim) {
    sum += inner_product(g.wv + row, in.wv + row, shape.model_dim);
    scale_row(g.wv + row, in.value_weight, shape.model_dim, g.wv + row);
  }
  if (g.value_weight != nullptr) *g.value_weight = sum;
}

}  // namespace

void qkv_forward(const QkvShape& shape, const QkvInputs& in, const QkvActivations& out, ThreadPool& threads) {
  const std::int64_t width = shape.model_dim, q_width = query_width(shape), k_width = key_width(shape);
  const Projections projections(shape, in, /*transposes=*/true, threads);
  for_row_parts(shape.length, width, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t) {
    float* const normed = scratch(ScratchUse::kRows, rows_of_part(width) * width);
    for (std::int64_t t = begin; t < begin + count; ++t) {
      if (!in.blend.is_identity()) blend_row(in.blend, t * width, width, out.x + t * width);
      const float* x = blended(in, out) + t * width;
      out.inverse[t] = inverse_rms(x, width, in.norm_eps);
      scale_row(x, out.inverse[t], width, normed + (t - begin) * width);
    }
    projections.apply<false>(0, count, normed, out.q + begin * q_width);
    projections.apply<false>(1, count, normed, out.k + begin * k_width);
    projections.apply<false>(2, count, normed, out.v + begin * k_width);
    for (std::int64_t t = begin; t < begin + count; ++t) {
      place_heads(in, t, shape.heads, shape.head_dim, out.q + t * q_width, out.q_inverse + t * shape.heads);
      place_heads(in, t, shape.kv_heads, shape.head_dim, out.k + t * k_width, out.k_inverse + t * shape.kv_heads);
      if (in.value_weight != 1.0f || in.value_embedding != nullptr) mix_values(in, t, k_width, out.v + t * k_width);
    }
  });
}

void qkv_backward(const QkvShape& shape, const QkvInputs& in, const QkvActivations& saved, const QkvGradients& g,
                  ThreadPool& threads) {
  const std::int64_t width = shape.model_dim, q_width = query_width(shape), k_width = key_width(shape);
  const std::int64_t parts = part_count(shape.length, width);
  constexpr std::int64_t kSumFloats = sizeof(RowSums) / sizeof(float);
  float* const memory = scratch(ScratchUse::kParts, shape.length * (q_width + k_width) + parts * kSumFloats);
  const HeadGradients heads{memory, memory + shape.length * q_width};
  auto* const sums = reinterpret_cast<RowSums*>(memory + shape.length * (q_width + k_width));
  {
    const Projections projections(shape, in, /*transposes=*/false, threads);
    for_row_parts(shape.length, width, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t part) {
      sums[part] = RowSums{};
      qkv_rows_backward(shape, in, saved, g, projections, heads, begin, count, sums[part]);
    });
  }
  add_blend_sums(
      parts, [&](std::int64_t i) { return sums[i].blend; }, g.blend);
  if (g.embedding_weight != nullptr) {
    *g.embedding_weight = 0.0;
    for (std::int64_t i = 0; i < parts; ++i) *g.embedding_weight += sums[i].value_embedding;
  }
  const PackedRows normed{blended(in, saved), width, saved.inverse};
  const WeightGradient gradients[] = {{heads.q, q_width, q_width, 0, g.wq, 1.0f, false, false},
                                      {heads.k, k_width, k_width, 0, g.wk, 1.0f, false, false},
                                      {g.dv, k_width, k_width, 0, g.wv, 1.0f, false, false}};
  weight_gradients(gradients, 3, &normed, 1, shape.length, threads);
  if (in.value_weight != 1.0f || g.value_weight != nullptr) finish_value_weight(shape, in, g);
}

void blend_forward(std::int64_t length, std::int64_t width, const ResidualBlend& blend, float* x, ThreadPool& threads) {
  for_row_parts(length, width, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t) {
    for (std::int64_t t = begin; t < begin + count; ++t) blend_row(blend, t * width, width, x + t * width);
  });
}

void blend_backward(std::int64_t length, std::int64_t width, const ResidualBlend& blend, const float* dx,
                    const ResidualBlendGradients& gradients, ThreadPool& threads) {
  const std::int64_t parts = part_count(length, width);
  auto* const sums = reinterpret_cast<BlendSums*>(
      scratch(ScratchUse::kParts, parts * static_cast<std::int64_t>(sizeof(BlendSums) / sizeof(float))));
  for_row_parts(length, width, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t part) {
    sums[part] = BlendSums{};
    for (std::int64_t t = begin; t < begin + count; ++t)
      blend_row_backward(blend, t * width, width, dx + t * width, gradients, sums[part]);
  });
  add_blend_sums(
      parts, [&](std::int64_t i) { return sums[i]; }, gradients);
}

void rms_norm_forward(std::int64_t rows, std::int64_t width, const float* x, float eps, float* y, float* inverse,
                      ThreadPool& threads) {
  for_row_parts(rows, width, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t) {
    for (std::int64_t t = begin; t < begin + count; ++t) {
      inverse[t] = inverse_rms(x + t * width, width, eps);
      scale_row(x + t * width, inverse[t], width, y + t * width);
    }
  });
}

void rms_norm_backward(std::int64_t rows, std::int64_t width, const float* x, const float* inverse, const float* dy,
                       float* dx, ThreadPool& threads) {
  for_row_parts(rows, width, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t) {
    for (std::int64_t t = begin; t < begin + count; ++t)
      rms_norm_row_backward(x + t * width, inverse[t], dy + t * width, nullptr, width, dx + t * width);
  });
}

}  // namespace nanobench::core::NB_PATH
