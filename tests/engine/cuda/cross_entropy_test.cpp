#include "engine/cuda/cross_entropy.h"

#include <algorithm>
#include <utility>

#include "engine/cuda/partial_sums.h"
#include "kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

/// The formulas in float64, of one row.
struct Reference {
  CrossEntropyOptions options;
  Rounding rounded = to_nearest_bf16;

  bool is_rounded() const { return options.rounding != CrossEntropyRounding::kNone; }
  double logit(double x) const {
    return (options.rounds_logits ? rounded(x) : x) * static_cast<double>(options.logit_scale);
  }
  double sigmoid(double x) const {
    const double z = rounded(logit(x) / (0.5 * static_cast<double>(options.cap)));
    return rounded(1.0 / (1.0 + std::exp(-z)));
  }
  double tanh_of(double x) const {
    return options.cap > 0.0f ? std::tanh(logit(x) / static_cast<double>(options.cap)) : 0.0;
  }
  double capped(double x) const {
    const auto cap = static_cast<double>(options.cap);
    if (options.cap <= 0.0f) return logit(x);
    if (is_rounded()) return rounded(sigmoid(x) * 2.0 * cap);
    const double value = cap * tanh_of(x) + (options.is_sigmoid ? cap : 0.0);
    return options.rounds_capped ? rounded(value) : value;
  }
  double log_sum(const Doubles& row) const {
    double most = -1e300, sum = 0.0;
    for (const double x : row) most = std::max(most, capped(x));
    for (const double x : row) sum += std::exp(capped(x) - most);
    return most + std::log(sum);
  }
  double loss(const Doubles& row, std::size_t target) const {
    const double exact = log_sum(row) - capped(row[target]);
    return options.rounding == CrossEntropyRounding::kAll ? rounded(exact) : exact;
  }
  double rounded_gradient(double x, double total, bool is_target) const {
    const double cap = static_cast<double>(options.cap), s = sigmoid(x), log_share = capped(x) - total;
    const double share = std::exp(options.rounding == CrossEntropyRounding::kAll ? rounded(log_share) : log_share);
    double d = rounded(share - (is_target ? 1.0 : 0.0));
    d = rounded(d * 2.0 * cap);
    d = rounded(d * (1.0 - s) * s);
    return rounded(d / (0.5 * cap)) * static_cast<double>(options.factor * options.logit_scale);
  }
  Doubles gradient(const Doubles& row, std::size_t target) const {
    const double total = log_sum(row);
    Doubles d(row.size());
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (is_rounded()) {
        d[j] = rounded_gradient(row[j], total, j == target);
        continue;
      }
      d[j] = (std::exp(capped(row[j]) - total) - (j == target ? 1.0 : 0.0)) *
             static_cast<double>(options.factor * options.logit_scale);
      if (options.cap > 0.0f) {
        if (options.rounds_capped) d[j] = rounded(d[j]);
        d[j] *= 1.0 - tanh_of(row[j]) * tanh_of(row[j]);
      }
      if (options.rounds_logits) d[j] = rounded(d[j]);
    }
    return d;
  }
};

struct Case {
  std::size_t rows, vocabulary, stride, skew;
  CrossEntropyOptions options;
};

const CrossEntropyOptions kPlain{.factor = 0.25f};
const CrossEntropyOptions kTanhRounded{.cap = 15.0f, .rounds_logits = true, .rounds_capped = true, .factor = 0.5f};
const CrossEntropyOptions kSigmoid{.cap = 15.0f, .is_sigmoid = true, .rounds_logits = true, .factor = 0.125f};
const CrossEntropyOptions kScaled{
    .logit_scale = 0.25f, .cap = 15.0f, .is_sigmoid = true, .rounds_logits = true, .factor = 1.0f};
const CrossEntropyOptions kLossRounded{
    .cap = 15.0f, .is_sigmoid = true, .rounds_logits = true, .rounding = CrossEntropyRounding::kAll, .factor = 1.0f};
const CrossEntropyOptions kCapRounded{
    .cap = 15.0f, .is_sigmoid = true, .rounds_logits = true, .rounding = CrossEntropyRounding::kCap, .factor = 0.5f};
const CrossEntropyOptions kTanhFloats{.cap = 30.0f, .factor = 1.0f};
const CrossEntropyOptions kWideCap{
    .cap = 50.0f, .rounds_logits = true, .factor = 0.5f};  // above what bounds the exponent

