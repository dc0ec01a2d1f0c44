#include "cuda_emulation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nanobench::emulation {
namespace {

cudaError_t last_error = cudaSuccess;

}  // namespace

void set_last_error(cudaError_t error) {
  last_error = error;
}

unsigned lane_of_thread() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % kWarpLanes;
}

void combine_vote(void* const (&lanes)[kWarpLanes]) {
  std::uint32_t votes = 0;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    if (lanes[lane] != nullptr && static_cast<VoteOperand*>(lanes[lane])->is_true) votes |= 1U << lane;
  }
  for (void* lane : lanes) {
    if (lane != nullptr) static_cast<VoteOperand*>(lane)->result = votes;
  }
}

namespace {

/// The layout of an 8-bit float without infinities of its own: e4m3 has none, e5m2 keeps them above kLargest.
struct Float8 {
  int mantissa_bits;
  int smallest_exponent;  ///< of a normal number
  float largest;
  std::uint8_t largest_bits;
  std::uint8_t nan_bits;
};
constexpr Float8 kE4m3{3, -6, 448.0f, 0x7e, 0x7f};
constexpr Float8 kE5m2{2, -14, 57344.0f, 0x7b, 0x7f};

std::uint8_t encoded(float x, const Float8& format) {
  if (std::isnan(x)) return format.nan_bits;
  const auto sign = static_cast<std::uint8_t>(std::signbit(x) ? 0x80 : 0);
  const float magnitude = std::fabs(x);
  if (magnitude >= format.largest) return static_cast<std::uint8_t>(sign | format.largest_bits);
  if (magnitude == 0.0f) return sign;
  const int exponent = std::max(std::ilogb(magnitude), format.smallest_exponent);
  // In units of the last place; nearbyint rounds to nearest even, and a carry moves into the exponent by itself.
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent)));
  const int bits = ((exponent - format.smallest_exponent) << format.mantissa_bits) + units;
  return static_cast<std::uint8_t>(sign | std::min(bits, static_cast<int>(format.largest_bits)));
}

float decoded(std::uint8_t bits, const Float8& format) {
  const int magnitude = bits & 0x7f;
  const float sign = (bits & 0x80) != 0 ? -1.0f : 1.0f;
  if (magnitude > format.largest_bits) {
    const bool is_infinity = format.mantissa_bits == 2 && magnitude == format.largest_bits + 1;
    return is_infinity ? sign * std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  }
  const int fraction = magnitude & ((1 << format.mantissa_bits) - 1);
  const int exponent = magnitude >> format.mantissa_bits;
  const int units = exponent == 0 ? fraction : fraction + (1 << format.mantissa_bits);
  const int power = std::max(exponent - 1, 0) + format.smallest_exponent - format.mantissa_bits;
  return sign * std::ldexp(static_cast<float>(units), power);
}

}  // namespace
}  // namespace nanobench::emulation

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorNoKernelImageForDevice: return "no kernel image is available for execution on the device";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
  }
  return "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorNoKernelImageForDevice: return "cudaErrorNoKernelImageForDevice";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = nanobench::emulation::last_error;
  nanobench::emulation::last_error = cudaSuccess;
  return error;
}

namespace nanobench::core::cuda {

using nanobench::emulation::decoded;
using nanobench::emulation::encoded;
using nanobench::emulation::kE4m3;
using nanobench::emulation::kE5m2;

float to_float(fp8_e4m3 x) {
  return decoded(x.bits, kE4m3);
}
float to_float(fp8_e5m2 x) {
  return decoded(x.bits, kE5m2);
}
fp8_e4m3 to_e4m3(float x) {
  return {encoded(x, kE4m3)};
}
fp8_e5m2 to_e5m2(float x) {
  return {encoded(x, kE5m2)};
}

}  // namespace nanobench::core::cuda
