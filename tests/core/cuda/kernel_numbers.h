// What the tests of CUDA kernels share: device memory between guard zones, random numbers, rounding, comparisons, and
// runs under several orders of blocks, warps and lanes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/cuda/kernels/platform.cuh"

namespace nanobench::core::cuda {

using Doubles = std::vector<double>;

inline double value_of(bf16 x) {
  return static_cast<double>(to_float(x));
}
inline double value_of(fp8_e4m3 x) {
  return static_cast<double>(to_float(x));
}
inline double value_of(fp8_e5m2 x) {
  return static_cast<double>(to_float(x));
}
inline double value_of(float x) {
  return static_cast<double>(x);
}

inline void set_value(bf16& to, double x) {
  to = to_bf16(static_cast<float>(x));
}
inline void set_value(float& to, double x) {
  to = static_cast<float>(x);
}

/// How a reference rounds where the kernel stores.
using Rounding = std::function<double(double)>;
inline double to_nearest_bf16(double x) {
  return value_of(to_bf16(static_cast<float>(x)));
}
inline double unrounded(double x) {
  return x;
}

/// `count` numbers that start as a pattern no result has, with a guard zone before and after. `skew` numbers further
/// than 16-byte alignment.
template <class Number>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count, std::size_t skew = 0)
      : bytes_((count + skew) * sizeof(Number) + 2 * kGuard + kGuard, kPattern), count_(count) {
    const auto start = reinterpret_cast<std::uintptr_t>(bytes_.data()) + kGuard;
    begin_ = (start + kGuard - 1) / kGuard * kGuard + skew * sizeof(Number) -
             reinterpret_cast<std::uintptr_t>(bytes_.data());
  }
  /// The values as the type stores them.
  explicit DeviceArray(const Doubles& values, std::size_t skew = 0) : DeviceArray(values.size(), skew) {
    for (std::size_t i = 0; i < count_; ++i) set_value(data()[i], values[i]);
  }
  DeviceArray(const DeviceArray&) = delete;  // a copy would be aligned otherwise
  DeviceArray& operator=(const DeviceArray&) = delete;

  Number* data() { return reinterpret_cast<Number*>(bytes_.data() + begin_); }
  const Number* data() const { return reinterpret_cast<const Number*>(bytes_.data() + begin_); }
  std::size_t size() const { return count_; }
  Doubles values() const {
    Doubles values(count_);
    for (std::size_t i = 0; i < count_; ++i) values[i] = value_of(data()[i]);
    return values;
  }
  std::vector<unsigned char> contents() const {
    const auto* first = reinterpret_cast<const unsigned char*>(data());
    return {first, first + count_ * sizeof(Number)};
  }
  bool has_whole_guards() const {
    const std::size_t end = begin_ + count_ * sizeof(Number);
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if ((i < begin_ || i >= end) && bytes_[i] != kPattern) return false;
    return true;
  }
  /// Whether number i was never written.
  bool is_untouched(std::size_t i) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(data() + i);
    for (std::size_t j = 0; j < sizeof(Number); ++j)
      if (bytes[j] != kPattern) return false;
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr unsigned char kPattern = 0xa5;
  std::vector<unsigned char> bytes_;
  std::size_t count_;
  std::size_t begin_ = 0;
};

/// Normally distributed, the same for the same seed.
inline Doubles random_numbers(std::size_t count, std::uint64_t seed, double scale = 1.0) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0.0, scale);
  Doubles values(count);
  for (double& value : values) value = normal(engine);
  return values;
}
/// As bfloat16 holds them.
inline Doubles random_bf16(std::size_t count, std::uint64_t seed, double scale = 1.0) {
  Doubles values = random_numbers(count, seed, scale);
  for (double& value : values) value = to_nearest_bf16(value);
  return values;
}
/// As float32 holds them.
inline Doubles random_floats(std::size_t count, std::uint64_t seed, double scale = 1.0) {
  Doubles values = random_numbers(count, seed, scale);
  for (double& value : values) value = static_cast<double>(static_cast<float>(value));
  return values;
}

/// Rounded numbers against a float64 reference that rounds at the same places. Float32 sums may fall on the other side
/// of a tie now and then: `most_different` of the numbers may differ, by `steps` of their last place; where a rounding
/// is missing or misplaced many more do.
inline void expect_rounded(const Doubles& got, const Doubles& want, const std::string& what, double step = 1.0 / 128,
                           double most_different = 0.01, double tiny = 1e-30) {
  ASSERT_EQ(got.size(), want.size()) << what;
  std::size_t different = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) continue;
    ++different;
    ASSERT_LE(std::abs(got[i] - want[i]), step * std::abs(want[i]) + tiny) << what << ", number " << i;
  }
  EXPECT_LE(static_cast<double>(different), 1.0 + most_different * static_cast<double>(got.size())) << what;
}

/// Float32 results: relative to the largest of the reference.
inline void expect_near(const Doubles& got, const Doubles& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 1e-30;
  for (const double value : want) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_FALSE(std::isnan(got[i])) << what << ", number " << i;
    ASSERT_LE(std::abs(got[i] - want[i]), tolerance * largest) << what << ", number " << i << " of " << got.size();
  }
}

/// (f(x + h) - f(x - h)) / 2 h by number i of x.
inline double difference_quotient(const std::function<double()>& f, double& x, double h = 1e-5) {
  const double before = x;
  x = before + h;
  const double above = f();
  x = before - h;
  const double below = f();
  x = before;
  return (above - below) / (2.0 * h);
}

/// `run` gives the bytes of its results: the same under every order of blocks, warps and lanes.
inline void expect_same_in_every_order(const std::function<std::vector<unsigned char>()>& run) {
  emulation::set_seed(1);
  const std::vector<unsigned char> first = run();
  for (const std::uint64_t seed : {2U, 3U, 4U}) {
    emulation::set_seed(seed);
    EXPECT_EQ(run(), first) << "order " << seed;
  }
}

inline std::vector<unsigned char> joined(std::initializer_list<std::vector<unsigned char>> parts) {
  std::vector<unsigned char> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace nanobench::core::cuda
