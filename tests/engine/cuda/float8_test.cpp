#include "engine/cuda/float8.h"

#include "kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

struct Case {
  std::size_t rows, columns, stride, by_rows_stride, by_columns_stride;
  double scale;
};
class Float8 : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Shapes, Float8,
                         ::testing::Values(Case{64, 64, 64, 64, 64, 2.0}, Case{1, 1, 1, 1, 1, 1.0},
                                           Case{128, 192, 192, 192, 128, 512.0}, Case{67, 130, 130, 130, 67, 32.0},
                                           Case{33, 80, 96, 112, 48, 2.0}, Case{200, 17, 24, 32, 208, 1e4}));

MatrixView<fp8_e4m3> matrix_of(DeviceArray<fp8_e4m3>& array, std::size_t stride) {
  return {array.data(), static_cast<std::int64_t>(stride)};
}

template <class Number>
void expect_quantized(const Case& c, std::size_t skew) {
  const Doubles x = sizeof(Number) == 4 ? random_floats(c.rows * c.stride, 1) : random_bf16(c.rows * c.stride, 1);
  DeviceArray<Number> input(x, skew);
  DeviceArray<fp8_e4m3> by_rows(c.rows * c.by_rows_stride), by_columns(c.columns * c.by_columns_stride);
  const MatrixView<const Number> from{input.data(), static_cast<std::int64_t>(c.stride)};
  quantize_e4m3(static_cast<std::int64_t>(c.rows), static_cast<std::int64_t>(c.columns), from,
                static_cast<float>(c.scale), matrix_of(by_rows, c.by_rows_stride),
                matrix_of(by_columns, c.by_columns_stride), nullptr);
  const std::vector<fp8_e4m3> rows = by_rows.numbers(), columns = by_columns.numbers();
  const std::vector<bool> rows_untouched = by_rows.untouched(), columns_untouched = by_columns.untouched();
  std::size_t written = 0;
  for (std::size_t i = 0; i < c.rows; ++i) {
    for (std::size_t j = 0; j < c.columns; ++j) {
      const float scaled = static_cast<float>(x[i * c.stride + j]) * static_cast<float>(c.scale);
      const unsigned want = to_e4m3(std::fmin(std::fmax(scaled, -448.0f), 448.0f)).bits;
      ASSERT_EQ(rows[i * c.by_rows_stride + j].bits, want) << i << ", " << j;
      ASSERT_EQ(columns[j * c.by_columns_stride + i].bits, want) << i << ", " << j;
    }
  }
  for (std::size_t i = 0; i < by_rows.size(); ++i)
    if (i % c.by_rows_stride >= c.columns) written += rows_untouched[i] ? 0 : 1;
  for (std::size_t i = 0; i < by_columns.size(); ++i)
    if (i % c.by_columns_stride >= c.rows) written += columns_untouched[i] ? 0 : 1;
  EXPECT_EQ(written, 0U) << "between the rows";
  EXPECT_TRUE(by_rows.has_whole_guards() && by_columns.has_whole_guards());
}

TEST_P(Float8, QuantisesRowsAndColumns) {
  expect_quantized<bf16>(GetParam(), 0);
  expect_quantized<float>(GetParam(), 0);
  expect_quantized<bf16>(GetParam(), 5);
  expect_quantized<float>(GetParam(), 1);
}

TEST_P(Float8, TransposesGradients) {
  const Case& c = GetParam();
  DeviceArray<fp8_e5m2> from(c.rows * c.stride), to(c.columns * c.by_columns_stride);
  std::vector<fp8_e5m2> numbers(from.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = {static_cast<std::uint8_t>(i * 37 + i / 251)};
  from.write(numbers);
  transpose_e5m2(static_cast<std::int64_t>(c.rows), static_cast<std::int64_t>(c.columns),
                 {from.data(), static_cast<std::int64_t>(c.stride)},
                 {to.data(), static_cast<std::int64_t>(c.by_columns_stride)}, nullptr);
  const std::vector<fp8_e5m2> transposed = to.numbers();
  for (std::size_t i = 0; i < c.rows; ++i)
    for (std::size_t j = 0; j < c.columns; ++j)
      ASSERT_EQ(transposed[j * c.by_columns_stride + i].bits, numbers[i * c.stride + j].bits) << i << ", " << j;
  EXPECT_TRUE(to.has_whole_guards());
}

TEST(Float8Numbers, SaturateAndKeepNotANumber) {
  DeviceArray<float> x(Doubles{1000.0, -INFINITY, static_cast<double>(NAN), 0.0, 447.9, 17.0});
  DeviceArray<fp8_e4m3> y(6);
  quantize_e4m3<float>(1, 6, {x.data(), 6}, 1.0f, {y.data(), 6}, {}, nullptr);
  const Doubles values = y.values();
  EXPECT_EQ(values[0], 448.0);
  EXPECT_EQ(values[1], -448.0);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(values[3], 0.0);
  EXPECT_EQ(values[4], 448.0);
  EXPECT_EQ(values[5], 16.0);  // half way between 16 and 18: the even one
}

TEST(Float8Numbers, OrderOfThreadsChangesNoBit) {
  const Doubles values = random_bf16(100 * 70, 2);
  DeviceArray<bf16> x(values);
  expect_same_in_every_order([&] {
    DeviceArray<fp8_e4m3> by_columns(70 * 100);
    quantize_e4m3<bf16>(100, 70, {x.data(), 70}, 2.0f, {}, {by_columns.data(), 100}, nullptr);
    return by_columns.contents();
  });
}

}  // namespace
}  // namespace nanobench::core::cuda
