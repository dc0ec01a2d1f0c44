// The half of a block after attention, for one instruction set; see block_kernel.h.
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

/// The output projection of attention and the two matrices of the MLP as they are multiplied by.
struct MlpWeights {
  Weight wo, w1, w2;
  const float *packed_wo, *packed_w1, *packed_w2;

  MlpWeights(const MlpShape& shape, const MlpInputs& in, bool transposes, ThreadPool& threads)
      : wo{in.wo, shape.model_dim, shape.attention_width, transposes, in.branch_scale},
        w1{in.w1, shape.hidden, shape.model_dim, transposes, 1.0f},
        w2{in.w2, shape.model_dim, shape.hidden, transposes, 1.0f} {
    const Weight all[] = {w1, w2, wo};
    const bool has_attention = in.y != nullptr;
    float* const packed = scratch(ScratchUse::kPackedMatrix, w1.size() + w2.size() + (has_attention ? wo.size() : 0));
    pack_weights(all, has_attention ? 3 : 2, packed, threads);
    packed_w1 = packed;
    packed_w2 = packed_w1 + w1.size();
    packed_wo = packed_w2 + w2.size();
  }
};

/// out [rows, outer] = a W, rows of a `a_row` and of out `out_row` floats apart.
void apply(const Weight& w, const float* packed, std::int64_t rows, const float* a, std::int64_t a_row, float* out,
           std::int64_t out_row) {
  multiply<false>(rows, w.outer(), w.inner(), a, a_row, packed, out, out_row);
}

/// The residual stream after attention, from the forward pass.
const float* middle(const MlpInputs& in, const MlpActivations& saved) {
  return in.y == nullptr ? in.x : saved.middle;
}

void add_attention(const MlpShape& shape, const MlpInputs& in, const MlpWeights& weights, std::int64_t begin,
                   std::int64_t count, float* x) {
  const std::int64_t width = shape.model_dim;
  apply(weights.wo, weights.packed_wo, count, in.y + begin * shape.attention_width, shape.attention_width, x, width);
  const float* residual = in.x + begin * width;
  for (std::int64_t j = 0; j < count * width; j += NB_LANES)
    store(x + j, load(residual + j) + load(x + j) * in.branch_scale);
}

void mlp_rows_forward(const MlpShape& shape, const MlpInputs& in, const MlpActivations& out, const MlpWeights& weights,
                      std::int64_t begin, std::int64_t count) {
  const std::int64_t width = shape.model_dim, hidden = shape.hidden;
  const std::int64_t stride = padded_stride(hidden);
  float* const normed = scratch(ScratchUse::kRows, rows_of_part(width) * width);
  float* const squared = scratch(ScratchUse::kHidden, rows_of_part(width) * stride);
  if (in.y != nullptr) add_attention(shape, in, weights, begin, count, out.middle + begin * width);
  const float* x = middle(in, out) + begin * width;
  for (std::int64_t i = 0; i < count; ++i) {
    out.inverse[begin + i] = inverse_rms(x + i * width, width, in.norm_eps);
    scale_row(x + i * width, out.inverse[begin + i], width, normed + i * width);
  }
  float* const relu = out.relu + begin * hidden;
  apply(weights.w1, weights.packed_w1, count, normed, width, relu, hidden);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < hidden; j += NB_LANES) {
      const Vec h = load(relu + i * hidden + j);
      const Vec kept = h < Vec{} ? Vec{} : h;  // NaN stays
      store(relu + i * hidden + j, kept);
      store(squared + i * stride + j, kept * kept);
    }
  }
  float* const y = out.out + begin * width;
  apply(weights.w2, weights.packed_w2, count, squared, stride, y, width);
  for (std::int64_t j = 0; j < count * width; j += NB_LANES) store(y + j, load(x + j) + load(y + j));
}

void mlp_rows_backward(const MlpShape& shape, const MlpInputs& in, const MlpActivations& saved, const MlpGradients& g,
                       const MlpWeights& weights, float* dhidden, std::int64_t begin, std::int64_t count) {
  const std::int64_t width = shape.model_dim, hidden = shape.hidden, stride = padded_stride(hidden);
  const float* const dout = g.dout + begin * width;
  float* const dh = dhidden + begin * stride;
  const float* const relu = saved.relu + begin * hidden;
  apply(weights.w2, weights.packed_w2, count, dout, width, dh, stride);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < hidden; j += NB_LANES)
      store(dh + i * stride + j, load(dh + i * stride + j) * load(relu + i * hidden + j) * 2.0f);
  }
  float* const dx = g.x + begin * width;
  apply(weights.w1, weights.packed_w1, count, dh, stride, dx, width);
  const float* const x = middle(in, saved) + begin * width;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = i * width;
    rms_norm_row_backward(x + at, saved.inverse[begin + i], dx + at, dout + at, width, dx + at);
  }
  if (in.y != nullptr) {
    float* const dy = g.y + begin * shape.attention_width;
    apply(weights.wo, weights.packed_wo, count, dx, width, dy, shape.attention_width);
  }
}

}  // namespace

void mlp_forward(const MlpShape& shape, const MlpInputs& in, const MlpActivations& out, ThreadPool& threads) {
  const MlpWeights weights(shape, in, /*transposes=*/true, threads);
  for_row_parts(shape.length, shape.model_dim, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t) {
    mlp_rows_forward(shape, in, out, weights, begin, count);
  });
}

void mlp_backward(const MlpShape& shape, const MlpInputs& in, const MlpActivations& saved, const MlpGradients& g,
                  ThreadPool& threads) {
  float* const dhidden = scratch(ScratchUse::kParts, shape.length * padded_stride(shape.hidden));
  {
    const MlpWeights weights(shape, in, /*transposes=*/false, threads);
    for_row_parts(shape.length, shape.model_dim, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t) {
      mlp_rows_backward(shape, in, saved, g, weights, dhidden, begin, count);
    });
  }
  const PackedRows operands[] = {{middle(in, saved), shape.model_dim, saved.inverse},
                                 {g.dout, shape.model_dim, nullptr},
                                 {in.y, shape.attention_width, nullptr}};
  const WeightGradient gradients[] = {{dhidden, padded_stride(shape.hidden), shape.hidden, 0, g.w1, 1.0f, false, false},
                                      {saved.relu, shape.hidden, shape.hidden, 1, g.w2, 1.0f, true, true},
                                      {g.x, shape.model_dim, shape.model_dim, 2, g.wo, in.branch_scale, false, false}};
  const std::int64_t count = in.y == nullptr ? 2 : 3;
  weight_gradients(gradients, count, operands, count, shape.length, threads);
}

}  // namespace nanobench::core::NB_PATH
