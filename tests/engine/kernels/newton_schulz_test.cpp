#include "engine/kernels/newton_schulz.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tests/engine/kernels/every_path.h"
#include "tests/engine/kernels/random_floats.h"

namespace nanobench::core::testing {
namespace {

using Doubles = std::vector<double>;

struct Shape {
  std::int64_t rows, columns;
};
constexpr Shape kShapes[] = {{16, 16}, {17, 40}, {40, 17}, {128, 512}, {512, 128}, {1, 8},
                             {8, 1},   {1, 1},   {70, 70}, {100, 33},  {37, 101},  {200, 260}};

/// One matrix with its tensors, and what a step should make of them in double precision.
struct Problem {
  Shape shape;
  Floats gradient, momentum, parameter, update;

  Problem(Shape s, unsigned seed)
      : shape(s),
        gradient(random_floats(s.rows * s.columns, seed, 0.01f)),
        momentum(random_floats(s.rows * s.columns, seed + 1, 0.02f)),
        parameter(random_floats(s.rows * s.columns, seed + 2, 1.0f)),
        update(gradient.size()) {}

  NewtonSchulzMatrix matrix() {
    return {.rows = shape.rows,
            .columns = shape.columns,
            .gradient = gradient.data(),
            .momentum = momentum.data(),
            .parameter = parameter.data(),
            .scale = 1.5f,
            .rate = 0.25f};
  }
};

/// a [rows, inner] b [inner, columns].
Doubles multiply(const Doubles& a, const Doubles& b, std::size_t rows, std::size_t inner, std::size_t columns) {
  Doubles c(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < inner; ++k)
      for (std::size_t j = 0; j < columns; ++j) c[i * columns + j] += a[i * inner + k] * b[k * columns + j];
  return c;
}

Doubles transposed(const Doubles& a, std::size_t rows, std::size_t columns) {
  Doubles t(a.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) t[j * rows + i] = a[i * columns + j];
  return t;
}

Doubles orthogonalized(Doubles x, Shape shape, std::int64_t steps, double eps) {
  auto rows = static_cast<std::size_t>(shape.rows), columns = static_cast<std::size_t>(shape.columns);
  double squares = 0.0;
  for (const double v : x) squares += v * v;
  for (double& v : x) v /= std::sqrt(squares) + eps;
  const bool is_tall = rows > columns;
  if (is_tall) {
    x = transposed(x, rows, columns);
    std::swap(rows, columns);
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    const Doubles a = multiply(x, transposed(x, rows, columns), rows, columns, rows);
    Doubles p = multiply(a, a, rows, rows, rows);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = -4.7750 * a[i] + 2.0315 * p[i];
    const Doubles px = multiply(p, x, rows, rows, columns);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 3.4445 * x[i] + px[i];
  }
  return is_tall ? transposed(x, rows, columns) : x;
}

struct Expected {
  Doubles momentum, update;

