#include "engine/cuda/muon.h"

#include <memory>

#include "kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

constexpr double kEps = 1e-7;

struct Case {
  std::size_t matrices, numbers;
  MuonMomentum form;
  double momentum = 0.95;
};

/// The formulas in float64, of one matrix.
struct Reference {
  MuonMomentum form;
  double momentum;
  Doubles buffer;

  Doubles update(const Doubles& g) {
    Doubles u(g.size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (form.accumulates) {
        buffer[i] = momentum * buffer[i] + g[i];
        u[i] = form.is_nesterov ? g[i] + momentum * buffer[i] : buffer[i];
      } else {
        buffer[i] += (1.0 - momentum) * (g[i] - buffer[i]);
        u[i] = form.is_nesterov ? g[i] + momentum * (buffer[i] - g[i]) : buffer[i];
      }
    }
    return u;
  }
};

Doubles all_rounded(Doubles x) {
  for (double& number : x) number = to_nearest_bf16(number);
  return x;
}

/// |u| + eps, rounded at each step or not.
double divisor(const Doubles& u, const Rounding& rounded) {
  double squares = 0.0;
  for (const double x : u) squares += x * x;
  return rounded(rounded(std::sqrt(squares)) + kEps);
}

Doubles part(const Doubles& all, std::size_t index, std::size_t count) {
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(index * count);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

class Muon : public ::testing::TestWithParam<Case> {
 protected:
  MuonShape shape() const {
    return {static_cast<std::int64_t>(GetParam().matrices), static_cast<std::int64_t>(GetParam().numbers)};
  }
};
INSTANTIATE_TEST_SUITE_P(Cases, Muon,
                         ::testing::Values(Case{3, 64 * 48, {.accumulates = false, .is_nesterov = true}},
                                           Case{2, 15 * 7, {.accumulates = true, .is_nesterov = true}, 0.85},
                                           Case{1, 1, {.accumulates = false, .is_nesterov = false}},
                                           Case{2, 132 * 1024 + 8, {.accumulates = true, .is_nesterov = false}},
                                           Case{4, 2049, {.accumulates = false, .is_nesterov = true}, 0.3}));

/// Two steps: momentum, then division by the norm.
template <class Gradient, class Update>
void expect_normalized_updates(const Case& c, const MuonShape& shape) {
  constexpr bool kRounds = sizeof(Update) == sizeof(bf16);
  const std::size_t count = c.matrices * c.numbers;
  const Doubles before = random_floats(count, 1, 1e-3);
  DeviceArray<float> buffer(before), partials(c.matrices * static_cast<std::size_t>(kMuonPartials));
  DeviceArray<Update> update(count);
  DeviceArray<bf16> x(count);
  const DeviceArray<MuonFactors> factors(std::vector{muon_factors(c.momentum, 0.1)});
  std::vector<Reference> references;
  for (std::size_t i = 0; i < c.matrices; ++i) references.push_back({c.form, c.momentum, part(before, i, c.numbers)});
  for (std::uint64_t step = 0; step < 2; ++step) {
    std::vector<std::unique_ptr<DeviceArray<Gradient>>> gradients;
    std::vector<const Gradient*> pointers;
    Doubles want_buffer, want_update, want_x;
    for (std::size_t i = 0; i < c.matrices; ++i) {
      const bool has_gradient = step == 0 || i != 1;
      const Doubles g = has_gradient ? random_bf16(c.numbers, 10 * step + i, 1e-3) : Doubles(c.numbers, 0.0);
      gradients.push_back(std::make_unique<DeviceArray<Gradient>>(g, i == 2 ? 1 : 0));  // not aligned
      pointers.push_back(has_gradient ? gradients.back()->data() : nullptr);
      Doubles u = references[i].update(g);
      if (kRounds) u = all_rounded(u);
      const double size = divisor(u, kRounds ? to_nearest_bf16 : unrounded);
      for (const double number : u) want_x.push_back(to_nearest_bf16(number / size));
      want_update.insert(want_update.end(), u.begin(), u.end());
      want_buffer.insert(want_buffer.end(), references[i].buffer.begin(), references[i].buffer.end());
    }
    const DeviceArray<const Gradient*> device_pointers(pointers);
    muon_momentum(shape, c.form, factors.data(), device_pointers.data(), buffer.data(), update.data(), partials.data(),
                  nullptr);
    muon_normalize(shape, update.data(), partials.data(), {.eps = static_cast<float>(kEps)}, x.data(), nullptr);
    expect_near(buffer.values(), want_buffer, 1e-6, "buffer");
    if (kRounds) {
      expect_rounded(update.values(), want_update, "update", 1.0 / 64, 0.01, 1e-8);
    } else {
      expect_near(update.values(), want_update, 1e-6, "update");
    }
    expect_rounded(x.values(), want_x, "x", 1.0 / 64, 0.01, 1e-7);
  }
  EXPECT_TRUE(buffer.has_whole_guards() && update.has_whole_guards() && x.has_whole_guards() &&
              partials.has_whole_guards());
}

TEST_P(Muon, NormOfTheRoundedUpdate) {
  expect_normalized_updates<float, bf16>(GetParam(), shape());
  expect_normalized_updates<bf16, bf16>(GetParam(), shape());
}

TEST_P(Muon, NormOfTheUpdateItself) {
  expect_normalized_updates<float, float>(GetParam(), shape());
  expect_normalized_updates<bf16, float>(GetParam(), shape());
}

TEST_P(Muon, AppliesTheScaledUpdate) {
  const Case& c = GetParam();
  const Doubles u = random_bf16(c.matrices * c.numbers, 20);
  DeviceArray<bf16> update(u);
  std::vector<std::unique_ptr<DeviceArray<float>>> parameters;
  std::vector<std::unique_ptr<DeviceArray<bf16>>> copies;
  std::vector<float*> parameter_pointers;
  std::vector<bf16*> copy_pointers;
  std::vector<Doubles> before;
  for (std::size_t i = 0; i < c.matrices; ++i) {
    before.push_back(random_floats(c.numbers, 30 + i));
    parameters.push_back(std::make_unique<DeviceArray<float>>(before.back(), i));
    copies.push_back(std::make_unique<DeviceArray<bf16>>(c.numbers));
    parameter_pointers.push_back(parameters.back()->data());
    copy_pointers.push_back(copies.back()->data());
  }
  constexpr double kScale = 1.7320508, kRate = 0.05;
  const DeviceArray<MuonFactors> factors(std::vector{muon_factors(0.9, kRate)});
  const DeviceArray<float*> device_parameters(parameter_pointers);
  const DeviceArray<bf16*> device_copies(copy_pointers);
  muon_apply(shape(), update.data(), static_cast<float>(kScale), factors.data(), device_parameters.data(),
             device_copies.data(), nullptr);
  for (std::size_t i = 0; i < c.matrices; ++i) {
    Doubles want = before[i];
    for (std::size_t j = 0; j < c.numbers; ++j) want[j] -= kRate * to_nearest_bf16(kScale * u[i * c.numbers + j]);
    const Doubles got = parameters[i]->values();
    expect_near(got, want, 1e-3, "p");  // a product rounded elsewhere is off by its last place
    std::size_t near = 0;
    for (std::size_t j = 0; j < c.numbers; ++j) near += std::abs(got[j] - want[j]) < 1e-6 ? 1 : 0;
    EXPECT_GE(static_cast<double>(near) + 1.0, 0.99 * static_cast<double>(c.numbers));
    EXPECT_EQ(copies[i]->values(), all_rounded(got));
    EXPECT_TRUE(parameters[i]->has_whole_guards() && copies[i]->has_whole_guards());
  }
  muon_apply(shape(), update.data(), 1.0f, factors.data(), device_parameters.data(), nullptr, nullptr);
}

TEST(MuonCombine, RoundsEachTermAndTheSum) {
  for (const std::size_t count : {1U, 8U, 2051U}) {
    const Doubles x = random_bf16(count, 40), y = random_bf16(count, 41);
    DeviceArray<bf16> first(x), second(y, 2), sum(count), scaled(count);
    const auto size = static_cast<std::int64_t>(count);
    muon_combine(size, 3.4445f, first.data(), -4.775f, second.data(), sum.data(), nullptr);
    muon_combine(size, 2.0315f, first.data(), 0.0f, nullptr, scaled.data(), nullptr);
    Doubles want_sum(count), want_scaled(count);
    for (std::size_t i = 0; i < count; ++i) {
      want_sum[i] = to_nearest_bf16(to_nearest_bf16(3.4445 * x[i]) + to_nearest_bf16(-4.775 * y[i]));
      want_scaled[i] = to_nearest_bf16(2.0315 * x[i]);
    }
    expect_rounded(sum.values(), want_sum, "sum", 1.0 / 128, 0.002, 0.05);
    expect_rounded(scaled.values(), want_scaled, "scaled", 1.0 / 128, 0.002);
    EXPECT_TRUE(sum.has_whole_guards() && scaled.has_whole_guards());
    muon_combine(size, 3.4445f, first.data(), -4.775f, second.data(), second.data(), nullptr);
    EXPECT_EQ(second.values(), sum.values());
  }
}

TEST(MuonNorm, OrderOfBlocksChangesNoBit) {
  constexpr std::size_t kNumbers = 40000;
  const Doubles g = random_floats(2 * kNumbers, 50);
  DeviceArray<float> gradient(g);
  const DeviceArray<const float*> pointers(std::vector<const float*>{gradient.data(), gradient.data() + kNumbers});
  const DeviceArray<MuonFactors> factors(std::vector{muon_factors(0.95, 0.05)});
  expect_same_in_every_order([&] {
    DeviceArray<float> buffer(Doubles(2 * kNumbers, 0.0)), partials(2 * static_cast<std::size_t>(kMuonPartials));
    DeviceArray<bf16> update(2 * kNumbers);
    const MuonShape shape{2, kNumbers};
    muon_momentum(shape, {}, factors.data(), pointers.data(), buffer.data(), update.data(), partials.data(), nullptr);
    muon_normalize(shape, update.data(), partials.data(), {.eps = 1e-7f}, update.data(), nullptr);  // in place
    return joined({update.contents(), partials.contents()});
  });
}

}  // namespace
}  // namespace nanobench::core::cuda