class CrossEntropy : public ::testing::TestWithParam<Case> {
 protected:
  CrossEntropy() {
    const Case& c = GetParam();
    logits_ = random_floats(c.rows * c.vocabulary, 1, 6.0);
    for (std::size_t i = 0; i < c.rows; ++i) targets_.push_back(static_cast<std::int64_t>((i * 7919) % c.vocabulary));
    device_targets_.write(targets_);
  }
  Doubles row(std::size_t i) const {
    const auto width = static_cast<std::ptrdiff_t>(GetParam().vocabulary);
    const auto first = logits_.begin() + static_cast<std::ptrdiff_t>(i) * width;
    return {first, first + width};
  }
  LogitsShape shape() const {
    const Case& c = GetParam();
    const auto stride = static_cast<std::int64_t>(c.stride);
    return {static_cast<std::int64_t>(c.rows), static_cast<std::int64_t>(c.vocabulary), stride, stride};
  }
  template <class Number>
  void fill(DeviceArray<Number>& to) const {
    const Case& c = GetParam();
    std::vector<Number> numbers = to.numbers();
    for (std::size_t i = 0; i < logits_.size(); ++i)
      set_value(numbers[i / c.vocabulary * c.stride + i % c.vocabulary], logits_[i]);
    to.write(numbers);
  }
  bool rounds_cap() const {
    return GetParam().options.rounds_capped || GetParam().options.rounding != CrossEntropyRounding::kNone;
  }
  std::size_t count() const { return GetParam().rows * GetParam().stride; }

  /// Losses and gradients against the reference, and nothing written between the rows.
  template <class Number>
  void expect_results(const Reference& reference, DeviceArray<float>& losses, const DeviceArray<Number>& gradient,
                      double step, double most_different) const {
    const Case& c = GetParam();
    const Doubles all = gradient.values(), all_losses = losses.values();
    const std::vector<bool> untouched = gradient.untouched();
    std::vector<Doubles> gradients(c.rows);
    Doubles row_losses(c.rows);
    in_parallel(c.rows, [&](std::size_t i) {
      const auto target = static_cast<std::size_t>(targets_[i]);
      gradients[i] = reference.gradient(row(i), target);
      row_losses[i] = reference.loss(row(i), target);
    });
    for (std::size_t i = 0; i < c.rows; ++i) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(i * c.stride);
      const Doubles got(first, first + static_cast<std::ptrdiff_t>(c.vocabulary));
      Doubles want = std::move(gradients[i]);
      if (sizeof(Number) == 1) {
        for (double& x : want)
          x = value_of(to_e5m2(static_cast<float>(x * static_cast<double>(reference.options.e5m2_scale))));
      }
      const bool rounds =
          reference.options.rounding != CrossEntropyRounding::kNone;  // on one side of a tie or the other
      const double loss = row_losses[i];
      EXPECT_NEAR(all_losses[i], loss, rounds ? loss / 100.0 : 2e-5) << "row " << i;
      const double tiny = sizeof(Number) == 4 ? 1e-8 : 1e-12;
      expect_rounded(got, want, "gradient of row " + std::to_string(i), step, most_different, tiny);
      for (std::size_t j = c.vocabulary; j < c.stride; ++j) EXPECT_TRUE(untouched[i * c.stride + j]);
    }
    EXPECT_TRUE(losses.has_whole_guards() && gradient.has_whole_guards());
  }

  Doubles logits_;
  std::vector<std::int64_t> targets_;
  DeviceArray<std::int64_t> device_targets_{GetParam().rows};
};

INSTANTIATE_TEST_SUITE_P(Cases, CrossEntropy,
                         ::testing::Values(Case{3, 1, 1, 0, kPlain}, Case{5, 7, 9, 0, kTanhRounded},
                                           Case{4, 257, 257, 3, kSigmoid}, Case{3, 1000, 1008, 0, kTanhRounded},
                                           Case{2, 8195, 8195, 1, kTanhFloats}, Case{2, 50257, 50257, 0, kSigmoid},
                                           Case{2, 50304, 50304, 0, kTanhRounded}, Case{3, 1000, 1008, 0, kScaled},
                                           Case{3, 1000, 1008, 0, kLossRounded}, Case{2, 257, 257, 3, kCapRounded},
                                           Case{3, 1000, 1008, 0, kWideCap}, Case{2, 8195, 8195, 1, kWideCap}));

