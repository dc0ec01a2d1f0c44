// Symmetric products on tensor cores against float64.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <random>
#include <vector>

#include "core/base/error.h"
#include "engine/cuda/symmetric_product.h"
#include "tests/engine/cuda/device_array.h"

namespace nanobench::core::cuda {
namespace {

struct ProductCase {
  int count;
  int rows;
  int columns;
  bool has_addend;
};

void PrintTo(const ProductCase& c, std::ostream* out) {
  *out << c.count << " x " << c.rows << " x " << c.columns << (c.has_addend ? " with addend" : "");
}

constexpr int kMaxWholeRows = 512;  // of larger results some rows are compared
constexpr int kSampledRows = 24;

std::size_t at(int matrix, int row, int column, int rows, int columns) {
  return (static_cast<std::size_t>(matrix) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(row)) *
             static_cast<std::size_t>(columns) +
         static_cast<std::size_t>(column);
}

std::vector<bf16> random_matrices(const ProductCase& c, int columns, bool is_symmetric) {
  std::mt19937 random(static_cast<unsigned>(c.rows + columns));
  std::normal_distribution<float> normal;
  std::vector<bf16> matrices(at(c.count, 0, 0, c.rows, columns));
  for (bf16& number : matrices) number = to_bf16(normal(random));
  for (int m = 0; is_symmetric && m < c.count; ++m) {
    for (int i = 0; i < c.rows; ++i) {
      for (int j = 0; j < i; ++j) matrices[at(m, j, i, c.rows, columns)] = matrices[at(m, i, j, c.rows, columns)];
    }
  }
  return matrices;
}

constexpr float kScale = 0.75f, kAddendScale = -1.5f;

/// One number of the result, and how far from it a sum in float32, rounded once to eight significant bits, may lie.
struct Expected {
  double value = 0.0, bound = 0.0;
};

Expected expected(const ProductCase& c, const std::vector<bf16>& a, const std::vector<bf16>* addend, int m, int i,
                  int j) {
  double sum = 0.0, size = 0.0;
  for (int k = 0; k < c.columns; ++k) {
    const double term = value_of(a[at(m, i, k, c.rows, c.columns)]) * value_of(a[at(m, j, k, c.rows, c.columns)]);
    sum += term;
    size += std::fabs(term);
  }
  sum *= static_cast<double>(kScale);
  if (addend != nullptr) sum += static_cast<double>(kAddendScale) * value_of((*addend)[at(m, i, j, c.rows, c.rows)]);
  return {sum, std::fabs(sum) / 256.0 + 1e-5 * (size + 1.0)};
}

class SymmetricProductOnTensorCores : public testing::TestWithParam<ProductCase> {};

TEST_P(SymmetricProductOnTensorCores, IsTheRoundedProductAndSymmetricBitForBit) {
  const ProductCase& c = GetParam();
  const bool adds_itself = c.has_addend && c.rows == c.columns;
  const std::vector<bf16> a = random_matrices(c, c.columns, adds_itself);
  const std::vector<bf16> other = adds_itself ? a : random_matrices(c, c.rows, true);
  const DeviceArray<bf16> device_a(a), device_addend(other);
  SymmetricProduct product{c.count, c.rows, c.columns, device_a.data(), kScale};
  if (c.has_addend) {
    product.addend = adds_itself ? device_a.data() : device_addend.data();
    product.addend_scale = kAddendScale;
  }
  DeviceArray<bf16> result(at(c.count, 0, 0, c.rows, c.rows));
  draw_order(1);
  kernel_counts();
  symmetric_product(product, result.data(), nullptr);
  if (const auto counts = kernel_counts()) {
    EXPECT_EQ(counts->matrix_conflicts, 0U);
  }
  EXPECT_TRUE(result.has_whole_guards());

  const std::vector<bf16> got = result.numbers();
  const int row_step = c.rows > kMaxWholeRows ? c.rows / kSampledRows : 1;
  int outside = 0, unequal = 0;
  for (int m = 0; m < c.count; ++m) {
    for (int i = row_step - 1; i < c.rows; i += row_step) {
      for (int j = 0; j < c.rows; ++j) {
        const Expected want = expected(c, a, c.has_addend ? &other : nullptr, m, i, j);
        const bf16 number = got[at(m, i, j, c.rows, c.rows)];
        outside += !(std::fabs(value_of(number) - want.value) <= want.bound);
        unequal += number.bits != got[at(m, j, i, c.rows, c.rows)].bits;
      }
    }
  }
  EXPECT_EQ(outside, 0);
  EXPECT_EQ(unequal, 0);

  DeviceArray<bf16> again(result.size());
  draw_order(2);
  symmetric_product(product, again.data(), nullptr);
  EXPECT_TRUE(again.has_same_bits(result));
}

INSTANTIATE_TEST_SUITE_P(Shapes, SymmetricProductOnTensorCores,
                         testing::Values(ProductCase{1, 128, 64, false}, ProductCase{2, 256, 128, false},
                                         ProductCase{1, 200, 72, false}, ProductCase{1, 264, 264, true},
                                         ProductCase{2, 136, 200, true}, ProductCase{3, 8, 8, true},
                                         ProductCase{1, 96, 512, false}));

/// What Muon multiplies: attention and MLP matrices of the official model.
std::vector<ProductCase> official_shapes() {
  if (!is_gpu()) return {{1, 520, 24, false}};
  return {{4, 768, 768, false}, {4, 768, 768, true}, {4, 768, 3072, false}, {2, 768, 3072, true}};
}
INSTANTIATE_TEST_SUITE_P(Official, SymmetricProductOnTensorCores, testing::ValuesIn(official_shapes()));

TEST(SymmetricProduct, ComputesNoTileAboveTheDiagonal) {
  if (is_gpu()) GTEST_SKIP() << "a GPU counts no products";
  const DeviceArray<bf16> a(random_matrices({1, 512, 64, false}, 64, false));
  DeviceArray<bf16> result(std::size_t{512} * 512);
  kernel_counts();
  symmetric_product({1, 512, 64, a.data()}, result.data(), nullptr);
  constexpr std::uint64_t kTiles = 10;  // of 16, each 128 x 128 x 64 in products of 16 x 8 x 16
  EXPECT_EQ(kernel_counts()->tensor_products, kTiles * (128 / 16) * (128 / 8) * (64 / 16));
}

TEST(SymmetricProduct, RefusesSizesItCannotDo) {
  EXPECT_THROW(symmetric_product({1, 12, 8}, nullptr, nullptr), Error);
  EXPECT_THROW(symmetric_product({1, 8, 12}, nullptr, nullptr), Error);
  EXPECT_THROW(symmetric_product({0, 8, 8}, nullptr, nullptr), Error);
}

}  // namespace
}  // namespace nanobench::core::cuda
