#include "engine/kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/engine/kernels/every_path.h"
#include "tests/engine/kernels/gemm_matrices.h"

namespace nanobench::core::testing {
namespace {

constexpr GemmShape kGemmCases[] = {{1, 1, 1},    {3, 5, 7},     {4, 16, 300},   {72, 32, 128}, {73, 33, 129},
                                    {48, 96, 64}, {128, 128, 1}, {200, 17, 513}, {5, 700, 40},  {640, 128, 256}};

using GemmTest = EveryPath;

TEST_P(GemmTest, AgreesWithSumsInDoublePrecision) {
  ThreadPool threads(2);
  for (const GemmShape& shape : kGemmCases) {
    for (int form = 0; form < 8; ++form) {
      GemmMatrices m(shape, form & 1, form & 2, form & 4);
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
  const GemmShape shape{200, 70, 300};
  GemmMatrices one(shape, false, true, false), many(shape, false, true, false);
  ThreadPool single(1), several(5);
  multiply_matrices(one.product, single);
  multiply_matrices(many.product, several);
  EXPECT_EQ(one.c, many.c);
  // A row alone has the bits that it has among others.
  GemmMatrices alone(shape, false, true, false);
  alone.product.rows = 1;
  alone.product.a += 37 * alone.a_row;
  multiply_matrices(alone.product, single);
  for (std::int64_t j = 0; j < shape.columns; ++j)
    EXPECT_EQ(alone.c[static_cast<std::size_t>(j)], one.c[static_cast<std::size_t>(37 * one.c_row + j)]) << j;
}

INSTANTIATE_TEST_SUITE_P(Path, GemmTest, ::testing::ValuesIn(available_cpu_paths()), name_of_path());

}  // namespace
}  // namespace nanobench::core::testing