/// Rows of the official vocabulary, more of them than multiprocessors.
std::vector<Case> official_cases() {
  if (!is_gpu()) return {};
  return {Case{280, 50304, 50304, 0, kTanhRounded}, Case{140, 50304, 50304, 0, kSigmoid}};
}
INSTANTIATE_TEST_SUITE_P(Official, CrossEntropy, ::testing::ValuesIn(official_cases()));

TEST_P(CrossEntropy, OfBfloat16InPlace) {
  const Case& c = GetParam();
  Reference reference{c.options};
  reference.options.rounds_logits = true;  // as what stores bfloat16 does
  DeviceArray<bf16> logits(count(), c.skew);
  fill(logits);
  for (double& x : logits_) x = to_nearest_bf16(x);
  DeviceArray<float> losses(c.rows);
  cross_entropy_rows(shape(), logits.data(), device_targets_.data(), c.options, losses.data(), logits.data(), nullptr);
  // A capped logit that is rounded elsewhere changes its exponential by up to exp(1 / 16).
  expect_results(reference, losses, logits, rounds_cap() ? 0.15 : 1.0 / 64, 0.01);
}

TEST_P(CrossEntropy, OfFloatsInPlaceOrAsBfloat16) {
  const Case& c = GetParam();
  const Reference reference{c.options};
  DeviceArray<float> logits(count(), c.skew), losses(c.rows);
  DeviceArray<bf16> gradient(count());
  fill(logits);
  cross_entropy_rows(shape(), logits.data(), device_targets_.data(), c.options, losses.data(), gradient.data(),
                     nullptr);
  if (c.options.rounds_logits) {
    expect_results(reference, losses, gradient, rounds_cap() ? 0.15 : 1.0 / 64, 0.01);
  }
  cross_entropy_rows(shape(), logits.data(), device_targets_.data(), c.options, losses.data(), logits.data(), nullptr);
  const double step = rounds_cap() ? 0.15 : c.options.rounds_logits ? 1.0 / 64 : 2e-5;
  expect_results(reference, losses, logits, step, c.options.rounds_logits ? 0.01 : 1.0);
}

TEST_P(CrossEntropy, GradientInEightBits) {
  const Case& c = GetParam();
  Reference reference{c.options};
  reference.options.rounds_logits = true;
  CrossEntropyOptions options = c.options;
  options.e5m2_scale = reference.options.e5m2_scale = 524288.0f;  // so much that the largest are saturated
  DeviceArray<bf16> logits(count(), c.skew);
  fill(logits);
  for (double& x : logits_) x = to_nearest_bf16(x);
  DeviceArray<fp8_e5m2> gradient(count());
  DeviceArray<float> losses(c.rows);
  cross_entropy_rows(shape(), logits.data(), device_targets_.data(), options, losses.data(), gradient.data(), nullptr);
  expect_results(reference, losses, gradient, 0.5, 0.01);
  EXPECT_TRUE(logits.has_whole_guards());
}

TEST_P(CrossEntropy, LossAloneLeavesTheLogits) {
  const Case& c = GetParam();
  DeviceArray<float> logits(count(), c.skew), losses(c.rows), with_gradient(c.rows), gradient(count());
  fill(logits);
  const auto before = logits.contents();
  cross_entropy_rows<float, float>(shape(), logits.data(), device_targets_.data(), c.options, losses.data(), nullptr,
                                   nullptr);
  EXPECT_EQ(logits.contents(), before);
  cross_entropy_rows(shape(), logits.data(), device_targets_.data(), c.options, with_gradient.data(), gradient.data(),
                     nullptr);
  EXPECT_EQ(logits.contents(), before);
  EXPECT_EQ(losses.contents(), with_gradient.contents());
}

TEST(CrossEntropyRows, ReferenceGradientIsThatOfItsFormulas) {
  for (const CrossEntropyOptions& options : {kPlain, kTanhFloats, kSigmoid}) {
    Reference r{options, unrounded};
    Doubles row = random_numbers(9, 2, 10.0);
    const Doubles d = r.gradient(row, 4);
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double slope = difference_quotient([&] { return r.loss(row, 4); }, row[j]);
      EXPECT_NEAR(slope * static_cast<double>(options.factor), d[j], 1e-8);
    }
  }
}

