/// Conversions of the numbers that kernels store, on the CPU: what tests compare with, and what the emulation computes
/// with. To nearest even; 8-bit floats saturate; a NaN stays one, with the bits that a GPU writes.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {
/// Other symbols than those of the GPU's conversions (platform_device.cuh), which the kernels bring along.
inline namespace number_formats {

inline float to_float(bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
inline bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {0x7fff};
  const std::uint32_t half = 0x7fffU + ((bits >> 16) & 1U);
  return {static_cast<std::uint16_t>((bits + half) >> 16)};
}

float to_float(fp8_e4m3 x);
float to_float(fp8_e5m2 x);
fp8_e4m3 to_e4m3(float x);
fp8_e5m2 to_e5m2(float x);

}  // namespace number_formats
}  // namespace nanobench::core::cuda
