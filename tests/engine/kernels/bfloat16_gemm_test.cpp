#include "engine/kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/kernels/engine_context.h"
#include "tests/engine/kernels/gemm_matrices.h"

namespace nanobench::core::testing {
namespace {

constexpr GemmShape kBfloat16GemmCases[] = {{1, 1, 1},    {3, 5, 7},     {4, 16, 300},   {72, 32, 256}, {73, 33, 257},
                                            {48, 96, 64}, {128, 128, 1}, {200, 17, 513}, {5, 700, 40},  {85, 128, 600}};

/// Their numbers are bfloat16's.
struct Matrices : GemmMatrices {
  Matrices(const GemmShape& shape, bool transposes_a, bool transposes_b, bool accumulates)
      : GemmMatrices(shape, transposes_a, transposes_b, accumulates) {
    for (std::vector<float>* numbers : {&a, &b, &c}) {
      for (float& x : *numbers) x = rounded_to_bfloat16(x);
    }
  }
};

class Bfloat16GemmTest : public ::testing::TestWithParam<Bfloat16Path> {
 protected:
  Bfloat16GemmTest() { context_.set_bfloat16_path(GetParam()); }
  EngineContext context_;
};

TEST_P(Bfloat16GemmTest, AgreesWithSumsInDoublePrecision) {
  ThreadPool threads(2);
  for (const GemmShape& shape : kBfloat16GemmCases) {
    for (int form = 0; form < 16; ++form) {
      Matrices m(shape, form & 1, form & 2, form & 4);
      const bool rounds = form & 8;
      const std::vector<float> before = m.c;
      multiply_bfloat16(m.product, rounds, threads);
      for (std::int64_t i = 0; i < shape.rows; ++i) {
        for (std::int64_t j = 0; j < m.c_row; ++j) {
          const auto at = static_cast<std::size_t>(i * m.c_row + j);
          const bool is_inside = j < shape.columns;
          const double want = is_inside ? m.expected(i, j, before) : before[at];  // nothing beside C is touched
          const double sums = 3e-6 * std::sqrt(static_cast<double>(shape.inner)) + 1e-12;
          // Half a unit of the last of 8 binary places.
          ASSERT_NEAR(m.c[at], want, sums + (rounds && is_inside ? (std::abs(want) + sums) / 256.0 : 0.0))
              << shape.rows << " x " << shape.columns << " x " << shape.inner << " form " << form << " at " << i << ", "
              << j;
          if (rounds && is_inside) {
            ASSERT_EQ(m.c[at], rounded_to_bfloat16(m.c[at]));
          }
        }
      }
    }
  }
}

TEST_P(Bfloat16GemmTest, BitsDoNotDependOnThreadsOrRows) {
  const GemmShape shape{200, 70, 300};
  Matrices one(shape, false, true, false), many(shape, false, true, false), alone(shape, false, true, false);
  ThreadPool single(1), several(5);
  multiply_bfloat16(one.product, true, single);
  multiply_bfloat16(many.product, true, several);
  EXPECT_EQ(one.c, many.c);
  alone.product.rows = 1;
  alone.product.a += 37 * alone.a_row;
  multiply_bfloat16(alone.product, true, single);
  for (std::int64_t j = 0; j < shape.columns; ++j)
    EXPECT_EQ(alone.c[static_cast<std::size_t>(j)], one.c[static_cast<std::size_t>(37 * one.c_row + j)]) << j;
}

TEST_P(Bfloat16GemmTest, RoundsTiesToEvenAndKeepsWhatIsNoNumber) {
  ThreadPool threads(1);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // 1 + 1/256 lies between two values and goes to the even one below; 1 + 3/256 to the even one above.
  const std::vector<float> a = {1.0f, 1.0f / 256, 1.0f, 3.0f / 256, infinity, 1.0f, nan, 1.0f};
  const std::vector<float> b = {1.0f, 1.0f};
  std::vector<float> c(4);
  multiply_bfloat16({.rows = 4,
                     .columns = 1,
                     .inner = 2,
                     .a = a.data(),
                     .a_row = 2,
                     .b = b.data(),
                     .b_row = 1,
                     .c = c.data(),
                     .c_row = 1},
                    true, threads);
  EXPECT_EQ(c[0], 1.0f);
  EXPECT_EQ(c[1], 1.0f + 2.0f / 128);
  EXPECT_EQ(c[2], infinity);
  EXPECT_TRUE(std::isnan(c[3]));
}

INSTANTIATE_TEST_SUITE_P(Path, Bfloat16GemmTest, ::testing::ValuesIn(available_bfloat16_paths()),
                         [](const auto& test) { return enum_name(test.param); });

TEST(Bfloat16Path, UnitsAreOnlyTakenBesideTheWidestKernels) {
  EngineContext context;
  context.set_cpu_path(CpuPath::kGeneric);
  EXPECT_EQ(context.bfloat16_path(), Bfloat16Path::kEmulated);
}

}  // namespace
}  // namespace nanobench::core::testing
