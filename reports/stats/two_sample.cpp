#include "reports/stats/two_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace nanobench::reports {
namespace {

/// Of value - offset: near values differ exactly, where the difference of two large means would lose digits.
std::optional<Moments> moments_from(double offset, std::span<const double> values) {
  std::vector<double> differences;
  double magnitude = 0.0;
  for (const double value : values) {
    differences.push_back(value - offset);
    magnitude = std::max(magnitude, std::abs(value));
  }
  return moments_of(differences, magnitude);
}

}  // namespace

std::optional<Estimate> welch(std::span<const double> first, std::span<const double> second) {
  if (first.empty()) return std::nullopt;
  const double offset = first.front();
  const std::optional<Moments> one = moments_from(offset, first);
  const std::optional<Moments> two = moments_from(offset, second);
  if (!one || !two) return std::nullopt;
  return welch(*one, *two);
}

std::optional<Estimate> welch(const Moments& first, const Moments& second) {
  if (first.n < 2 || second.n < 2) return std::nullopt;
  const std::array<Term, 2> terms = {
      {{.factor = 1.0, .estimate = estimate_of(first)}, {.factor = -1.0, .estimate = estimate_of(second)}}};
  return combine(terms);
}

std::optional<Estimate> paired_t(std::span<const double> first, std::span<const double> second) {
  const std::optional<PairedMoments> pairs = paired_moments(first, second);
  if (!pairs || !pairs->moments.has_spread()) return std::nullopt;
  return estimate_of(pairs->moments);
}

}  // namespace nanobench::reports
