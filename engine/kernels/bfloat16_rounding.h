/// Rounding one number to bfloat16.
#pragma once

#include <bit>
#include <cstdint>

namespace nanobench::core {

/// The nearest bfloat16 value, ties to even, as float32. A NaN keeps its payload's upper half and its quiet bit.
/// Without branches, so that compilers vectorise loops over it.
inline float rounded_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t nearest = bits + 0x7fffU + ((bits >> 16) & 1U);
  const std::uint32_t not_a_number = bits | 0x00400000U;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return std::bit_cast<float>((is_nan ? not_a_number : nearest) & 0xffff0000U);
}

}  // namespace nanobench::core
