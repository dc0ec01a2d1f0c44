#include "engine/cuda/adam.h"

#include <memory>

#include "engine/kernels/adam.h"
#include "kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

/// The formulas in float64; `rounded` is what the tensor's type stores.
struct Reference {
  Doubles p, m, v;
  Rounding rounded;

  void step(const AdamStep& s, const Doubles& gradients) {
    const double correction1 = 1.0 - std::pow(s.beta1, static_cast<double>(s.step));
    const double correction2 = 1.0 - std::pow(s.beta2, static_cast<double>(s.step));
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double g = rounded(gradients.empty() ? 0.0 : gradients[i]);
      const double first = m[i] + (1.0 - s.beta1) * (g - m[i]), second = s.beta2 * v[i] + (1.0 - s.beta2) * g * g;
      const double decayed = p[i] * (1.0 - s.rate * s.weight_decay);
      p[i] = rounded(decayed - s.rate / correction1 * first / (std::sqrt(second) / std::sqrt(correction2) + s.eps));
      m[i] = rounded(first), v[i] = rounded(second);
    }
  }
};

struct TensorCase {
  std::size_t count;
  NumberType type, gradient_type;
  std::int32_t group = 0;
  std::size_t skew = 0;
  bool has_gradient = true;
  bool has_copy = false;
};

/// A tensor on the device in either type, and what it should become.
struct Tensor {
  TensorCase c;
  Doubles gradient;
  Reference reference;
  DeviceArray<bf16> rounded_p, rounded_m, rounded_v, rounded_g, copy;
  DeviceArray<float> float_p, float_m, float_v, float_g;

  bool is_rounded() const { return c.type != NumberType::kFloat32; }
  bool is_bf16() const { return c.type == NumberType::kBfloat16; }
  Tensor(const TensorCase& from, std::uint64_t seed)
      : c(from),
        gradient(c.gradient_type == NumberType::kBfloat16 ? random_bf16(c.count, seed, 0.1)
                                                          : random_floats(c.count, seed, 0.1)),
        reference{random_bf16(c.count, seed + 1), Doubles(c.count, 0.0), Doubles(c.count, 0.0),
                  is_rounded() ? Rounding(to_nearest_bf16) : Rounding(unrounded)},
        rounded_p(is_bf16() ? reference.p : Doubles{}, c.skew),
        rounded_m(is_rounded() ? reference.m : Doubles{}),
        rounded_v(is_rounded() ? reference.v : Doubles{}),
        rounded_g(c.gradient_type == NumberType::kBfloat16 ? gradient : Doubles{}),
        copy(c.has_copy ? c.count : 0),
        float_p(is_bf16() ? Doubles{} : reference.p, c.skew),
        float_m(is_rounded() ? Doubles{} : reference.m),
        float_v(is_rounded() ? Doubles{} : reference.v),
        float_g(c.gradient_type == NumberType::kBfloat16 ? Doubles{} : gradient) {}

  AdamTensor entry() {
    AdamTensor entry{.copy = c.has_copy ? copy.data() : nullptr,
                     .count = static_cast<std::int64_t>(c.count),
                     .type = c.type,
                     .gradient_type = c.gradient_type,
                     .group = c.group};
    entry.parameter = is_bf16() ? static_cast<void*>(rounded_p.data()) : float_p.data();
    entry.first_moment = is_rounded() ? static_cast<void*>(rounded_m.data()) : float_m.data();
    entry.second_moment = is_rounded() ? static_cast<void*>(rounded_v.data()) : float_v.data();
    if (c.has_gradient)
      entry.gradient =
          c.gradient_type == NumberType::kBfloat16 ? static_cast<const void*>(rounded_g.data()) : float_g.data();
    return entry;
  }
  Doubles new_p() const { return is_bf16() ? rounded_p.values() : float_p.values(); }
  void expect_reference() const {
    if (is_rounded()) {
      expect_rounded(new_p(), reference.p, "p", 1.0 / 64, 0.01, 1e-3);
      expect_rounded(rounded_m.values(), reference.m, "m", 1.0 / 64, 0.01, 1e-6);
      expect_rounded(rounded_v.values(), reference.v, "v", 1.0 / 64, 0.01, 1e-6);
    } else {
      expect_near(new_p(), reference.p, 2e-6, "p");
      expect_near(float_m.values(), reference.m, 2e-6, "m");
      expect_near(float_v.values(), reference.v, 2e-6, "v");
    }
    if (c.has_copy) {
      Doubles want = new_p();
      for (double& x : want) x = to_nearest_bf16(x);
      EXPECT_EQ(copy.values(), want);
    }
    for (const auto* array : {&rounded_p, &rounded_m, &rounded_v, &copy}) EXPECT_TRUE(array->has_whole_guards());
    for (const auto* array : {&float_p, &float_m, &float_v}) EXPECT_TRUE(array->has_whole_guards());
  }
};

/// The table of tensors on the device.
class Table {
 public:
  explicit Table(std::vector<AdamTensor> entries) : items_(adam_items(entries)), entries_(entries) {}
  void update(const DeviceArray<AdamFactors>& factors) const {
    adam_update(entries_.data(), static_cast<std::int64_t>(entries_.size()), items_, factors.data(), nullptr);
  }

