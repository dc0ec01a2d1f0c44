// NorMuon's normalisation against its definition in double precision, on every vector path.
#include "engine/kernels/second_moment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/engine/kernels/every_path.h"
#include "tests/engine/kernels/random_floats.h"

namespace nanobench::core::testing {
namespace {

constexpr double kBeta2 = 0.95;
constexpr float kRate = 0.03f;

struct Matrix {
  std::int64_t rows, columns;
  Floats update, moments, parameter;

  Matrix(std::int64_t r, std::int64_t c, unsigned seed)
      : rows(r),
        columns(c),
        update(random_floats(r * c, 3 * seed, 0.5f)),
        moments(random_floats(std::max(r, c), 3 * seed + 1, 0.5f)),
        parameter(random_floats(r * c, 3 * seed + 2, 0.5f)) {
    for (float& x : moments) x *= x;
  }

  NormalizedUpdate call(bool takes_parameter) {
    return {.rows = rows,
            .columns = columns,
            .update = update.data(),
            .moments = moments.data(),
            .parameter = takes_parameter ? parameter.data() : nullptr,
            .rate = kRate};
  }
};

double norm_of(const std::vector<double>& v) {
  double sum = 0.0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

/// The definition, element by element.
void expect_normalized(const Matrix& before, const Matrix& after, bool takes_parameter) {
  std::vector<double> v(before.update.begin(), before.update.end());
  std::vector<double> s(before.moments.begin(), before.moments.end());
  const double norm = norm_of(v);
  const bool by_rows = before.rows >= before.columns;
  const auto place = [&](std::size_t i) {
    const auto columns = static_cast<std::size_t>(before.columns);
    return by_rows ? i / columns : i % columns;
  };
  std::vector<double> mean(s.size(), 0.0);
  const double count = static_cast<double>(by_rows ? before.columns : before.rows);
  for (std::size_t i = 0; i < v.size(); ++i) mean[place(i)] += v[i] * v[i] / count;
  for (std::size_t i = 0; i < s.size(); ++i) {
    s[i] += (1.0 - kBeta2) * (mean[i] - s[i]);
    EXPECT_NEAR(after.moments[i], s[i], 1e-6 * (1.0 + s[i])) << "moment " << i;
  }
  for (std::size_t i = 0; i < v.size(); ++i) v[i] /= std::max(std::sqrt(s[place(i)]), 1e-10);
  const double scale = norm / std::max(norm_of(v), 1e-10);
  for (std::size_t i = 0; i < v.size(); ++i) {
    ASSERT_NEAR(after.update[i], v[i] * scale, 2e-6 * (1.0 + std::abs(v[i] * scale))) << "update " << i;
    const double parameter = before.parameter[i] - (takes_parameter ? kRate * v[i] * scale : 0.0);
    ASSERT_NEAR(after.parameter[i], parameter, 2e-6 * (1.0 + std::abs(parameter))) << "parameter " << i;
  }
}

std::vector<Matrix> moment_matrices() {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 12},  {2, 12},   {6, 12},   {16, 16}, {17, 16},
                                                         {16, 17}, {128, 32}, {32, 512}, {3, 1},   {100, 7}};
  std::vector<Matrix> matrices;
  for (const auto& [rows, columns] : sizes)
    matrices.emplace_back(rows, columns, static_cast<unsigned>(matrices.size() + 1));
  return matrices;
}

using SecondMomentKernelTest = EveryPath;

TEST_P(SecondMomentKernelTest, AgreesWithDoublePrecision) {
  ThreadPool threads(2);
  for (const bool takes_parameter : {true, false}) {
    const std::vector<Matrix> before = moment_matrices();
    std::vector<Matrix> after = before;
    std::vector<NormalizedUpdate> calls;
    for (Matrix& matrix : after) calls.push_back(matrix.call(takes_parameter));
    normalize_updates(calls, kBeta2, threads);
    for (std::size_t i = 0; i < before.size(); ++i) {
      SCOPED_TRACE(i);
      expect_normalized(before[i], after[i], takes_parameter);
    }
  }
}

TEST_P(SecondMomentKernelTest, ThreadsChangeNoBit) {
  std::vector<Matrix> alone = moment_matrices(), shared = alone;
  const auto normalize = [](std::vector<Matrix>& matrices, int count) {
    ThreadPool threads(count);
    std::vector<NormalizedUpdate> calls;
    for (Matrix& matrix : matrices) calls.push_back(matrix.call(/*takes_parameter=*/true));
    normalize_updates(calls, kBeta2, threads);
  };
  normalize(alone, 1);
  normalize(shared, 3);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].update, shared[i].update);
    EXPECT_EQ(alone[i].moments, shared[i].moments);
    EXPECT_EQ(alone[i].parameter, shared[i].parameter);
  }
}

TEST_P(SecondMomentKernelTest, AZeroUpdateStaysZero) {
  ThreadPool threads(1);
  Matrix matrix(16, 32, 1);
  const Floats parameter = matrix.parameter;
  std::fill(matrix.update.begin(), matrix.update.end(), 0.0f);
  std::fill(matrix.moments.begin(), matrix.moments.end(), 0.0f);
  const NormalizedUpdate call = matrix.call(/*takes_parameter=*/true);
  normalize_updates({&call, 1}, kBeta2, threads);
  EXPECT_EQ(matrix.update, Floats(matrix.update.size(), 0.0f));
  EXPECT_EQ(matrix.parameter, parameter);
}

INSTANTIATE_TEST_SUITE_P(Path, SecondMomentKernelTest, ::testing::ValuesIn(available_cpu_paths()), name_of_path());

}  // namespace
}  // namespace nanobench::core::testing
