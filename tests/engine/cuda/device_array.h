/// Numbers in the memory of the device that kernels are tested on.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tests/engine/cuda/device.h"
#include "tests/engine/cuda/number_formats.h"

namespace nanobench::core::cuda {

using Doubles = std::vector<double>;

inline double value_of(bf16 x) {
  return static_cast<double>(to_float(x));
}
inline double value_of(fp8_e4m3 x) {
  return static_cast<double>(to_float(x));
}
inline double value_of(fp8_e5m2 x) {
  return static_cast<double>(to_float(x));
}
inline double value_of(float x) {
  return static_cast<double>(x);
}

inline void set_value(bf16& to, double x) {
  to = to_bf16(static_cast<float>(x));
}
inline void set_value(float& to, double x) {
  to = static_cast<float>(x);
}

/// Numbers of a plain type in device memory, between zones that show who writes or reads beside them. All bytes, those
/// of the zones too, start as 0xff: NaN in every floating-point format, so that what is read from a zone, or not
/// written, spoils the results. `skew` numbers further than 256-byte alignment.
template <class Number>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count, std::size_t skew = 0)
      : memory_(2 * kZoneBytes + (count + skew) * sizeof(Number)),
        begin_(kZoneBytes + skew * sizeof(Number)),
        count_(count) {
    const std::vector<unsigned char> pattern(all_bytes(), kPattern);
    memory_.write(0, pattern.data(), pattern.size());
  }
  explicit DeviceArray(const std::vector<Number>& numbers, std::size_t skew = 0) : DeviceArray(numbers.size(), skew) {
    write(numbers);
  }
  /// The values as the type stores them.
  explicit DeviceArray(const Doubles& values, std::size_t skew = 0) : DeviceArray(values.size(), skew) {
    std::vector<Number> numbers(count_);
    for (std::size_t i = 0; i < count_; ++i) set_value(numbers[i], values[i]);
    write(numbers);
  }

  /// For kernels: the host cannot follow it.
  Number* data() { return reinterpret_cast<Number*>(memory_.address() + begin_); }
  const Number* data() const { return reinterpret_cast<const Number*>(memory_.address() + begin_); }
  std::size_t size() const { return count_; }

  /// All of them. Throws std::invalid_argument for another count.
  void write(const std::vector<Number>& numbers) {
    if (numbers.size() != count_) throw std::invalid_argument("a device array is written as a whole");
    memory_.write(begin_, numbers.data(), count_ * sizeof(Number));
  }
  /// A copy on the host.
  std::vector<Number> numbers() const {
    std::vector<Number> numbers(count_);
    memory_.read(begin_, numbers.data(), count_ * sizeof(Number));
    return numbers;
  }
  Doubles values() const {
    Doubles values;
    values.reserve(count_);
    for (const Number& number : numbers()) values.push_back(value_of(number));
    return values;
  }
  std::vector<unsigned char> contents() const {
    std::vector<unsigned char> bytes(count_ * sizeof(Number));
    memory_.read(begin_, bytes.data(), bytes.size());
    return bytes;
  }
  bool has_same_bits(const DeviceArray& other) const { return contents() == other.contents(); }
  bool has_whole_guards() const {
    std::vector<unsigned char> bytes(all_bytes());
    memory_.read(0, bytes.data(), bytes.size());
    const auto numbers = bytes.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto is_whole = [](unsigned char byte) { return byte == kPattern; };
    return std::all_of(bytes.begin(), numbers, is_whole) &&
           std::all_of(numbers + static_cast<std::ptrdiff_t>(count_ * sizeof(Number)), bytes.end(), is_whole);
  }
  /// Which numbers were never written.
  std::vector<bool> untouched() const {
    const std::vector<unsigned char> bytes = contents();
    std::vector<bool> untouched(count_, true);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] != kPattern) untouched[i / sizeof(Number)] = false;
    return untouched;
  }
  bool is_untouched(std::size_t i) const { return untouched()[i]; }  ///< for one: copies them all

 private:
  static constexpr std::size_t kZoneBytes = 1024;
  static constexpr unsigned char kPattern = 0xff;
  std::size_t all_bytes() const { return begin_ + count_ * sizeof(Number) + kZoneBytes; }

  DeviceMemory memory_;
  std::size_t begin_;
  std::size_t count_;
};

}  // namespace nanobench::core::cuda
