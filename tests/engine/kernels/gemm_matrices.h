/// What the tests of the matrix products share.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "engine/kernels/gemm.h"

namespace nanobench::core::testing {

struct GemmShape {
  std::int64_t rows, columns, inner;
};

/// Uniform between -1 and 1.
inline std::vector<float> random_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& x : numbers) x = uniform(engine);
  return numbers;
}

/// A product of random matrices, and its elements summed in double precision.
struct GemmMatrices {
  std::int64_t a_row, b_row, c_row;
  std::vector<float> a, b, c;
  MatrixProduct product;

  /// Rows are three numbers longer than they need to be.
  GemmMatrices(const GemmShape& shape, bool transposes_a, bool transposes_b, bool accumulates)
      : a_row((transposes_a ? shape.rows : shape.inner) + 3),
        b_row((transposes_b ? shape.inner : shape.columns) + 3),
        c_row(shape.columns + 3),
        a(random_numbers((transposes_a ? shape.inner : shape.rows) * a_row, 1)),
        b(random_numbers((transposes_b ? shape.columns : shape.inner) * b_row, 2)),
        c(random_numbers(shape.rows * c_row, 3)),
        product{.rows = shape.rows,
                .columns = shape.columns,
                .inner = shape.inner,
                .a = a.data(),
                .a_row = a_row,
                .transposes_a = transposes_a,
                .b = b.data(),
                .b_row = b_row,
                .transposes_b = transposes_b,
                .c = c.data(),
                .c_row = c_row,
                .accumulates = accumulates} {}

  double expected(std::int64_t i, std::int64_t j, const std::vector<float>& before) const {
    const auto at = [](const std::vector<float>& m, std::int64_t index) {
      return static_cast<double>(m[static_cast<std::size_t>(index)]);
    };
    double sum = product.accumulates ? at(before, i * c_row + j) : 0.0;
    for (std::int64_t k = 0; k < product.inner; ++k)
      sum += at(a, product.transposes_a ? k * a_row + i : i * a_row + k) *
             at(b, product.transposes_b ? j * b_row + k : k * b_row + j);
    return sum;
  }
};

}  // namespace nanobench::core::testing
