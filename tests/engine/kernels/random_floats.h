/// Random inputs of the kernels' tests.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace nanobench::core::testing {

using Floats = std::vector<float>;

/// Normally distributed about 0, the same for the same seed.
inline Floats random_floats(std::int64_t count, unsigned seed, float sd) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, sd);
  Floats numbers(static_cast<std::size_t>(count));
  for (float& x : numbers) x = normal(engine);
  return numbers;
}

}  // namespace nanobench::core::testing
