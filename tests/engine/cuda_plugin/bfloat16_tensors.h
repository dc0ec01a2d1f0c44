/// Tensors of bfloat16 values for tests of what a GPU computes, and how far two of them are apart.
#pragma once

#include <cstdint>

#include "engine/ops/bfloat16.h"
#include "engine/ops/torch.h"

namespace nanobench::core::testing {

/// Values of standard deviation about 0.7, float32, the same for the same seed; a leaf that wants a gradient.
inline at::Tensor bfloat16_values(at::IntArrayRef shape, std::uint64_t seed) {
  const std::int64_t count = c10::multiply_integers(shape);
  const at::Tensor index = at::arange(count, at::kDouble) + static_cast<double>(seed) * 1000.0;
  return round_to_bfloat16(at::sin(index * 1.7 + at::cos(index * 0.3)).to(at::kFloat).reshape(shape))
      .requires_grad_(true);
}

/// |a - b| / |b|.
inline double distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor left = a.to(at::kDouble), right = b.to(at::kDouble);
  return ((left - right).norm() / right.norm()).item<double>();
}

}  // namespace nanobench::core::testing
