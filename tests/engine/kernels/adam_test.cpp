#include "engine/kernels/adam.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/engine/kernels/every_path.h"
#include "tests/engine/kernels/random_floats.h"

namespace nanobench::core::testing {
namespace {

/// From a few numbers to several items; one parameter spans three.
constexpr std::int64_t kCounts[] = {1, 2, 3, 17, 16384, 40000, 1, 100, 31};

/// By the definition: halfway cases go to the neighbour whose last bit is zero.
float bfloat16_of(float x) {
  const auto below = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000U);
  const auto above = std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) & 0xffff0000U) + 0x10000U);
  const double down = std::abs(static_cast<double>(x) - below), up = std::abs(static_cast<double>(above) - x);
  const bool below_is_even = (std::bit_cast<std::uint32_t>(x) & 0x10000U) == 0;
  return down < up || (down == up && below_is_even) ? below : above;
}

struct Group {
  std::vector<Floats> p, g, m, v;
  std::vector<AdamParameter> parameters;

  Group() {
    for (const std::int64_t count : kCounts) {
      const auto seed = static_cast<unsigned>(4 * p.size());
      p.push_back(random_floats(count, seed, 0.1f));
      g.push_back(random_floats(count, seed + 1, 0.1f));
      m.push_back(random_floats(count, seed + 2, 0.1f));
      v.push_back(random_floats(count, seed + 3, 0.1f));
      for (float& x : v.back()) x = x * x;
    }
    for (std::size_t i = 0; i < p.size(); ++i)
      parameters.push_back({.parameter = p[i].data(),
                            .gradient = g[i].data(),
                            .first_moment = m[i].data(),
                            .second_moment = v[i].data(),
                            .count = kCounts[i]});
  }
};

struct Number {
  double p, m, v;
};

Number expected_of(const AdamSettings& s, double p, double g, double m, double v) {
  const double t = static_cast<double>(s.step);
  p *= 1.0 - s.rate * s.weight_decay;
  m = s.beta1 * m + (1.0 - s.beta1) * g;
  v = s.beta2 * v + (1.0 - s.beta2) * g * g;
  const double denominator = std::sqrt(v) / std::sqrt(1.0 - std::pow(s.beta2, t)) + s.eps;
  return {p - s.rate / (1.0 - std::pow(s.beta1, t)) * m / denominator, m, v};
}

using AdamKernelTest = EveryPath;

TEST_P(AdamKernelTest, AgreesWithDoublePrecision) {
  ThreadPool threads(2);
  const AdamSettings all_settings[] = {
      {.rate = 0.01, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-10, .step = 1},
      {.rate = 0.3, .beta1 = 0.3, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1, .step = 7},
      {.rate = 0.05, .beta1 = 0.0, .beta2 = 0.0, .eps = 1e-8, .step = 1000},
  };
  for (const AdamSettings& settings : all_settings) {
    Group after;
    const Group before;
    adam_update(after.parameters, settings, threads);
    for (std::size_t i = 0; i < before.p.size(); ++i) {
      for (std::size_t j = 0; j < before.p[i].size(); ++j) {
        const Number want = expected_of(settings, before.p[i][j], before.g[i][j], before.m[i][j], before.v[i][j]);
        // As large as the step would be if m and g did not cancel.
        const Number uncancelled =
            expected_of(settings, 0.0, std::abs(before.g[i][j]), std::abs(before.m[i][j]), before.v[i][j]);
        ASSERT_NEAR(after.p[i][j], want.p, 5e-7 * (std::abs(before.p[i][j]) + std::abs(uncancelled.p)))
            << i << ", " << j;
        ASSERT_NEAR(after.m[i][j], want.m, 1e-7) << i << ", " << j;
        ASSERT_NEAR(after.v[i][j], want.v, 3e-7 * want.v) << i << ", " << j;
      }
    }
    EXPECT_EQ(after.g, before.g);
  }
}

