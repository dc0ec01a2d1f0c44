// The kernels of the learned gates against their definition in double precision, on every vector path.
#include "engine/kernels/gates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/engine/kernels/every_path.h"
#include "tests/engine/kernels/random_floats.h"

namespace nanobench::core::testing {
namespace {

using Doubles = std::vector<double>;

double sigmoid_of(double z) {
  return 1.0 / (1.0 + std::exp(-z));
}

void expect_near(const Floats& got, const Doubles& expected, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  double largest = 1.0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), expected[i], tolerance * largest) << what << " " << i;
}

std::size_t index_of(std::int64_t row, std::int64_t column, std::int64_t columns) {
  return static_cast<std::size_t>(row * columns + column);
}

/// One call of the kernels forward and backward, and the same by the definition.
struct HeadGateCase {
  HeadGateShape shape;
  Floats x, weight, y, dout;
  Floats gates, inverse, out, dx, dweight, dy;
  Doubles expected_out, expected_dx, expected_dweight, expected_dy;
  static constexpr double kEps = 0x1p-7;

  explicit HeadGateCase(const HeadGateShape& s) : shape(s) {
    const std::int64_t wide = s.length * s.model_dim, heads = s.length * s.heads, tall = heads * s.head_dim;
    x = random_floats(wide, 1, 1.0f), weight = random_floats(s.heads * s.gate_dim, 2, 1.0f);
    y = random_floats(tall, 3, 1.0f), dout = random_floats(tall, 4, 1.0f);
    gates.resize(static_cast<std::size_t>(heads)), inverse.resize(static_cast<std::size_t>(s.length));
    out.resize(y.size()), dy.resize(y.size()), dx.resize(x.size()), dweight.resize(weight.size());
  }

  void run(ThreadPool& threads) {
    const HeadGateInputs in{.x = x.data(), .weight = weight.data(), .y = y.data(), .norm_eps = kEps};
    const HeadGateActivations saved{.gates = gates.data(), .inverse = inverse.data(), .out = out.data()};
    head_gate_forward(shape, in, saved, threads);
    head_gate_backward(shape, in, saved,
                       {.dout = dout.data(), .x = dx.data(), .weight = dweight.data(), .y = dy.data()}, threads);
  }

  void expect() {
    const HeadGateShape& s = shape;
    expected_out.assign(y.size(), 0.0), expected_dy.assign(y.size(), 0.0);
    expected_dx.assign(x.size(), 0.0), expected_dweight.assign(weight.size(), 0.0);
    for (std::int64_t t = 0; t < s.length; ++t) expect_row(t);
  }

 private:
  void expect_row(std::int64_t t) {
    const HeadGateShape& s = shape;
    const auto x_at = [&](std::int64_t i) { return static_cast<double>(x[index_of(t, i, s.model_dim)]); };
    double square = 0.0;
    for (std::int64_t i = 0; i < s.model_dim; ++i) square += x_at(i) * x_at(i);
    const double r = 1.0 / std::sqrt(square / static_cast<double>(s.model_dim) + kEps);
    Doubles dn(static_cast<std::size_t>(s.gate_dim), 0.0);
    for (std::int64_t h = 0; h < s.heads; ++h) {
      double z = 0.0, dz = 0.0;
      for (std::int64_t g = 0; g < s.gate_dim; ++g) z += x_at(g) * r * weight[index_of(h, g, s.gate_dim)];
      const double gate = sigmoid_of(z);
      for (std::int64_t e = 0; e < s.head_dim; ++e) {
        const std::size_t at = index_of(t * s.heads + h, e, s.head_dim);
        expected_out[at] = y[at] * gate;
        expected_dy[at] = dout[at] * gate;
        dz += static_cast<double>(dout[at]) * y[at] * gate * (1.0 - gate);
      }
      for (std::int64_t g = 0; g < s.gate_dim; ++g) {
        expected_dweight[index_of(h, g, s.gate_dim)] += dz * x_at(g) * r;
        dn[static_cast<std::size_t>(g)] += dz * weight[index_of(h, g, s.gate_dim)];
      }
    }
    double product = 0.0;
    for (std::int64_t g = 0; g < s.gate_dim; ++g) product += dn[static_cast<std::size_t>(g)] * x_at(g);
    for (std::int64_t i = 0; i < s.model_dim; ++i) {
      const double direct = i < s.gate_dim ? r * dn[static_cast<std::size_t>(i)] : 0.0;
      expected_dx[index_of(t, i, s.model_dim)] =
          direct - x_at(i) * r * r * r * product / static_cast<double>(s.model_dim);
    }
  }
};

constexpr HeadGateShape kHeadGateShapes[] = {
    {.length = 1, .model_dim = 16, .heads = 1, .head_dim = 16, .gate_dim = 1},
    {.length = 37, .model_dim = 48, .heads = 3, .head_dim = 16, .gate_dim = 12},
    {.length = 300, .model_dim = 128, .heads = 2, .head_dim = 64, .gate_dim = 12},
    {.length = 65, .model_dim = 32, .heads = 2, .head_dim = 16, .gate_dim = 32},
};

using GateKernelTest = EveryPath;

