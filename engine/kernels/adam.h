/// Adam's update in single precision, over all parameters of a group in one call. Plain C++ with vector units chosen at
/// run time; no LibTorch. Thread-safe. Deterministic: each number is computed independently. Checks nothing and throws
/// nothing.
///
/// One pass reads g, m, v, p and writes m, v, p: 28 bytes per number, which is its cost outside the caches. Work is
/// divided across parameter boundaries, so a group of scalars is one item.
#pragma once

#include <cstdint>
#include <span>

#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

/// All pointers are to `count` numbers.
struct AdamParameter {
  float* parameter = nullptr;
  const float* gradient = nullptr;  ///< nullptr: zero
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  std::int64_t count = 0;
};

struct AdamSettings {
  double rate = 0.0;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  std::int64_t step = 1;  ///< t, from 1
  /// eps is divided by sqrt(1 - b2^t): it is added to sqrt(v) before the bias of v is corrected.
  bool is_eps_uncorrected = false;
  /// Rounds the gradient to bfloat16 before the step, and moments and parameter after it (to nearest, ties to even).
  bool rounds_to_bfloat16 = false;
  bool rounds_moments = false;  ///< rounds the moments after the step; the others stay as they are
};

/// p -= rate weight_decay p; m = lerp(m, g, 1 - b1); v = b2 v + (1 - b2) g^2;
/// p -= rate / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps). Factors are computed in double precision. Source: the
/// arithmetic of LibTorch's fused AdamW, except for rounding.
void adam_update(std::span<const AdamParameter> parameters, const AdamSettings& settings, ThreadPool& threads);

}  // namespace nanobench::core
