#include "engine/cuda/relu_squared.h"

#include "kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

double relu(double x) {
  return x < 0.0 ? 0.0 : x;
}

struct Case {
  std::size_t count, skew;
};
class ReluSquared : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ReluSquared,
                         ::testing::Values(Case{1, 0}, Case{8, 0}, Case{4096, 0}, Case{4099, 0}, Case{2053, 3}));

TEST_P(ReluSquared, SquaresAndItsGradient) {
  const auto [count, skew] = GetParam();
  const Doubles x = random_bf16(count, 1), dy = random_bf16(count, 2);
  DeviceArray<bf16> input(x, skew), gradient(dy), y(count, skew), dx(count);
  const auto size = static_cast<std::int64_t>(count);
  relu_squared_forward(size, input.data(), y.data(), nullptr);
  relu_squared_backward(size, input.data(), gradient.data(), dx.data(), nullptr);
  Doubles want_y(count), want_dx(count);
  for (std::size_t i = 0; i < count; ++i) {
    want_y[i] = to_nearest_bf16(relu(x[i]) * relu(x[i]));
    want_dx[i] = to_nearest_bf16(2.0 * relu(x[i]) * dy[i]);
  }
  // Products of two bfloat16 numbers are exact in float32: every bit is as it should be.
  EXPECT_EQ(y.values(), want_y);
  EXPECT_EQ(dx.values(), want_dx);
  EXPECT_TRUE(y.has_whole_guards() && dx.has_whole_guards());
}

TEST(ReluSquared, WorksInPlace) {
  DeviceArray<bf16> x(Doubles{-2.0, 3.0}), d(Doubles{5.0, 5.0}), y(Doubles{-2.0, 3.0});
  relu_squared_backward(2, x.data(), d.data(), d.data(), nullptr);
  relu_squared_forward(2, y.data(), y.data(), nullptr);
  EXPECT_EQ(d.values(), (Doubles{0.0, 30.0}));
  EXPECT_EQ(y.values(), (Doubles{0.0, 9.0}));
}

TEST(ReluSquared, NotANumberGoesThrough) {
  DeviceArray<bf16> x(Doubles{std::nan(""), -INFINITY}), d(Doubles{1.0, 1.0}), y(2);
  relu_squared_forward(2, x.data(), y.data(), nullptr);
  EXPECT_TRUE(std::isnan(y.values()[0]));
  EXPECT_EQ(y.values()[1], 0.0);
  relu_squared_backward(2, x.data(), d.data(), d.data(), nullptr);
  EXPECT_TRUE(std::isnan(d.values()[0]));
}

TEST(ReluSquared, ReferenceGradientIsThatOfItsFormula) {
  for (double x : {-1.5, 0.25, 2.0}) {
    const double slope = 2.0 * relu(x);
    EXPECT_NEAR(difference_quotient([&] { return relu(x) * relu(x); }, x), slope, 1e-8);
  }
}

}  // namespace
}  // namespace nanobench::core::cuda
