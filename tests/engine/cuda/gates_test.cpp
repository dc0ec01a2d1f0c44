#include "engine/cuda/gates.h"

#include "kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

constexpr double kEps = 1.0 / 128, kLambda = 0.75;

struct HeadCase {
  std::size_t length, width, heads, head_dim, gate_dim;
};

double gate_of(double z) {
  return 1.0 / (1.0 + std::exp(-z));
}

double inner_product(const Doubles& a, const Doubles& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// The formulas in float64.
struct HeadReference {
  HeadCase c;
  Doubles x, weight, y;

  explicit HeadReference(const HeadCase& shape)
      : c(shape),
        x(random_bf16(shape.length * shape.width, 1)),
        weight(random_floats(shape.heads * shape.gate_dim, 2)),
        y(random_bf16(shape.length * shape.heads * shape.head_dim, 3)) {}

  double inverse(std::size_t t) const {
    double squares = 0.0;
    for (std::size_t i = 0; i < c.width; ++i) squares += x[t * c.width + i] * x[t * c.width + i];
    return 1.0 / std::sqrt(squares / static_cast<double>(c.width) + kEps);
  }
  double gate(std::size_t t, std::size_t h) const {
    double z = 0.0;
    for (std::size_t g = 0; g < c.gate_dim; ++g) z += inverse(t) * x[t * c.width + g] * weight[h * c.gate_dim + g];
    return gate_of(z);
  }
  Doubles out() const {
    Doubles out(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t row = i / c.head_dim;
      out[i] = y[i] * gate(row / c.heads, row % c.heads);
    }
    return out;
  }
  double loss(const Doubles& dout) const { return inner_product(dout, out()); }

  struct Gradients {
    Doubles x, weight, y;
  };
  Gradients gradients(const Doubles& dout) const {
    Gradients g{Doubles(x.size()), Doubles(weight.size()), Doubles(y.size())};
    for (std::size_t t = 0; t < c.length; ++t) add_row(dout, t, g);
    return g;
  }

 private:
  void add_row(const Doubles& dout, std::size_t t, Gradients& g) const {
    const double r = inverse(t);
    Doubles dn(c.gate_dim);
    for (std::size_t h = 0; h < c.heads; ++h) {
      const double s = gate(t, h);
      double dz = 0.0;
      for (std::size_t e = 0; e < c.head_dim; ++e) {
        const std::size_t i = (t * c.heads + h) * c.head_dim + e;
        dz += dout[i] * y[i] * s * (1.0 - s);
        g.y[i] = dout[i] * s;
      }
      for (std::size_t k = 0; k < c.gate_dim; ++k) {
        g.weight[h * c.gate_dim + k] += dz * r * x[t * c.width + k];
        dn[k] += dz * weight[h * c.gate_dim + k];
      }
    }
    double product = 0.0;
    for (std::size_t k = 0; k < c.gate_dim; ++k) product += dn[k] * x[t * c.width + k];
    for (std::size_t i = 0; i < c.width; ++i) {
      g.x[t * c.width + i] =
          (i < c.gate_dim ? r * dn[i] : 0.0) - x[t * c.width + i] * r * r * r * product / static_cast<double>(c.width);
    }
  }
};

struct HeadDevice {
  DeviceHeadGateShape shape;
  DeviceArray<bf16> x, y, out, dout, dx, dy;
  DeviceArray<float> weight, gates, dweight, workspace;

  HeadDevice(const HeadReference& r, const Doubles& d)
      : shape{static_cast<std::int64_t>(r.c.length), static_cast<std::int64_t>(r.c.width),
              static_cast<std::int64_t>(r.c.heads), static_cast<std::int64_t>(r.c.head_dim),
              static_cast<std::int64_t>(r.c.gate_dim)},
        x(r.x),
        y(r.y),
        out(r.y.size()),
        dout(d),
        dx(r.x.size()),
        dy(r.y.size()),
        weight(r.weight),
        gates(r.c.length * r.c.heads),
        dweight(r.weight.size()),
        workspace(r.weight.size() * static_cast<std::size_t>(kPartialBlocks)) {}

  void run() {
    const DeviceHeadGate in{.x = x.data(), .weight = weight.data(), .y = y.data(), .eps = static_cast<float>(kEps)};
    head_gate_forward(shape, in, gates.data(), out.data(), nullptr);
    head_gate_backward(shape, in,
                       {.dout = dout.data(),
                        .gates = gates.data(),
                        .x = dx.data(),
                        .y = dy.data(),
                        .weight = dweight.data(),
                        .workspace = workspace.data()},
                       nullptr);
  }
  bool has_whole_guards() const {
    return out.has_whole_guards() && dx.has_whole_guards() && dy.has_whole_guards() && gates.has_whole_guards() &&
           dweight.has_whole_guards() && workspace.has_whole_guards();
  }
};

class GatesOfHeads : public ::testing::TestWithParam<HeadCase> {};
INSTANTIATE_TEST_SUITE_P(Shapes, GatesOfHeads,
                         ::testing::Values(HeadCase{5, 768, 6, 128, 12}, HeadCase{1, 8, 1, 8, 1},
                                           HeadCase{9, 264, 3, 16, 32}, HeadCase{130, 64, 2, 264, 12},
                                           HeadCase{4101, 16, 32, 8, 16}));  // more rows than blocks leave sums of

TEST_P(GatesOfHeads, ForwardAndBackwardAreThoseOfTheFormulas) {
  const HeadReference r(GetParam());
  const Doubles dout = random_bf16(r.y.size(), 4);
  HeadDevice device(r, dout);
  device.run();
  Doubles out = r.out();
  HeadReference::Gradients g = r.gradients(dout);
  for (double& value : out) value = to_nearest_bf16(value);
  for (double& value : g.y) value = to_nearest_bf16(value);
  expect_rounded(device.out.values(), out, "out");
  expect_rounded(device.dy.values(), g.y, "dy");
  expect_near(device.dx.values(), g.x, 1.0 / 256, "dx");  // rounded; small differences of large terms
  expect_near(device.dweight.values(), g.weight, 1e-5, "dweight");
  EXPECT_TRUE(device.has_whole_guards());
}

TEST(GatesOfHeads, ReferenceGradientIsThatOfItsFormulas) {
  HeadReference r({.length = 2, .width = 8, .heads = 2, .head_dim = 8, .gate_dim = 3});
  const Doubles dout = random_numbers(r.y.size(), 5);
  const HeadReference::Gradients g = r.gradients(dout);
  const auto loss = [&] { return r.loss(dout); };
  for (std::size_t i = 0; i < r.x.size(); ++i) EXPECT_NEAR(difference_quotient(loss, r.x[i]), g.x[i], 1e-8);
  for (std::size_t i = 0; i < r.y.size(); ++i) EXPECT_NEAR(difference_quotient(loss, r.y[i]), g.y[i], 1e-8);
  for (std::size_t i = 0; i < r.weight.size(); ++i)
    EXPECT_NEAR(difference_quotient(loss, r.weight[i]), g.weight[i], 1e-8);
}

TEST(GatesOfHeads, OrderOfBlocksChangesNoBit) {
  const HeadReference r({.length = 4101, .width = 16, .heads = 2, .head_dim = 8, .gate_dim = 12});
  expect_same_in_every_order([&] {
    HeadDevice device(r, r.y);
    device.run();
    return joined({device.out.contents(), device.dx.contents(), device.dy.contents(), device.dweight.contents()});
  });
}

TEST(GatesOfHeads, RefusesOtherShapes) {
  for (const DeviceHeadGateShape& shape :
       {DeviceHeadGateShape{1, 12, 1, 8, 4}, DeviceHeadGateShape{1, 64, 33, 8, 4}, DeviceHeadGateShape{1, 64, 2, 12, 4},
        DeviceHeadGateShape{1, 64, 2, 8, 33}, DeviceHeadGateShape{1, 8, 2, 8, 12}}) {
    EXPECT_THROW(head_gate_forward(shape, {}, nullptr, nullptr, nullptr), Error);
    EXPECT_THROW(head_gate_backward(shape, {}, {}, nullptr), Error);
  }
}

struct SmearReference {
  std::size_t length, width, gate_dim;
  Doubles e = random_bf16(length * width, 6), weight = random_floats(gate_dim, 7, 0.3);
  double lambda = kLambda;

  double gate(std::size_t t) const {
    double z = 0.0;
    for (std::size_t g = 0; g < gate_dim; ++g) z += e[t * width + g] * weight[g];
    return gate_of(z);
  }
  Doubles out() const {
    Doubles out = e;
    for (std::size_t i = width; i < e.size(); ++i) out[i] += lambda * gate(i / width) * e[i - width];
    return out;
  }
  double loss(const Doubles& dout) const { return inner_product(dout, out()); }

  struct Gradients {
    Doubles e, weight;
    double lambda = 0.0;
  };
  Gradients gradients(const Doubles& dout) const {
    Gradients g{dout, Doubles(gate_dim)};
    for (std::size_t t = 1; t < length; ++t) {
      const double s = gate(t);
      double product = 0.0;
      for (std::size_t i = 0; i < width; ++i) {
        product += dout[t * width + i] * e[(t - 1) * width + i];
        g.e[(t - 1) * width + i] += lambda * s * dout[t * width + i];
      }
      g.lambda += product * s;
      const double dz = lambda * product * s * (1.0 - s);
      for (std::size_t k = 0; k < gate_dim; ++k) {
        g.weight[k] += dz * e[t * width + k];
        g.e[t * width + k] += dz * weight[k];
      }
    }
    return g;
  }
};

struct SmearDevice {
  DeviceSmearShape shape;
  DeviceArray<bf16> e, out, dout, de;
  DeviceArray<float> weight, lambda{Doubles{kLambda}}, gates, dweight, dlambda{1}, workspace;

  SmearDevice(const SmearReference& r, const Doubles& d)
      : shape{static_cast<std::int64_t>(r.length), static_cast<std::int64_t>(r.width),
              static_cast<std::int64_t>(r.gate_dim)},
        e(r.e),
        out(r.e.size()),
        dout(d),
        de(r.e.size()),
        weight(r.weight),
        gates(r.length),
        dweight(r.weight.size()),
        workspace((r.weight.size() + 1) * static_cast<std::size_t>(kPartialBlocks)) {}

  void run() {
    const DeviceSmear in{.e = e.data(), .weight = weight.data(), .lambda = lambda.data()};
    smear_forward(shape, in, gates.data(), out.data(), nullptr);
    smear_backward(shape, in,
                   {.dout = dout.data(),
                    .gates = gates.data(),
                    .e = de.data(),
                    .weight = dweight.data(),
                    .lambda = dlambda.data(),
                    .workspace = workspace.data()},
                   nullptr);
  }
};

class GatesOfSmear : public ::testing::TestWithParam<HeadCase> {};  // length, width and gate_dim
INSTANTIATE_TEST_SUITE_P(Shapes, GatesOfSmear,
                         ::testing::Values(HeadCase{5, 768, 1, 1, 12}, HeadCase{1, 8, 1, 1, 8},
                                           HeadCase{2, 264, 1, 1, 32}, HeadCase{4101, 16, 1, 1, 12}));

TEST_P(GatesOfSmear, ForwardAndBackwardAreThoseOfTheFormulas) {
  const SmearReference r{GetParam().length, GetParam().width, GetParam().gate_dim};
  const Doubles dout = random_bf16(r.e.size(), 8);
  SmearDevice device(r, dout);
  device.run();
  Doubles out = r.out();
  SmearReference::Gradients g = r.gradients(dout);
  for (double& value : out) value = to_nearest_bf16(value);
  expect_rounded(device.out.values(), out, "out");
  expect_near(device.de.values(), g.e, 1.0 / 256, "de");
  expect_near(device.dweight.values(), g.weight, 1e-4, "dweight");
  const double noise = std::sqrt(static_cast<double>(r.e.size())) + 1.0;
  EXPECT_NEAR(device.dlambda.values()[0], g.lambda, 1e-5 * noise);
  EXPECT_TRUE(device.out.has_whole_guards() && device.de.has_whole_guards() && device.dweight.has_whole_guards() &&
              device.dlambda.has_whole_guards() && device.workspace.has_whole_guards());
}

TEST(GatesOfSmear, ReferenceGradientIsThatOfItsFormulas) {
  SmearReference r{3, 8, 3};
  const Doubles dout = random_numbers(r.e.size(), 9);
  const SmearReference::Gradients g = r.gradients(dout);
  const auto loss = [&] { return r.loss(dout); };
  for (std::size_t i = 0; i < r.e.size(); ++i) EXPECT_NEAR(difference_quotient(loss, r.e[i]), g.e[i], 1e-8);
  for (std::size_t i = 0; i < r.weight.size(); ++i)
    EXPECT_NEAR(difference_quotient(loss, r.weight[i]), g.weight[i], 1e-8);
  EXPECT_NEAR(difference_quotient(loss, r.lambda), g.lambda, 1e-8);
}

TEST(GatesOfSmear, OrderOfBlocksChangesNoBit) {
  const SmearReference r{4101, 16, 12};
  expect_same_in_every_order([&] {
    SmearDevice device(r, r.e);
    device.run();
    return joined({device.out.contents(), device.de.contents(), device.dweight.contents(), device.dlambda.contents()});
  });
}

TEST(GatesOfSmear, RefusesOtherShapes) {
  for (const DeviceSmearShape& shape : {DeviceSmearShape{1, 12, 4}, DeviceSmearShape{1, 64, 33}}) {
    EXPECT_THROW(smear_forward(shape, {}, nullptr, nullptr, nullptr), Error);
    EXPECT_THROW(smear_backward(shape, {}, {}, nullptr), Error);
  }
}

}  // namespace
}  // namespace nanobench::core::cuda
