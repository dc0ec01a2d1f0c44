#include "tests/engine/cuda/number_formats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nanobench::core::cuda {
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

inline namespace number_formats {

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

}  // namespace number_formats
}  // namespace nanobench::core::cuda