TEST_P(GateKernelTest, HeadsAgreeWithDoublePrecision) {
  ThreadPool threads(2);
  for (const HeadGateShape& shape : kHeadGateShapes) {
    SCOPED_TRACE(shape.length);
    HeadGateCase one(shape);
    one.run(threads);
    one.expect();
    expect_near(one.out, one.expected_out, 1e-6, "out");
    expect_near(one.dy, one.expected_dy, 1e-6, "dy");
    expect_near(one.dx, one.expected_dx, 1e-5, "dx");
    expect_near(one.dweight, one.expected_dweight, 1e-5, "dweight");
  }
}

TEST_P(GateKernelTest, ThreadsChangeNoBitOfHeads) {
  for (const HeadGateShape& shape : kHeadGateShapes) {
    ThreadPool one_thread(1), three_threads(3);
    HeadGateCase alone(shape), shared(shape);
    alone.run(one_thread);
    shared.run(three_threads);
    EXPECT_EQ(alone.out, shared.out);
    EXPECT_EQ(alone.dx, shared.dx);
    EXPECT_EQ(alone.dweight, shared.dweight);
    EXPECT_EQ(alone.dy, shared.dy);
  }
}

struct SmearCase {
  SmearShape shape;
  Floats e, weight, dout, gates, out, de, dweight;
  double dlambda = 0.0;
  static constexpr float kLambda = 0.7f;

  explicit SmearCase(const SmearShape& s)
      : shape(s),
        e(random_floats(s.length * s.width, 5, 1.0f)),
        weight(random_floats(s.gate_dim, 6, 1.0f)),
        dout(random_floats(s.length * s.width, 7, 1.0f)),
        gates(static_cast<std::size_t>(s.length)),
        out(e.size()),
        de(e.size()),
        dweight(weight.size()) {}

  void run(ThreadPool& threads) {
    const SmearInputs in{.e = e.data(), .weight = weight.data(), .lambda = kLambda};
    smear_forward(shape, in, gates.data(), out.data(), threads);
    smear_backward(shape, in, gates.data(),
                   {.dout = dout.data(), .e = de.data(), .weight = dweight.data(), .lambda = &dlambda}, threads);
  }
};

constexpr SmearShape kSmearShapes[] = {
    {.length = 1, .width = 16, .gate_dim = 12},
    {.length = 2, .width = 16, .gate_dim = 16},
    {.length = 301, .width = 48, .gate_dim = 12},
    {.length = 1000, .width = 128, .gate_dim = 5},
};

TEST_P(GateKernelTest, SmearAgreesWithDoublePrecision) {
  ThreadPool threads(2);
  for (const SmearShape& shape : kSmearShapes) {
    SCOPED_TRACE(shape.length);
    SmearCase one(shape);
    one.run(threads);
    Doubles out(one.e.begin(), one.e.end()), de(one.dout.begin(), one.dout.end()), dweight(one.weight.size(), 0.0);
    double dlambda = 0.0;
    for (std::int64_t t = 1; t < shape.length; ++t) {
      double z = 0.0, product = 0.0;
      for (std::int64_t g = 0; g < shape.gate_dim; ++g)
        z += static_cast<double>(one.e[index_of(t, g, shape.width)]) * one.weight[static_cast<std::size_t>(g)];
      const double gate = sigmoid_of(z);
      for (std::int64_t i = 0; i < shape.width; ++i) {
        const std::size_t here = index_of(t, i, shape.width), before = index_of(t - 1, i, shape.width);
        out[here] += SmearCase::kLambda * gate * one.e[before];
        de[before] += SmearCase::kLambda * gate * one.dout[here];
        product += static_cast<double>(one.dout[here]) * one.e[before];
      }
      dlambda += product * gate;
      const double dz = product * SmearCase::kLambda * gate * (1.0 - gate);
      for (std::int64_t g = 0; g < shape.gate_dim; ++g) {
        dweight[static_cast<std::size_t>(g)] += dz * one.e[index_of(t, g, shape.width)];
        de[index_of(t, g, shape.width)] += dz * one.weight[static_cast<std::size_t>(g)];
      }
    }
    expect_near(one.out, out, 1e-6, "out");
    expect_near(one.de, de, 1e-5, "de");
    expect_near(one.dweight, dweight, 1e-5, "dweight");
    EXPECT_NEAR(one.dlambda, dlambda, 1e-5 * std::max(1.0, std::abs(dlambda)));
  }
}

TEST_P(GateKernelTest, ThreadsChangeNoBitOfTheSmear) {
  for (const SmearShape& shape : kSmearShapes) {
    ThreadPool one_thread(1), three_threads(3);
    SmearCase alone(shape), shared(shape);
    alone.run(one_thread);
    shared.run(three_threads);
    EXPECT_EQ(alone.out, shared.out);
    EXPECT_EQ(alone.de, shared.de);
    EXPECT_EQ(alone.dweight, shared.dweight);
    EXPECT_EQ(alone.dlambda, shared.dlambda);
  }
}

INSTANTIATE_TEST_SUITE_P(Path, GateKernelTest, ::testing::ValuesIn(available_cpu_paths()), name_of_path());

}  // namespace
}  // namespace nanobench::core::testing
