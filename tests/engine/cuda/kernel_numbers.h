// What the tests of CUDA kernels share beside device memory: random numbers, rounding, comparisons, and runs under
// several orders of blocks, warps and lanes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/cuda/error.h"
#include "tests/engine/cuda/device_array.h"

namespace nanobench::core::cuda {

/// How a reference rounds where the kernel stores.
using Rounding = std::function<double(double)>;
inline double to_nearest_bf16(double x) {
  return value_of(to_bf16(static_cast<float>(x)));
}
inline double unrounded(double x) {
  return x;
}

/// body(0), ..., body(count - 1), on all processors: references of the official sizes are large sums in float64.
inline void in_parallel(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min<std::size_t>(count, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(work);
  work();
}

/// Normally distributed, the same for the same seed.
inline Doubles random_numbers(std::size_t count, std::uint64_t seed, double scale = 1.0) {
  constexpr std::size_t kChunk = 1 << 20;
  Doubles values(count);
  in_parallel((count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    std::mt19937_64 engine(seed + 1000003 * chunk);
    std::normal_distribution<double> normal(0.0, scale);
    const std::size_t end = std::min(count, (chunk + 1) * kChunk);
    for (std::size_t i = chunk * kChunk; i < end; ++i) values[i] = normal(engine);
  });
  return values;
}
/// Random numbers that bfloat16 holds.
inline Doubles random_bf16(std::size_t count, std::uint64_t seed, double scale = 1.0) {
  Doubles values = random_numbers(count, seed, scale);
  for (double& value : values) value = to_nearest_bf16(value);
  return values;
}
/// Random numbers that float32 holds.
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

/// `run` gives the bytes of its results: the same under every order of blocks, warps and lanes, and each time on a GPU.
inline void expect_same_in_every_order(const std::function<std::vector<unsigned char>()>& run) {
  draw_order(1);
  const std::vector<unsigned char> first = run();
  for (const std::uint64_t seed : {2U, 3U, 4U}) {
    draw_order(seed);
    EXPECT_EQ(run(), first) << "order " << seed;
  }
}

inline std::vector<unsigned char> joined(std::initializer_list<std::vector<unsigned char>> parts) {
  std::vector<unsigned char> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace nanobench::core::cuda
