// normalize_updates for one instruction set.
#include "engine/kernels/second_moment.h"

#include <cstdint>

#include "engine/kernels/scratch.h"

namespace nanobench::core::NB_PATH {

#include "engine/kernels/vector/simd.inl"

namespace {

constexpr double kTiny = 1e-10;

/// out [columns] (+)= the squares of a row; columns of any number.
void add_squares(const float* row, std::int64_t columns, float* sums) {
  std::int64_t j = 0;
  for (; j + NB_LANES <= columns; j += NB_LANES) store(sums + j, load(sums + j) + load(row + j) * load(row + j));
  for (; j < columns; ++j) sums[j] += row[j] * row[j];
}

float square_sum(const float* row, std::int64_t columns) {
  Vec sum{};
  std::int64_t j = 0;
  for (; j + NB_LANES <= columns; j += NB_LANES) sum += load(row + j) * load(row + j);
  float total = horizontal_sum(sum);
  for (; j < columns; ++j) total += row[j] * row[j];
  return total;
}

/// sums [rows or columns]: of the squares of each row or column.
void find_sums(const NormalizedUpdate& one, float* sums) {
  if (!one.is_by_rows()) set_all(sums, one.columns, 0.0f);
  for (std::int64_t i = 0; i < one.rows; ++i) {
    const float* const row = one.update + i * one.columns;
    if (one.is_by_rows()) {
      sums[i] = square_sum(row, one.columns);
    } else {
      add_squares(row, one.columns, sums);
    }
  }
}

/// Updates the moments and turns the sums of squares into the factors of rows or columns.
void find_factors(const NormalizedUpdate& one, double beta2, float* sums) {
  const std::int64_t count = one.is_by_rows() ? one.rows : one.columns;
  const auto averaged = static_cast<double>(one.is_by_rows() ? one.columns : one.rows);
  double before = 0.0, after = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double sum = sums[i];
    double s = one.moments[i];
    s += (1.0 - beta2) * (sum / averaged - s);
    one.moments[i] = static_cast<float>(s);
    const double root = __builtin_sqrt(static_cast<double>(one.moments[i]));
    const double factor = 1.0 / (root > kTiny ? root : kTiny);
    before += sum;
    after += sum * factor * factor;
    sums[i] = static_cast<float>(factor);
  }
  const double norm = __builtin_sqrt(after);
  const auto common = static_cast<float>(__builtin_sqrt(before) / (norm > kTiny ? norm : kTiny));
  for (std::int64_t i = 0; i < count; ++i) sums[i] *= common;
}

/// `factors`: of each column, or nullptr and one `factor`.
void apply_row(const NormalizedUpdate& one, std::int64_t i, const float* factors, float factor) {
  float* const update = one.update + i * one.columns;
  float* const parameter = one.parameter == nullptr ? nullptr : one.parameter + i * one.columns;
  std::int64_t j = 0;
  for (; j + NB_LANES <= one.columns; j += NB_LANES) {
    const Vec v = load(update + j) * (factors == nullptr ? broadcast(factor) : load(factors + j));
    store(update + j, v);
    if (parameter != nullptr) store(parameter + j, load(parameter + j) - one.rate * v);
  }
  for (; j < one.columns; ++j) {
    update[j] *= factors == nullptr ? factor : factors[j];
    if (parameter != nullptr) parameter[j] -= one.rate * update[j];
  }
}

}  // namespace

void normalize_updates(std::span<const NormalizedUpdate> updates, double beta2, ThreadPool& threads) {
  const NormalizedUpdate* const all = updates.data();
  threads.parallel_for(static_cast<std::int64_t>(updates.size()), [&](std::int64_t index) {
    const NormalizedUpdate& one = all[index];
    float* const factors = scratch(ScratchUse::kRows, larger(one.rows, one.columns));
    find_sums(one, factors);
    find_factors(one, beta2, factors);
    for (std::int64_t i = 0; i < one.rows; ++i)
      apply_row(one, i, one.is_by_rows() ? nullptr : factors, one.is_by_rows() ? factors[i] : 0.0f);
  });
}

}  // namespace nanobench::core::NB_PATH