 private:
  std::int64_t items_;
  DeviceArray<AdamTensor> entries_;
};

std::vector<std::unique_ptr<Tensor>> all_tensors() {
  constexpr NumberType kFloats = NumberType::kFloat32, kRounded = NumberType::kBfloat16,
                       kHeld = NumberType::kRoundedFloat32;
  const TensorCase cases[] = {{20000, kFloats, kFloats, 0, 0, true, true},
                              {1, kFloats, kFloats, 1},
                              {9001, kRounded, kRounded, 1},
                              {2, kRounded, kFloats, 1, 1},
                              {0, kFloats, kFloats},
                              {777, kFloats, kRounded, 0, 3, true, true},
                              {8192, kRounded, kFloats, 0, 0, true, true},
                              {9001, kHeld, kFloats, 1, 0, true, true},
                              {130, kHeld, kRounded, 0, 1},
                              {100, kFloats, kFloats, 1, 0, false}};
  std::vector<std::unique_ptr<Tensor>> tensors;
  for (const TensorCase& c : cases) tensors.push_back(std::make_unique<Tensor>(c, 10 * tensors.size()));
  return tensors;
}

AdamStep step_of(std::int32_t group, std::int64_t step) {
  return group == 0 ? AdamStep{.rate = 0.3, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-10, .step = step}
                    : AdamStep{.rate = 0.05 / static_cast<double>(step),
                               .beta1 = 0.4,  // m is counted from the gradient
                               .beta2 = 0.99,
                               .eps = 1e-8,
                               .weight_decay = 0.1,
                               .step = step};
}

TEST(CudaAdam, StepsAllTensorsInOneLaunch) {
  auto tensors = all_tensors();
  std::vector<AdamTensor> entries;
  for (const auto& tensor : tensors) entries.push_back(tensor->entry());
  const Table table(entries);
  DeviceArray<AdamFactors> factors(2);
  kernel_counts();
  for (std::int64_t step = 1; step <= 3; ++step) {
    factors.write({adam_factors(step_of(0, step)), adam_factors(step_of(1, step))});
    table.update(factors);
    for (const auto& tensor : tensors)
      tensor->reference.step(step_of(tensor->c.group, step), tensor->c.has_gradient ? tensor->gradient : Doubles{});
  }
  if (const auto counts = kernel_counts()) {
    EXPECT_EQ(counts->launches, 3U);
  }
  for (const auto& tensor : tensors) tensor->expect_reference();
}

/// The engine's kernel on the CPU: the same numbers but for the last bits of float32.
TEST(CudaAdam, AgreesWithTheKernelOfTheCpu) {
  constexpr std::size_t kCount = 1003;
  for (const NumberType type : {NumberType::kFloat32, NumberType::kBfloat16, NumberType::kRoundedFloat32}) {
    const bool rounds = type != NumberType::kFloat32;
    Tensor tensor({kCount, type, NumberType::kFloat32}, 5);
    std::vector<float> p(kCount), m(kCount), v(kCount), g(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      p[i] = static_cast<float>(tensor.reference.p[i]);
      g[i] = static_cast<float>(tensor.gradient[i]);
    }
    const Table table({tensor.entry()});
    const core::AdamParameter parameter{p.data(), g.data(), m.data(), v.data(), kCount};
    ThreadPool threads(1);
    for (std::int64_t step = 1; step <= 2; ++step) {
      const AdamStep s = step_of(1, step);
      table.update(DeviceArray<AdamFactors>(std::vector{adam_factors(s)}));
      core::adam_update({&parameter, 1},
                        {.rate = s.rate,
                         .beta1 = s.beta1,
                         .beta2 = s.beta2,
                         .eps = s.eps,
                         .weight_decay = s.weight_decay,
                         .step = s.step,
                         .rounds_to_bfloat16 = rounds},
                        threads);
    }
    const Doubles want(p.begin(), p.end());
    if (rounds) {
      expect_rounded(tensor.new_p(), want, "p", 1.0 / 128, 0.005);
    } else {
      expect_near(tensor.new_p(), want, 2e-7, "p");
    }
  }
}

TEST(CudaAdam, ItemsFollowEachOther) {
  std::vector<AdamTensor> table(4);
  table[0].count = 1, table[1].count = 0, table[2].count = 100000, table[3].count = 1;
  const std::int64_t items = adam_items(table);
  EXPECT_EQ(table[1].first_item, 1);
  EXPECT_EQ(table[2].first_item, 1);
  EXPECT_EQ(table[3].first_item, items - 1);
  EXPECT_GT(items, 3);
}

TEST(CudaAdam, OrderOfBlocksChangesNoBit) {
  expect_same_in_every_order([] {
    Tensor tensor({30000, NumberType::kBfloat16, NumberType::kFloat32, 0}, 6);
    Table({tensor.entry()}).update(DeviceArray<AdamFactors>(std::vector{adam_factors(step_of(0, 1))}));
    return tensor.rounded_p.contents();
  });
}

TEST(CudaAdam, NoTensorsAreNoLaunch) {
  kernel_counts();
  adam_update(nullptr, 0, adam_items({}), nullptr, nullptr);
  if (const auto counts = kernel_counts()) {
    EXPECT_EQ(counts->launches, 0U);
  }
}

}  // namespace
}  // namespace nanobench::core::cuda
