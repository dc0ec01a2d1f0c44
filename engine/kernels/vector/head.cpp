// The head and its loss for one instruction set; see head_kernel.h.
#include <cstdint>

#include "engine/kernels/gemm.h"
#include "engine/kernels/head_kernel.h"
#include "engine/kernels/scratch.h"

namespace nanobench::core::NB_PATH {

void multiply_matrices(const MatrixProduct& product, ThreadPool& threads);

#include "engine/kernels/vector/simd.inl"

namespace {

constexpr std::int64_t kChunk = 384;  // tokens whose logits exist at a time
constexpr std::int64_t kAlignment = 16;

std::int64_t row_stride(std::int64_t vocabulary) {
  return (vocabulary + kAlignment - 1) / kAlignment * kAlignment;
}

/// Calls body(j, lanes) for the vectors of a row; `lanes` is all ones where the row has a number.
template <class Body>
void for_vectors(std::int64_t count, Body&& body) {
  IntVec lane{};
  for (int i = 0; i < NB_LANES; ++i) lane[i] = i;
  for (std::int64_t j = 0; j < count; j += NB_LANES) {
    const auto left = static_cast<std::int32_t>(smaller(count - j, NB_LANES));
    body(j, IntVec{} + left > lane);
  }
}

/// The softcap: capped logits are scale() * value(logit), and slope(value) is the derivative with respect to the logit.
struct Cap {
  float cap;
  bool is_sigmoid;

  float scale() const { return cap > 0.0f ? (is_sigmoid ? 2.0f * cap : cap) : 1.0f; }
  Vec value(Vec logit) const {
    if (cap <= 0.0f) return logit;
    return is_sigmoid ? sigmoid(logit * (2.0f / cap)) : hyperbolic_tangent(logit / cap);
  }
  Vec slope(Vec value) const {
    if (cap <= 0.0f) return broadcast(1.0f);
    return is_sigmoid ? 4.0f * value * (1.0f - value) : 1.0f - value * value;
  }
};

/// Cross-entropy of one row; the row becomes its gradient times `factor`. `weights` is working memory of the row's
/// size.
float row_loss(float* row, float* weights, std::int64_t count, std::int64_t target, const Cap& cap, float factor) {
  Vec most = broadcast(-3e38f);
  for_vectors(count, [&](std::int64_t j, IntVec is_there) {
    const Vec value = cap.value(load(row + j));
    store(row + j, value);
    most = maximum(most, is_there ? value : broadcast(-3e38f));
  });
  const float largest = horizontal_max(most), scale = cap.scale();
  Vec total{};
  for_vectors(count, [&](std::int64_t j, IntVec is_there) {
    const Vec weight = exponential((load(row + j) - largest) * scale);
    store(weights + j, is_there ? weight : Vec{});
    total += is_there ? weight : Vec{};
  });
  const float sum = horizontal_sum(total);
  const float loss = (largest - row[target]) * scale + __builtin_logf(sum);
  weights[target] -= sum;
  const float share = factor / sum;
  for_vectors(count,
              [&](std::int64_t j, IntVec) { store(row + j, load(weights + j) * share * cap.slope(load(row + j))); });
  return loss;
}

}  // namespace

double head_loss(const HeadShape& shape, const HeadInputs& in, const HeadOutputs& out, ThreadPool& threads) {
  const std::int64_t width = shape.model_dim, stride = row_stride(shape.vocabulary);
  float* const logits = scratch(ScratchUse::kHidden, kChunk * (stride + 1));
  float* const losses = logits + kChunk * stride;
  const float factor = 1.0f / static_cast<float>(shape.length);
  const Cap cap{in.cap, in.is_sigmoid};
  double loss = 0.0;
  for (std::int64_t begin = 0; begin < shape.length; begin += kChunk) {
    const std::int64_t rows = smaller(kChunk, shape.length - begin);
    const float* x = in.x + begin * width;
    NB_PATH::multiply_matrices({.rows = rows,
                                .columns = shape.vocabulary,
                                .inner = width,
                                .a = x,
                                .a_row = width,
                                .b = in.weight,
                                .b_row = width,
                                .transposes_b = true,
                                .c = logits,
                                .c_row = stride},
                               threads);
    constexpr std::int64_t kRows = 16;  // of an item
    threads.parallel_for((rows + kRows - 1) / kRows, [&](std::int64_t item) {
      float* const weights = scratch(ScratchUse::kRows, stride);
      for (std::int64_t i = item * kRows; i < smaller((item + 1) * kRows, rows); ++i)
        losses[i] = row_loss(logits + i * stride, weights, shape.vocabulary, in.targets[begin + i], cap, factor);
    });
    for (std::int64_t i = 0; i < rows; ++i) loss += losses[i];
    for (std::int64_t i = 0; out.losses != nullptr && i < rows; ++i) out.losses[begin + i] = losses[i];
    if (out.dx == nullptr) continue;
    NB_PATH::multiply_matrices({.rows = rows,
                                .columns = width,
                                .inner = shape.vocabulary,
                                .a = logits,
                                .a_row = stride,
                                .b = in.weight,
                                .b_row = width,
                                .c = out.dx + begin * width,
                                .c_row = width},
                               threads);
    NB_PATH::multiply_matrices({.rows = shape.vocabulary,
                                .columns = width,
                                .inner = rows,
                                .a = logits,
                                .a_row = stride,
                                .transposes_a = true,
                                .b = x,
                                .b_row = width,
                                .c = out.dweight,
                                .c_row = width,
                                .accumulates = begin > 0},
                               threads);
  }
  return loss / static_cast<double>(shape.length);
}

}  // namespace nanobench::core::NB_PATH
