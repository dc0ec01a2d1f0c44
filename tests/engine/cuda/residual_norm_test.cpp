#include "engine/cuda/residual_norm.h"

#include "kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

struct Case {
  std::size_t rows, width;
  bool has_skip = true, has_x0 = true;
};

constexpr double kEps = 1.0 / 128;
constexpr double kSkipWeight = 0.75, kXWeight = 1.25, kX0Weight = -0.375;

/// The formulas in float64.
struct Reference {
  std::size_t rows, width;
  Doubles x, skip, x0;  // empty: none
  double skip_weight = kSkipWeight, x_weight = kXWeight, x0_weight = kX0Weight;
  Rounding rounded = to_nearest_bf16;

  double skipped(std::size_t i) const { return x[i] + (skip.empty() ? 0.0 : skip_weight * skip[i]); }
  Doubles blended() const {
    Doubles out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      out[i] = rounded(x_weight * skipped(i) + (x0.empty() ? 0.0 : x0_weight * x0[i]));
    return out;
  }
  double inverse(const Doubles& row, std::size_t begin) const {
    double squares = 0.0;
    for (std::size_t i = begin; i < begin + width; ++i) squares += row[i] * row[i];
    return 1.0 / std::sqrt(squares / static_cast<double>(width) + kEps);
  }
  Doubles normed(const Doubles& from) const {
    Doubles out(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) out[i] = rounded(from[i] * inverse(from, i / width * width));
    return out;
  }
  /// d of the blended rows.
  Doubles gradient(const Doubles& dnormed, const Doubles& dblended) const {
    const Doubles row = blended();
    Doubles d(row.size());
    for (std::size_t begin = 0; begin < row.size(); begin += width) {
      const double scale = inverse(row, begin);
      double projection = 0.0;
      for (std::size_t i = begin; i < begin + width; ++i) projection += dnormed[i] * row[i];
      projection *= scale * scale * scale / static_cast<double>(width);
      for (std::size_t i = begin; i < begin + width; ++i)
        d[i] = rounded(dblended[i] + dnormed[i] * scale - row[i] * projection);
    }
    return d;
  }
};

Reference reference_of(const Case& c) {
  const std::size_t count = c.rows * c.width;
  return {.rows = c.rows,
          .width = c.width,
          .x = random_bf16(count, 1),
          .skip = c.has_skip ? random_bf16(count, 2) : Doubles{},
          .x0 = c.has_x0 ? random_bf16(count, 3) : Doubles{}};
}

/// The inputs on the device.
struct Inputs {
  DeviceArray<bf16> x, skip, x0;
  DeviceArray<float> weights{Doubles{kXWeight, kX0Weight}}, skip_weight{Doubles{kSkipWeight}};
  ResidualShape shape;
  DeviceResidualBlend blend;

  explicit Inputs(const Reference& r)
      : x(r.x), skip(r.skip), x0(r.x0), shape{static_cast<std::int64_t>(r.rows), static_cast<std::int64_t>(r.width)} {
    blend = {.x = x.data(),
             .skip = r.skip.empty() ? nullptr : skip.data(),
             .x0 = r.x0.empty() ? nullptr : x0.data(),
             .skip_weight = skip_weight.data(),
             .weights = weights.data()};
  }
};

class ResidualNorm : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Shapes, ResidualNorm,
                         ::testing::Values(Case{5, 768}, Case{1, 8}, Case{7, 24, true, false},
                                           Case{9, 136, false, true}, Case{3, 1024, false, false}, Case{130, 264},
                                           Case{4101, 8}));  // more rows than blocks leave sums of

TEST_P(ResidualNorm, ForwardIsTheBlendAndItsNorm) {
  const Reference reference = reference_of(GetParam());
  Inputs in(reference);
  DeviceArray<bf16> blended(reference.x.size()), normed(reference.x.size());
  residual_norm_forward(in.shape, in.blend,
                        {.blended = blended.data(), .normed = normed.data(), .eps = static_cast<float>(kEps)}, nullptr);
  expect_rounded(blended.values(), reference.blended(), "blended");
  expect_rounded(normed.values(), reference.normed(reference.blended()), "normed");
  EXPECT_TRUE(blended.has_whole_guards() && normed.has_whole_guards());
}

