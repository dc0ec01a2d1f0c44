#include "engine/kernels/newton_schulz.h"

#include <algorithm>

namespace nanobench::core {
namespace {

constexpr std::int64_t kMaxJoinedPolar = 2;
constexpr std::int64_t kMaxJoined =
    3;  // measured with ratios of singular values up to 1000: see vector/newton_schulz.cpp

double flops_of(const NewtonSchulzMatrix& matrix, const NewtonSchulzSettings& settings) {
  const std::int64_t short_side = std::min(matrix.rows, matrix.columns);
  const std::int64_t long_side = std::max(matrix.rows, matrix.columns);
  const auto m = static_cast<double>(short_side), n = static_cast<double>(long_side);
  double flops = 0.0;
  for (std::int64_t done = 0; done < settings.steps;) {
    const std::int64_t joined = joined_newton_schulz_steps(settings, short_side, long_side, done);
    const auto symmetric = static_cast<double>(joined + 3 * (joined - 1));  // products on the short side
    flops += m * m * (settings.by_terms ? 5.0 * n : 3.0 * n + symmetric * m);
    done += joined;
  }
  return flops;
}

}  // namespace

std::int64_t joined_newton_schulz_steps(const NewtonSchulzSettings& settings, std::int64_t short_side,
                                        std::int64_t long_side, std::int64_t done) {
  const std::int64_t left = settings.steps - done;
  if (settings.by_terms || long_side < 2 * short_side) return 1;  // products of A cost no less than those of X
  // Its steps stretch small singular values more, the first by 8.2, so that errors grow faster.
  if (settings.is_polar_express) return done == 0 ? 1 : std::min(left, kMaxJoinedPolar);
  return left == kMaxJoined + 1 ? kMaxJoined - 1 : std::min(left, kMaxJoined);
}

double newton_schulz_flops(std::span<const NewtonSchulzMatrix> matrices, const NewtonSchulzSettings& settings) {
  double flops = 0.0;
  for (const NewtonSchulzMatrix& matrix : matrices) flops += flops_of(matrix, settings);
  return flops;
}

}  // namespace nanobench::core
