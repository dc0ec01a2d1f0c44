#include "core/kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/core/kernels/every_path.h"

namespace nanobench::core::testing {
namespace {

struct Case {
  std::int64_t rows, columns, inner;
};
constexpr Case kCases[] = {{1, 1, 1},    {3, 5, 7},     {4, 16, 300},   {72, 32, 128}, {73, 33, 129},
                           {48, 96, 64}, {128, 128, 1}, {200, 17, 513}, {5, 700, 40},  {640, 128, 256}};

std::vector<float> random_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& x : numbers) x = uniform(engine);
  return numbers;
}

struct Matrices {
  std::int64_t a_row, b_row, c_row;
  std::vector<float> a, b, c;
  MatrixProduct product;

  /// Rows are three numbers longer than they need to be.
  Matrices(const Case& shape, bool transposes_a, bool transposes_b, bool accumulates)
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

using GemmTest = EveryPath;

TEST_P(GemmTest, AgreesWithSumsInDoublePrecision) {
  ThreadPool threads(2);
  for (const Case& shape : kCases) {
    for (int form = 0; form < 8; ++form) {
      Matrices m(shape, form & 1, form & 2, form & 4);
      const std::vector<float> before = m.c;
      multiply_matrices(m.product, threads);
      for (std::int64_t i = 0; i < shape.rows; ++i) {
        for (std::int64_t j = 0; j < m.c_row; ++j) {
          const auto at = static_cast<std::size_t>(i * m.c_row + j);
          const double want = j < shape.columns ? m.expected(i, j, before) : before[at];  // nothing beside C is touched
          ASSERT_NEAR(m.c[at], want, 3e-6 * std::sqrt(static_cast<double>(shape.inner)) + 1e-12)
              << shape.rows << " x " << shape.columns << " x " << shape.inner << " form " << form << " at " << i << ", "
              << j;
        }
      }
    }
  }
}

TEST_P(GemmTest, BitsDoNotDependOnThreadsOrRows) {
  const Case shape{200, 70, 300};
  Matrices one(shape, false, true, false), many(shape, false, true, false);
  ThreadPool single(1), several(5);
  multiply_matrices(one.product, single);
  multiply_matrices(many.product, several);
  EXPECT_EQ(one.c, many.c);
  // A row alone has the bits that it has among others.
  Matrices alone(shape, false, true, false);
  alone.product.rows = 1;
  alone.product.a += 37 * alone.a_row;
  multiply_matrices(alone.product, single);
  for (std::int64_t j = 0; j < shape.columns; ++j)
    EXPECT_EQ(alone.c[static_cast<std::size_t>(j)], one.c[static_cast<std::size_t>(37 * one.c_row + j)]) << j;
}

INSTANTIATE_TEST_SUITE_P(Path, GemmTest, ::testing::ValuesIn(available_cpu_paths()), name_of_path());

}  // namespace
}  // namespace nanobench::core::testing