/// Exponentials of such numbers themselves would overflow.
TEST(CrossEntropyRows, LargeLogitsDoNotOverflow) {
  DeviceArray<float> logits(Doubles{5000.0, 4990.0, -5000.0}), losses(1);
  const DeviceArray<std::int64_t> target(std::vector<std::int64_t>{1});
  cross_entropy_rows<float, float>({1, 3, 3, 3}, logits.data(), target.data(), {}, losses.data(), logits.data(),
                                   nullptr);
  EXPECT_NEAR(losses.values()[0], 10.0 + std::log1p(std::exp(-10.0)), 1e-5);
  EXPECT_NEAR(logits.values()[0], 1.0 / (1.0 + std::exp(-10.0)), 1e-6);
  EXPECT_EQ(logits.values()[2], 0.0);
}

/// Every exponential is then exp(-2 cap) of the bound of the cap.
TEST(CrossEntropyRows, ARowAtTheLowerEndOfItsCapDoesNotVanish) {
  for (const float cap : {15.0f, 40.0f, 41.0f, 80.0f}) {
    for (const bool is_sigmoid : {false, true}) {
      DeviceArray<float> logits(Doubles(64, -1e6)), losses(1);
      const DeviceArray<std::int64_t> target(std::vector<std::int64_t>{5});
      const CrossEntropyOptions options{.cap = cap, .is_sigmoid = is_sigmoid};
      cross_entropy_rows<float, float>({1, 64, 64, 64}, logits.data(), target.data(), options, losses.data(), nullptr,
                                       nullptr);
      EXPECT_NEAR(losses.values()[0], std::log(64.0), 1e-5) << cap;
    }
  }
}

TEST(CrossEntropyRows, NotANumberShowsInTheLoss) {
  for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    Doubles row(100, 0.5);
    row[77] = bad;
    DeviceArray<bf16> logits(row);
    DeviceArray<float> losses(1);
    const DeviceArray<std::int64_t> target(std::vector<std::int64_t>{3});
    cross_entropy_rows<bf16, bf16>({1, 100, 100, 100}, logits.data(), target.data(), {}, losses.data(), nullptr,
                                   nullptr);
    EXPECT_TRUE(std::isnan(losses.values()[0])) << bad;
  }
}

TEST(CrossEntropyRows, OrderOfThreadsChangesNoBit) {
  const Doubles row = random_bf16(5 * 3001, 3, 8.0);
  const DeviceArray<std::int64_t> targets(std::vector<std::int64_t>{0, 3000, 17, 5, 1024});
  expect_same_in_every_order([&] {
    DeviceArray<bf16> logits(row);
    DeviceArray<float> losses(5);
    cross_entropy_rows({5, 3001, 3001, 3001}, logits.data(), targets.data(), kSigmoid, losses.data(), logits.data(),
                       nullptr);
    return joined({logits.contents(), losses.contents()});
  });
}

TEST(PartialSums, AddUpInDoublePrecision) {
  for (const std::size_t count : {1U, 31U, 1024U, 5000U}) {
    Doubles values = random_floats(3 * count, 4);
    for (std::size_t i = 0; i < 2 && count > 256; ++i) {
      values[i * count] = 1e7;                             // float32 sums would lose the others beside it
      values[i * count + (count - 1) / 256 * 256] = -1e7;  // of the same thread
    }
    DeviceArray<float> partials(values), sums(Doubles{1.0, 2.0, 3.0});
    sum_partials(3, static_cast<std::int64_t>(count), partials.data(), 0.5f, true, sums.data(), nullptr);
    DeviceArray<float> alone(3);
    sum_partials(3, static_cast<std::int64_t>(count), partials.data(), 0.5f, false, alone.data(), nullptr);
    for (std::size_t i = 0; i < 3; ++i) {
      double want = 0.0;
      for (std::size_t j = 0; j < count; ++j) want += values[i * count + j];
      EXPECT_FLOAT_EQ(alone.numbers()[i], static_cast<float>(0.5 * want));
      EXPECT_FLOAT_EQ(sums.numbers()[i], static_cast<float>(i + 1) + static_cast<float>(0.5 * want));
    }
    EXPECT_TRUE(sums.has_whole_guards() && alone.has_whole_guards());
  }
}

}  // namespace
}  // namespace nanobench::core::cuda
