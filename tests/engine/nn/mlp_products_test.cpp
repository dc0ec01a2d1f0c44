// 8-bit products of MLPs against rounding by hand, and which pass's range each takes.
#include "engine/nn/mlp_products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/ops/e4m3_linear.h"

namespace nanobench::core::testing {
namespace {

/// The nearest number with four significant bits and an exponent from -6 to 8, ties to even, at most 448.
double e4m3(double x) {
  if (x == 0.0) return 0.0;
  const int exponent = std::max(std::ilogb(x), -6);
  const double unit = std::ldexp(1.0, exponent - 3);
  return std::clamp(std::nearbyint(x / unit) * unit, -448.0, 448.0);
}

double rounded(double x, double unit) {
  return e4m3(x / unit) * unit;
}

at::Tensor random_matrix(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  at::Tensor x = at::empty({rows, columns}, at::kDouble);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data_ptr<double>()[i] = normal(random);
  return x;
}

at::Tensor number(double value) {
  return at::full({}, value, at::kDouble);
}

TEST(E4m3Linear, RoundsItsOperandsForwardOnly) {
  at::Tensor x = random_matrix(3, 5, 1).requires_grad_();
  at::Tensor weight = random_matrix(4, 5, 2).requires_grad_();
  constexpr double kX = 0.01, kWeight = 0.0002;  // 0.0002: most weights are above 448 units, so they saturate
  const at::Tensor y = e4m3_linear(x, weight, number(kX), number(kWeight), false);
  const auto xs = x.accessor<double, 2>(), weights = weight.accessor<double, 2>(), ys = y.accessor<double, 2>();
  double difference = 0.0;
  for (int t = 0; t < 3; ++t) {
    for (int o = 0; o < 4; ++o) {
      double sum = 0.0, plain = 0.0;
      for (int i = 0; i < 5; ++i) sum += rounded(xs[t][i], kX) * rounded(weights[o][i], kWeight);
      for (int i = 0; i < 5; ++i) plain += xs[t][i] * weights[o][i];
      EXPECT_NEAR(ys[t][o], sum, 1e-12);
      difference = std::max(difference, std::abs(sum - plain));
    }
  }
  EXPECT_GT(difference, 0.1);
  const at::Tensor gradient = random_matrix(3, 4, 3);
  y.backward(gradient);
  EXPECT_TRUE(at::allclose(x.grad(), gradient.matmul(weight.detach()), 0, 1e-12));
  EXPECT_TRUE(at::allclose(weight.grad(), gradient.t().matmul(x.detach()), 0, 1e-12));
}

TEST(E4m3Linear, TheUnitFitsTheLargestAndZerosStayZeros) {
  EXPECT_DOUBLE_EQ(e4m3_unit(at::tensor({1.0, -8.96, 3.0}, at::kDouble)).item<double>(), 0.02);
  const at::Tensor zeros = at::zeros({2, 3}, at::kDouble);
  EXPECT_TRUE(
      at::equal(e4m3_linear(zeros, zeros, e4m3_unit(zeros), e4m3_unit(zeros), true), at::zeros({2, 2}, at::kDouble)));
}

PrecisionConfig fp8() {
  PrecisionConfig precision;
  precision.mlp_up = precision.mlp_down = ProductPrecision::kFp8;
  precision.mlp_down_fp8 = {.activation_margin = 2.0, .weight_margin = 1.5, .exact_weight_steps = 1};
  return precision;
}

/// One product of one number by one number.
class Products {
 public:
  explicit Products(const PrecisionConfig& precision = fp8()) : precision_(precision), products_(precision_, 2) {}

  double up(double x, double weight) {
    return products_.up({.weight = row(weight), .bias = {}}, row(x), {}).item<double>();
  }
  double down(std::int64_t rank, std::int64_t step, double x, double weight, std::size_t layer = 0) {
    products_.begin(rank, step);
    return products_.down(layer, {.weight = row(weight), .bias = {}}, row(x), {}).item<double>();
  }
  void reset() { products_.reset(); }

 private:
  static at::Tensor row(double value) { return at::full({1, 1}, value, at::kDouble); }

  PrecisionConfig precision_;
  MlpProducts products_;
};

TEST(MlpProducts, UpTakesTheRangesOfItsOwnOperands) {
  Products products;
  // The weights' range is kept in bfloat16: 1.2345 is 1.234375, of which 1.2345 is 448.05 units, which saturate.
  EXPECT_NEAR(products.up(0.7, 1.2345), 0.7 * 1.234375, 1e-12);
}

TEST(MlpProducts, DownTakesTheRangeOfTheRanksLastPassAndOfTheLastWeights) {
  Products products;
  const auto product = [](double x, double x_unit, double weight, double weight_unit) {
    return rounded(x, x_unit) * rounded(weight, weight_unit);
  };
  EXPECT_DOUBLE_EQ(products.down(0, 0, 500.0, 3.0), product(500.0, 1.0, 3.0, 3.0 / 448)) << "begins in units of 1";
  EXPECT_DOUBLE_EQ(products.down(0, 0, 0.77, 3.0), product(0.77, 2 * 500.0 / 448, 3.0, 3.0 / 448));
  EXPECT_DOUBLE_EQ(products.down(1, 0, 0.77, 3.0), product(0.77, 1.0, 3.0, 3.0 / 448)) << "another rank";
  EXPECT_DOUBLE_EQ(products.down(0, 0, 0.77, 3.0, 1), product(0.77, 1.0, 3.0, 3.0 / 448)) << "another layer";
  EXPECT_DOUBLE_EQ(products.down(0, 1, 0.3, 3.3), product(0.3, 2 * 0.77 / 448, 3.3, 3.3 / 448)) << "exact";
  EXPECT_DOUBLE_EQ(products.down(0, 2, 0.3, 5.1), product(0.3, 2 * 0.3 / 448, 5.1, 1.5 * 3.3 / 448)) << "saturates";
  EXPECT_DOUBLE_EQ(products.down(0, 2, 0.31, 5.1), product(0.31, 2 * 0.3 / 448, 5.1, 1.5 * 3.3 / 448)) << "same step";
  EXPECT_DOUBLE_EQ(products.down(0, 3, 0.3, 5.3), product(0.3, 2 * 0.31 / 448, 5.3, 1.5 * 5.1 / 448));
  products.reset();
  EXPECT_DOUBLE_EQ(products.down(0, 0, 500.0, 2.9), product(500.0, 1.0, 2.9, 2.9 / 448));
}

TEST(MlpProducts, WhatIsNotInEightBitsIsThePlainProduct) {
  PrecisionConfig precision = fp8();
  precision.mlp_down = ProductPrecision::kActivations;
  EXPECT_DOUBLE_EQ(Products(precision).down(0, 0, 0.77, 3.3), 0.77 * 3.3);
  precision.mlp_up = ProductPrecision::kActivations;
  EXPECT_DOUBLE_EQ(Products(precision).up(0.77, 3.3), 0.77 * 3.3);
}

}  // namespace
}  // namespace nanobench::core::testing