/// All gradients of one call.
struct Gradients {
  DeviceArray<bf16> blended, dnormed, dblended, dx, dskip, dx0;
  DeviceArray<float> dweights{2}, dskip_weight{1}, workspace;

  Gradients(const Reference& r, const Doubles& dn, const Doubles& db)
      : blended(r.blended()),
        dnormed(dn),
        dblended(db),
        dx(r.x.size()),
        dskip(r.x.size()),
        dx0(r.x.size()),
        workspace(kResidualWorkspace) {}
  ResidualGradients pointers() {
    return {.blended = blended.data(),
            .dnormed = dnormed.data(),
            .dblended = dblended.data(),
            .eps = static_cast<float>(kEps),
            .dx = dx.data(),
            .dskip = dskip.data(),
            .dx0 = dx0.data(),
            .dweights = dweights.data(),
            .dskip_weight = dskip_weight.data(),
            .workspace = workspace.data()};
  }
  bool has_whole_guards() const {
    return dx.has_whole_guards() && dskip.has_whole_guards() && dx0.has_whole_guards() && dweights.has_whole_guards() &&
           dskip_weight.has_whole_guards() && workspace.has_whole_guards();
  }
};

TEST_P(ResidualNorm, BackwardGivesAllGradients) {
  const Reference r = reference_of(GetParam());
  const std::size_t count = r.x.size();
  const Doubles dnormed = random_bf16(count, 4), dblended = random_bf16(count, 5);
  Inputs in(r);
  Gradients g(r, dnormed, dblended), unweighted(r, dnormed, dblended);
  residual_norm_backward(in.shape, in.blend, g.pointers(), nullptr);
  residual_norm_backward(in.shape, {.x = in.blend.x},
                         {.blended = unweighted.blended.data(),
                          .dnormed = unweighted.dnormed.data(),
                          .dblended = unweighted.dblended.data(),
                          .eps = static_cast<float>(kEps),
                          .dx = unweighted.dx.data()},
                         nullptr);

  const Doubles d = unweighted.dx.values();  // with a = 1, as the kernel rounds it
  expect_rounded(d, r.gradient(dnormed, dblended), "d");
  Doubles dx(count), dskip(count), dx0(count), sums(3);
  for (std::size_t i = 0; i < count; ++i) {
    dx[i] = to_nearest_bf16(kXWeight * d[i]);
    dskip[i] = to_nearest_bf16(kSkipWeight * kXWeight * d[i]);
    dx0[i] = to_nearest_bf16(kX0Weight * d[i]);
    sums[0] += d[i] * r.skipped(i);
    sums[1] += r.x0.empty() ? 0.0 : d[i] * r.x0[i];
    sums[2] += r.skip.empty() ? 0.0 : kXWeight * d[i] * r.skip[i];
  }
  EXPECT_EQ(g.dx.values(), dx);  // products that float32 holds, and one rounding
  EXPECT_EQ(g.dskip.values(), dskip);
  EXPECT_EQ(g.dx0.values(), dx0);
  const double noise =
      std::sqrt(static_cast<double>(count)) + 1.0;  // of so many numbers, some of them rounded elsewhere
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(i < 2 ? g.dweights.values()[i] : g.dskip_weight.values()[0], sums[i], 3e-4 * noise) << "sum " << i;
  EXPECT_TRUE(g.has_whole_guards());
}

TEST(ResidualNorm, ReferenceGradientIsThatOfItsFormulas) {
  Reference r = reference_of({.rows = 2, .width = 8});
  r.rounded = unrounded;
  const Doubles dnormed = random_numbers(16, 7), dblended = random_numbers(16, 8);
  const auto loss = [&] {
    const Doubles blended = r.blended(), normed = r.normed(blended);
    double sum = 0.0;
    for (std::size_t i = 0; i < 16; ++i) sum += dblended[i] * blended[i] + dnormed[i] * normed[i];
    return sum;
  };
  const Doubles d = r.gradient(dnormed, dblended);
  double dw = 0.0, da = 0.0, db = 0.0;
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(difference_quotient(loss, r.x[i]), kXWeight * d[i], 1e-8);
    EXPECT_NEAR(difference_quotient(loss, r.skip[i]), kSkipWeight * kXWeight * d[i], 1e-8);
    EXPECT_NEAR(difference_quotient(loss, r.x0[i]), kX0Weight * d[i], 1e-8);
    dw += kXWeight * d[i] * r.skip[i];
    da += d[i] * r.skipped(i);
    db += d[i] * r.x0[i];
  }
  EXPECT_NEAR(difference_quotient(loss, r.skip_weight), dw, 1e-8);
  EXPECT_NEAR(difference_quotient(loss, r.x_weight), da, 1e-8);
  EXPECT_NEAR(difference_quotient(loss, r.x0_weight), db, 1e-8);
}

