// Learned gates for one instruction set; see gates.h.
#include "engine/kernels/gates.h"

#include <cstdint>

#include "engine/kernels/block_kernel.h"
#include "engine/kernels/scratch.h"

namespace nanobench::core::NB_PATH {

#include "engine/kernels/vector/simd.inl"
//
#include "engine/kernels/vector/gemm.inl"
//
#include "engine/kernels/vector/rows.inl"

namespace {

inline float sigmoid(float z) {
  return 1.0f / (1.0f + __builtin_expf(-z));
}

inline float short_product(const float* a, const float* b, std::int64_t count) {
  float sum = 0.0f;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

/// Sums of `count` numbers a part, part by part in double precision.
template <class Number>
void add_parts(const float* parts, std::int64_t part_count, std::int64_t count, std::int64_t stride, Number* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    double sum = 0.0;
    for (std::int64_t part = 0; part < part_count; ++part) sum += static_cast<double>(parts[part * stride + i]);
    out[i] = static_cast<Number>(sum);
  }
}

/// Backward pass of one row; adds to dweight [H, G]. `dn` has room for G numbers.
void head_gate_row_backward(const HeadGateShape& shape, const HeadGateInputs& in, const HeadGateActivations& saved,
                            const HeadGateGradients& g, std::int64_t t, float* dn, float* dweight) {
  const std::int64_t width = shape.model_dim, dim = shape.gate_dim;
  const float* const x = in.x + t * width;
  const float inverse = saved.inverse[t];
  set_all(dn, dim, 0.0f);
  for (std::int64_t h = 0; h < shape.heads; ++h) {
    const std::int64_t at = (t * shape.heads + h) * shape.head_dim;
    const float gate = saved.gates[t * shape.heads + h];
    const float dz = inner_product(g.dout + at, in.y + at, shape.head_dim) * gate * (1.0f - gate);
    scale_row(g.dout + at, gate, shape.head_dim, g.y + at);
    for (std::int64_t i = 0; i < dim; ++i) {
      dweight[h * dim + i] += dz * inverse * x[i];
      dn[i] += dz * in.weight[h * dim + i];
    }
  }
  // dx = inverse dn - x inverse^3 mean(dn x), where dn is zero after its first numbers.
  const float projection = inverse * inverse * inverse * short_product(dn, x, dim) / static_cast<float>(width);
  float* const dx = g.x + t * width;
  scale_row(x, -projection, width, dx);
  for (std::int64_t i = 0; i < dim; ++i) dx[i] += inverse * dn[i];
}

}  // namespace

void head_gate_forward(const HeadGateShape& shape, const HeadGateInputs& in, const HeadGateActivations& out,
                       ThreadPool& threads) {
  const std::int64_t width = shape.model_dim, dim = shape.gate_dim;
  for_row_parts(shape.length, width, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t) {
    for (std::int64_t t = begin; t < begin + count; ++t) {
      const float* const x = in.x + t * width;
      out.inverse[t] = inverse_rms(x, width, in.norm_eps);
      for (std::int64_t h = 0; h < shape.heads; ++h) {
        const std::int64_t row = t * shape.heads + h, at = row * shape.head_dim;
        out.gates[row] = sigmoid(out.inverse[t] * short_product(x, in.weight + h * dim, dim));
        scale_row(in.y + at, out.gates[row], shape.head_dim, out.out + at);
      }
    }
  });
}

void head_gate_backward(const HeadGateShape& shape, const HeadGateInputs& in, const HeadGateActivations& saved,
                        const HeadGateGradients& gradients, ThreadPool& threads) {
  const std::int64_t dim = shape.gate_dim, numbers = shape.heads * dim, stride = numbers + dim;
  const std::int64_t parts = part_count(shape.length, shape.model_dim);
  float* const sums = scratch(ScratchUse::kParts, parts * stride);
  for_row_parts(shape.length, shape.model_dim, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t part) {
    float* const dweight = sums + part * stride;
    set_all(dweight, numbers, 0.0f);
    for (std::int64_t t = begin; t < begin + count; ++t)
      head_gate_row_backward(shape, in, saved, gradients, t, dweight + numbers, dweight);
  });
  add_parts(sums, parts, numbers, stride, gradients.weight);
}

void smear_forward(const SmearShape& shape, const SmearInputs& in, float* gates, float* out, ThreadPool& threads) {
  const std::int64_t width = shape.width;
  for_row_parts(shape.length, width, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t) {
    for (std::int64_t t = begin; t < begin + count; ++t) {
      const float* const e = in.e + t * width;
      gates[t] = t == 0 ? 0.0f : sigmoid(short_product(e, in.weight, shape.gate_dim));
      const float share = in.lambda * gates[t];
      for (std::int64_t j = 0; j < width; j += NB_LANES)
        store(out + t * width + j, t == 0 ? load(e + j) : load(e + j) + share * load(e + j - width));
    }
  });
}

void smear_backward(const SmearShape& shape, const SmearInputs& in, const float* gates, const SmearGradients& gradients,
                    ThreadPool& threads) {
  const std::int64_t width = shape.width, dim = shape.gate_dim, stride = dim + 1;
  const std::int64_t parts = part_count(shape.length, width);
  float* const sums = scratch(ScratchUse::kParts, parts * stride);
  for_row_parts(shape.length, width, threads, [&](std::int64_t begin, std::int64_t count, std::int64_t part) {
    float* const dweight = sums + part * stride;
    set_all(dweight, stride, 0.0f);
    for (std::int64_t t = begin; t < begin + count; ++t) {
      const float* const e = in.e + t * width;
      const float* const dout = gradients.dout + t * width;
      float* const de = gradients.e + t * width;
      const bool has_next = t + 1 < shape.length;
      const float next = has_next ? in.lambda * gates[t + 1] : 0.0f;  // the share that the next row takes of this one
      for (std::int64_t j = 0; j < width; j += NB_LANES)
        store(de + j, has_next ? load(dout + j) + next * load(dout + j + width) : load(dout + j));
      if (t == 0) continue;
      const float along = inner_product(dout, e - width, width);
      const float dz = in.lambda * along * gates[t] * (1.0f - gates[t]);
      dweight[dim] += along * gates[t];
      for (std::int64_t i = 0; i < dim; ++i) {
        dweight[i] += dz * e[i];
        de[i] += dz * in.weight[i];
      }
    }
  });
  add_parts(sums, parts, dim, stride, gradients.weight);
  add_parts(sums + dim, parts, 1, stride, gradients.lambda);
}

}  // namespace nanobench::core::NB_PATH
