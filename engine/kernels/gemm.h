/// Single-precision matrix products on the kernels' vector paths. Plain C++; no LibTorch. Thread-safe.
#pragma once

#include <cstdint>

#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

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

}  // namespace nanobench::core