TEST(ResidualNorm, OrderOfBlocksChangesNoBit) {
  const Reference r = reference_of({.rows = 4101, .width = 16});  // more rows than blocks that leave partial sums
  Inputs in(r);
  expect_same_in_every_order([&] {
    Gradients g(r, r.x, r.x0);
    residual_norm_backward(in.shape, in.blend, g.pointers(), nullptr);
    return joined(
        {g.dx.contents(), g.dskip.contents(), g.dx0.contents(), g.dweights.contents(), g.dskip_weight.contents()});
  });
}

TEST(ResidualNorm, SumAfterABranchNeedsNoWeightsInMemory) {
  const std::size_t count = 3 * 40;
  Reference r = reference_of({.rows = 3, .width = 40, .has_skip = true, .has_x0 = false});
  r.x_weight = 1.0, r.skip_weight = 0.25;
  DeviceArray<bf16> x(r.x), branch(r.skip), normed(count);
  residual_norm_forward({3, 40}, {.x = x.data(), .skip = branch.data(), .skip_scale = 0.25f},
                        {.blended = x.data(), .normed = normed.data(), .eps = static_cast<float>(kEps)}, nullptr);
  expect_rounded(x.values(), r.blended(), "in place");
  expect_rounded(normed.values(), r.normed(r.blended()), "normed");
}

/// As in the first layer: the gradient of each place by itself.
TEST(ResidualNorm, X0MayBeX) {
  Reference r = reference_of({.rows = 3, .width = 48, .has_skip = false});
  r.x0 = r.x;
  const Doubles d = random_bf16(r.x.size(), 9);
  Inputs in(r);
  in.blend.x0 = in.blend.x;
  DeviceArray<bf16> blended(d.size()), dblended(d), dx(d.size()), dx0(d.size());
  residual_norm_forward(in.shape, in.blend, {.blended = blended.data()}, nullptr);
  residual_norm_backward(in.shape, in.blend, {.dblended = dblended.data(), .dx = dx.data(), .dx0 = dx0.data()},
                         nullptr);
  Doubles want_dx(d.size()), want_dx0(d.size());
  for (std::size_t i = 0; i < d.size(); ++i) {
    want_dx[i] = to_nearest_bf16(kXWeight * d[i]);
    want_dx0[i] = to_nearest_bf16(kX0Weight * d[i]);
  }
  expect_rounded(blended.values(), r.blended(), "blended");
  EXPECT_EQ(dx.values(), want_dx);
  EXPECT_EQ(dx0.values(), want_dx0);
}

TEST(ResidualNorm, NotANumberGoesThrough) {
  Reference r = reference_of({.rows = 2, .width = 16});
  r.x[3] = std::nan("");
  Inputs in(r);
  DeviceArray<bf16> normed(r.x.size());
  residual_norm_forward(in.shape, in.blend, {.normed = normed.data(), .eps = 0.1f}, nullptr);
  EXPECT_TRUE(std::isnan(normed.values()[0]));
  EXPECT_FALSE(std::isnan(normed.values()[16]));
}

TEST(ResidualNorm, RefusesWidthsItCannotTake) {
  for (const std::int64_t width : {0, 12, 1032}) {
    EXPECT_THROW(residual_norm_forward({1, width}, {}, {}, nullptr), Error);
    EXPECT_THROW(residual_norm_backward({1, width}, {}, {}, nullptr), Error);
  }
}

}  // namespace
}  // namespace nanobench::core::cuda