TEST_P(AdamKernelTest, RoundsTheGradientBeforeAndTheStateAfterTheStep) {
  ThreadPool threads(2);
  AdamSettings settings{.rate = 0.02, .beta1 = 0.9, .beta2 = 0.95, .step = 3};
  Group exact;
  for (Floats& g : exact.g)
    for (float& x : g) x = bfloat16_of(x);
  adam_update(exact.parameters, settings, threads);
  settings.rounds_to_bfloat16 = true;
  Group rounded;
  adam_update(rounded.parameters, settings, threads);
  for (std::size_t i = 0; i < exact.p.size(); ++i) {
    for (std::size_t j = 0; j < exact.p[i].size(); ++j) {
      ASSERT_EQ(rounded.p[i][j], bfloat16_of(exact.p[i][j])) << i << ", " << j;
      ASSERT_EQ(rounded.m[i][j], bfloat16_of(exact.m[i][j])) << i << ", " << j;
      ASSERT_EQ(rounded.v[i][j], bfloat16_of(exact.v[i][j])) << i << ", " << j;
    }
  }
}

/// Where rounding has to decide: halfway cases, the largest numbers, infinities and NaN. beta1 = 0 keeps g as m.
TEST_P(AdamKernelTest, RoundsToNearestWithTiesToEven) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto number = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  Floats g = {number(0x3f808000), number(0x3f818000), number(0x3f808001), number(0x3f807fff), number(0xbf808000),
              number(0xbf818000), number(0x7f7fffff), infinity,           -infinity,          0.0f,
              number(0x80000000), number(0x00008000), number(0x00018000)};
  const Floats expected = {number(0x3f800000),
                           number(0x3f820000),
                           number(0x3f810000),
                           number(0x3f800000),
                           number(0xbf800000),
                           number(0xbf820000),
                           infinity,
                           infinity,
                           -infinity,
                           0.0f,
                           -0.0f,
                           0.0f,
                           number(0x00020000)};
  g.push_back(number(0x7fffffff));  // a NaN that adding to its bits would make zero
  Floats p(g.size()), m(g.size()), v(g.size());
  const AdamParameter parameter{.parameter = p.data(),
                                .gradient = g.data(),
                                .first_moment = m.data(),
                                .second_moment = v.data(),
                                .count = static_cast<std::int64_t>(g.size())};
  ThreadPool threads(1);
  adam_update({&parameter, 1}, {.rate = 0.0, .beta1 = 0.0, .rounds_to_bfloat16 = true}, threads);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isinf(expected[i])) continue;  // infinity - infinity is in the mean
    EXPECT_EQ(m[i], expected[i]) << i;
  }
  EXPECT_TRUE(std::isnan(m.back()));
}

TEST_P(AdamKernelTest, AMissingGradientIsZero) {
  ThreadPool threads(1);
  Group zero, missing;
  for (Floats& g : zero.g) std::fill(g.begin(), g.end(), 0.0f);
  for (AdamParameter& parameter : missing.parameters) parameter.gradient = nullptr;
  adam_update(zero.parameters, {.rate = 0.1}, threads);
  adam_update(missing.parameters, {.rate = 0.1}, threads);
  EXPECT_EQ(zero.p, missing.p);
  EXPECT_EQ(zero.m, missing.m);
  EXPECT_EQ(zero.v, missing.v);
  EXPECT_NE(zero.p, Group().p);
}

TEST_P(AdamKernelTest, BitsDependNeitherOnThreadsNorOnTheGroup) {
  ThreadPool one(1);
  Group expected;
  adam_update(expected.parameters, {.rate = 0.1}, one);
  for (const int threads : {2, 5, 16}) {
    ThreadPool pool(threads);
    Group group;
    adam_update(group.parameters, {.rate = 0.1}, pool);
    EXPECT_EQ(group.p, expected.p) << threads;
    EXPECT_EQ(group.m, expected.m) << threads;
    EXPECT_EQ(group.v, expected.v) << threads;
  }
  Group separate;
  for (const AdamParameter& parameter : separate.parameters) adam_update({&parameter, 1}, {.rate = 0.1}, one);
  EXPECT_EQ(separate.p, expected.p);
}

INSTANTIATE_TEST_SUITE_P(Path, AdamKernelTest, ::testing::ValuesIn(available_cpu_paths()), name_of_path());

}  // namespace
}  // namespace nanobench::core::testing
