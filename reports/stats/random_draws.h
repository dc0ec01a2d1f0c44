/// Draws from core::RandomStream that resampling needs: the same on every machine. One stream has one user.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/random.h"

namespace nanobench::reports {

/// Uniform on [0, 1), 53 bits.
inline double draw_fraction(core::RandomStream& random) {
  return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

/// 0 ... count - 1, each as likely as 53 bits can make it.
inline std::size_t draw_below(core::RandomStream& random, std::size_t count) {
  return static_cast<std::size_t>(draw_fraction(random) * static_cast<double>(count));
}

/// Fisher and Yates; std::shuffle differs between standard libraries.
inline void shuffle(std::vector<double>& values, std::size_t begin, std::size_t end, core::RandomStream& random) {
  for (std::size_t left = end - begin; left > 1; --left) {
    std::swap(values[begin + left - 1], values[begin + draw_below(random, left)]);
  }
}

}  // namespace nanobench::reports
