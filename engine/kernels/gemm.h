/// Matrix products on the kernels' vector paths, in single precision and for bfloat16 values kept in float32. Plain
/// C++; no LibTorch. Thread-safe.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

/// The nearest bfloat16 value, ties to even, as float32. A NaN keeps its payload's upper half and its quiet bit. It has
/// no branches, so that compilers can vectorise loops over it.
inline float rounded_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t nearest = bits + 0x7fffU + ((bits >> 16) & 1U);
  const std::uint32_t not_a_number = bits | 0x00400000U;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return std::bit_cast<float>((is_nan ? not_a_number : nearest) & 0xffff0000U);
}

/// c [rows, columns] = op(a) op(b), or c += with `accumulates`; row-major, rows `*_row` floats apart.
struct MatrixProduct {
  std::int64_t rows = 0, columns = 0, inner = 0;
  const float* a = nullptr;  ///< [rows, inner], or [inner, rows] with transposes_a
  std::int64_t a_row = 0;
  bool transposes_a = false;
  const float* b = nullptr;  ///< [inner, columns], or [columns, inner] with transposes_b
  std::int64_t b_row = 0;
  bool transposes_b = false;
  float* c = nullptr;
  std::int64_t c_row = 0;
  bool accumulates = false;
};

/// Every element is one sum over `inner` in ascending order: the number of threads changes no bit.
void multiply_matrices(const MatrixProduct& product, ThreadPool& threads);

/// multiply_matrices for operands that hold bfloat16 values: products are exact, sums are float32. With `rounds` the
/// results are rounded to bfloat16 (to nearest, ties to even). EngineContext::bfloat16_path() selects the units.
/// The number of threads changes no bit.
void multiply_bfloat16(const MatrixProduct& product, bool rounds, ThreadPool& threads);

}  // namespace nanobench::core
