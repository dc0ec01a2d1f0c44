// Symmetric products on emulated tensor cores against float64.
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <vector>

#include "core/cuda/kernels/platform.cuh"
#include "core/cuda/kernels/symmetric_product.h"
#include "guarded_buffer.h"

namespace nanobench::core::cuda {
namespace {

using emulation::GuardedBuffer;

struct ProductCase {
  int count;
  int rows;
  int columns;
  bool has_addend;
};

void PrintTo(const ProductCase& c, std::ostream* out) {
  *out << c.count << " x " << c.rows << " x " << c.columns << (c.has_addend ? " with addend" : "");
}

std::size_t at(int matrix, int row, int column, int rows, int columns) {
  return (static_cast<std::size_t>(matrix) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(row)) *
             static_cast<std::size_t>(columns) +
         static_cast<std::size_t>(column);
}

GuardedBuffer<bf16> random_matrices(const ProductCase& c, int columns, bool is_symmetric) {
  std::mt19937 random(static_cast<unsigned>(c.rows + columns));
  std::normal_distribution<float> normal;
  GuardedBuffer<bf16> matrices(at(c.count, 0, 0, c.rows, columns));
  for (std::size_t i = 0; i < matrices.size(); ++i) matrices[i] = to_bf16(normal(random));
  for (int m = 0; is_symmetric && m < c.count; ++m) {
    for (int i = 0; i < c.rows; ++i) {
      for (int j = 0; j < i; ++j) matrices[at(m, j, i, c.rows, columns)] = matrices[at(m, i, j, c.rows, columns)];
    }
  }
  return matrices;
}

double value_of(bf16 x) {
  return static_cast<double>(to_float(x));
}

class SymmetricProductOnTensorCores : public testing::TestWithParam<ProductCase> {};

TEST_P(SymmetricProductOnTensorCores, IsTheRoundedProductAndSymmetricBitForBit) {
  const ProductCase& c = GetParam();
  const GuardedBuffer<bf16> a = random_matrices(c, c.columns, c.has_addend && c.rows == c.columns);
  const GuardedBuffer<bf16> addend = random_matrices(c, c.rows, true);
  SymmetricProduct product{c.count, c.rows, c.columns, a.data(), 0.75f};
  if (c.has_addend) {
    product.addend = c.rows == c.columns ? a.data() : addend.data();
    product.addend_scale = -1.5f;
  }
  GuardedBuffer<bf16> result(at(c.count, 0, 0, c.rows, c.rows));
  emulation::set_seed(1);
  emulation::statistics() = {};
  symmetric_product(product, result.data(), nullptr);
  EXPECT_EQ(emulation::statistics().matrix_conflicts, 0U);
  EXPECT_TRUE(result.zones_are_whole());

  int outside = 0;
  int unequal = 0;
  for (int m = 0; m < c.count; ++m) {
    for (int i = 0; i < c.rows; ++i) {
      for (int j = 0; j < c.rows; ++j) {
        double sum = 0.0;
        double size = 0.0;
        for (int k = 0; k < c.columns; ++k) {
          const double term = value_of(a[at(m, i, k, c.rows, c.columns)]) * value_of(a[at(m, j, k, c.rows, c.columns)]);
          sum += term;
          size += std::fabs(term);
        }
        sum *= 0.75;
        if (c.has_addend) sum += -1.5 * value_of(product.addend[at(m, i, j, c.rows, c.rows)]);
        const std::size_t place = at(m, i, j, c.rows, c.rows);
        // One rounding to eight significant bits, and sums in float32.
        const double bound = std::fabs(sum) / 256.0 + 1e-5 * (size + 1.0);
        outside += !(std::fabs(value_of(result[place]) - sum) <= bound);
        unequal += result[place].bits != result[at(m, j, i, c.rows, c.rows)].bits;
      }
    }
  }
  EXPECT_EQ(outside, 0);
  EXPECT_EQ(unequal, 0);

  GuardedBuffer<bf16> again(result.size());
  emulation::set_seed(2);
  symmetric_product(product, again.data(), nullptr);
  EXPECT_TRUE(again.has_same_bits(result));
}

INSTANTIATE_TEST_SUITE_P(Shapes, SymmetricProductOnTensorCores,
                         testing::Values(ProductCase{1, 128, 64, false}, ProductCase{2, 256, 128, false},
                                         ProductCase{1, 200, 72, false}, ProductCase{1, 264, 264, true},
                                         ProductCase{2, 136, 200, true}, ProductCase{3, 8, 8, true},
                                         ProductCase{1, 96, 512, false}));

TEST(SymmetricProduct, ComputesNoTileAboveTheDiagonal) {
  const ProductCase c{1, 512, 64, false};
  const GuardedBuffer<bf16> a = random_matrices(c, c.columns, false);
  GuardedBuffer<bf16> result(std::size_t{512} * 512);
  emulation::statistics() = {};
  symmetric_product({1, 512, 64, a.data()}, result.data(), nullptr);
  constexpr std::uint64_t kTiles = 10;  // of 16, each 128 x 128 x 64 in products of 16 x 8 x 16
  EXPECT_EQ(emulation::statistics().tensor_products, kTiles * (128 / 16) * (128 / 8) * (64 / 16));
}

TEST(SymmetricProduct, RefusesSizesItCannotDo) {
  EXPECT_THROW(symmetric_product({1, 12, 8}, nullptr, nullptr), Error);
  EXPECT_THROW(symmetric_product({1, 8, 12}, nullptr, nullptr), Error);
  EXPECT_THROW(symmetric_product({0, 8, 8}, nullptr, nullptr), Error);
}

}  // namespace
}  // namespace nanobench::core::cuda