  Expected(const Problem& problem, const NewtonSchulzSettings& settings, bool has_momentum = true)
      : momentum(problem.momentum.begin(), problem.momentum.end()),
        update(problem.gradient.begin(), problem.gradient.end()) {
    const double mu = settings.momentum;
    for (std::size_t i = 0; has_momentum && i < update.size(); ++i) {
      const double g = update[i];
      momentum[i] = settings.accumulates ? mu * momentum[i] + g : mu * momentum[i] + (1.0 - mu) * g;
      update[i] = momentum[i];
      if (settings.is_nesterov)
        update[i] = settings.accumulates ? g + mu * momentum[i] : mu * momentum[i] + (1 - mu) * g;
    }
    update = orthogonalized(update, problem.shape, settings.steps, settings.eps);
  }
};

/// Largest difference relative to the largest value.
double error_of(const Floats& got, const Doubles& expected) {
  double error = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) return INFINITY;
    error = std::max(error, std::abs(static_cast<double>(got[i]) - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return largest > 0.0 ? error / largest : error;
}

constexpr double kTolerance = 1e-5;  // measured at most 3e-6, after five steps of 200 x 260

using NewtonSchulzTest = EveryPath;

/// Error of the update that comes from the gradient alone.
double update_error(Problem& problem, const NewtonSchulzSettings& settings, const Expected& expected) {
  ThreadPool threads(2);
  NewtonSchulzMatrix matrix = problem.matrix();
  matrix.momentum = nullptr;
  matrix.parameter = nullptr;
  matrix.update = problem.update.data();
  matrix.scale = 1.0f;
  newton_schulz_update({&matrix, 1}, settings, threads);
  return error_of(problem.update, expected.update);
}

TEST_P(NewtonSchulzTest, UpdatesAgreeWithDoublePrecision) {
  for (const Shape shape : kShapes) {
    const bool is_small = shape.rows * shape.columns < 10000;
    for (const std::int64_t steps : {0, 1, 2, 3, 4, 5, 6}) {
      if (!is_small && steps != 1 && steps != 5) continue;
      Problem problem(shape, 7);
      const NewtonSchulzSettings grouped{.steps = steps, .eps = 1e-3},
          by_terms{.steps = steps, .eps = 1e-3, .by_terms = true};
      const Expected expected(problem, grouped, /*has_momentum=*/false);
      EXPECT_LE(update_error(problem, grouped, expected), kTolerance)
          << shape.rows << " x " << shape.columns << ", " << steps << " steps";
      EXPECT_LE(update_error(problem, by_terms, expected), kTolerance)
          << shape.rows << " x " << shape.columns << ", " << steps << " steps by terms";
    }
  }
}

/// One direction far longer than the others, as gradients have: joined steps keep the digits that single steps keep.
/// Joining all five would lose a factor of 50.
TEST_P(NewtonSchulzTest, ShortDirectionsBesideALongOneKeepTheirDigits) {
  for (const float ratio : {10.0f, 100.0f}) {
    for (const Shape shape : {Shape{64, 256}, Shape{256, 64}}) {
      Problem problem(shape, 21);
      const Floats left = random_floats(shape.rows, 22, 0.01f * ratio), right = random_floats(shape.columns, 23, 1.0f);
      const auto columns = static_cast<std::size_t>(shape.columns);
      for (std::size_t i = 0; i < problem.gradient.size(); ++i)
        problem.gradient[i] += left[i / columns] * right[i % columns];
      const Expected expected(problem, {}, /*has_momentum=*/false);
      const double joined = update_error(problem, {}, expected);
      const double single = update_error(problem, {.by_terms = true}, expected);
      EXPECT_LE(joined, 8.0 * single) << shape.rows << " x " << shape.columns << ", " << ratio;
    }
  }
}

TEST_P(NewtonSchulzTest, MomentumAndParametersAgreeWithDoublePrecision) {
  ThreadPool threads(2);
  for (const Shape shape : {Shape{17, 40}, Shape{40, 17}, Shape{33, 33}}) {
    for (const double momentum : {0.0, 0.3, 0.95, 1.0}) {
      for (int form = 0; form < 4; ++form) {
        Problem problem(shape, 11);
        const NewtonSchulzSettings settings{
            .momentum = momentum, .accumulates = (form & 1) != 0, .is_nesterov = (form & 2) != 0};
        const Expected expected(problem, settings);
        Doubles parameter(problem.parameter.begin(), problem.parameter.end());
        for (std::size_t i = 0; i < parameter.size(); ++i) parameter[i] -= 0.25 * (1.5 * expected.update[i]);
        const NewtonSchulzMatrix matrix = problem.matrix();
        newton_schulz_update({&matrix, 1}, settings, threads);
        EXPECT_LE(error_of(problem.momentum, expected.momentum), 1e-6) << shape.rows << " momentum " << momentum;
        EXPECT_LE(error_of(problem.parameter, parameter), kTolerance) << shape.rows << " form " << form;
      }
    }
  }
}

TEST_P(NewtonSchulzTest, GradientsThatAreZeroOrMissingLeaveZero) {
  ThreadPool threads(1);
  Problem problem({20, 24}, 3);
  NewtonSchulzMatrix matrix = problem.matrix();
  matrix.gradient = nullptr;
  matrix.momentum = nullptr;
  const Floats before = problem.parameter;
  newton_schulz_update({&matrix, 1}, {}, threads);
  EXPECT_EQ(problem.parameter, before);
  // With momentum, a missing gradient is a zero one.
  Problem zero({20, 24}, 3), missing({20, 24}, 3);
  std::fill(zero.gradient.begin(), zero.gradient.end(), 0.0f);
  const NewtonSchulzMatrix one = zero.matrix();
  NewtonSchulzMatrix other = missing.matrix();
  other.gradient = nullptr;
  newton_schulz_update({&one, 1}, {}, threads);
  newton_schulz_update({&other, 1}, {}, threads);
  EXPECT_EQ(zero.parameter, missing.parameter);
  EXPECT_EQ(zero.momentum, missing.momentum);
  EXPECT_NE(zero.parameter, before);
}

/// Parameters after one step of a batch: shapes by size, three of most and many of one.
std::vector<Floats> step_batch(int threads, bool by_terms, std::size_t copies) {
  std::vector<std::unique_ptr<Problem>> problems;
  std::vector<NewtonSchulzMatrix> matrices;
  for (const Shape shape : {Shape{130, 520}, Shape{520, 130}, Shape{40, 40}, Shape{17, 40}, Shape{40, 17}}) {
    for (std::size_t i = 0; i < copies; ++i) {
      problems.push_back(std::make_unique<Problem>(shape, static_cast<unsigned>(100 * problems.size())));
      matrices.push_back(problems.back()->matrix());
    }
  }
  ThreadPool pool(threads);
  newton_schulz_update(matrices, {.by_terms = by_terms}, pool);
  std::vector<Floats> results;
  for (const auto& problem : problems) {
    results.push_back(problem->parameter);
    results.push_back(problem->momentum);
  }
  return results;
}

TEST_P(NewtonSchulzTest, BitsDependNeitherOnThreadsNorOnTheBatch) {
  for (const bool by_terms : {false, true}) {
    const std::vector<Floats> expected = step_batch(1, by_terms, 3);
    for (const int threads : {2, 3, 8, 33}) EXPECT_EQ(step_batch(threads, by_terms, 3), expected) << threads;
    // One thread takes whole matrices only where there are many.
    const std::vector<Floats> many = step_batch(2, by_terms, 12);
    EXPECT_EQ(many[0], expected[0]);
    EXPECT_EQ(many[1], expected[1]);
    // Alone as among others.
    Problem alone({130, 520}, 0);
    const NewtonSchulzMatrix matrix = alone.matrix();
    ThreadPool pool(2);
    newton_schulz_update({&matrix, 1}, {.by_terms = by_terms}, pool);
    EXPECT_EQ(alone.parameter, expected[0]);
  }
}

TEST_P(NewtonSchulzTest, NothingBesideTheMatricesIsWritten) {
  ThreadPool threads(2);
  for (const Shape shape : kShapes) {
    const auto size = static_cast<std::size_t>(shape.rows * shape.columns);
    Floats momentum(size + 32, 7.0f), parameter(size + 32, 7.0f), gradient(size, 0.5f);
    const NewtonSchulzMatrix matrix{.rows = shape.rows,
                                    .columns = shape.columns,
                                    .gradient = gradient.data(),
                                    .momentum = momentum.data() + 16,
                                    .parameter = parameter.data() + 16,
                                    .rate = 1.0f};
    newton_schulz_update({&matrix, 1}, {}, threads);
    for (const Floats* const buffer : {&momentum, &parameter}) {
      for (std::size_t i = 0; i < 16; ++i) {
        EXPECT_EQ((*buffer)[i], 7.0f) << shape.rows << " x " << shape.columns;
        EXPECT_EQ((*buffer)[size + 16 + i], 7.0f) << shape.rows << " x " << shape.columns;
      }
      for (std::size_t i = 16; i < size + 16; ++i)
        ASSERT_NE((*buffer)[i], 7.0f) << shape.rows << " x " << shape.columns;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Path, NewtonSchulzTest, ::testing::ValuesIn(available_cpu_paths()), name_of_path());

}  // namespace
}  // namespace nanobench::core::testing
