/// Memory for kernels under test: aligned as a GPU's, between zones that show who writes or reads beside it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace nanobench::emulation {

/// `size` numbers of a plain type. All bytes, those of the zones too, start as 0xff: NaN in every floating-point
/// format, so that what is read from a zone, or not written, spoils the results.
template <class T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t size) : size_(size), bytes_(2 * kZoneBytes + size * sizeof(T) + kAlignment, 0xff) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data()) + kZoneBytes;
    begin_ = kZoneBytes + (kAlignment - address % kAlignment) % kAlignment;
  }

  T* data() { return reinterpret_cast<T*>(bytes_.data() + begin_); }
  const T* data() const { return reinterpret_cast<const T*>(bytes_.data() + begin_); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }

  bool zones_are_whole() const {
    const auto is_zone = [](unsigned char byte) { return byte == 0xff; };
    const std::size_t end = begin_ + size_ * sizeof(T);
    return std::all_of(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_), is_zone) &&
           std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(end), bytes_.end(), is_zone);
  }
  bool has_same_bits(const GuardedBuffer& other) const {
    return size_ == other.size_ && std::memcmp(data(), other.data(), size_ * sizeof(T)) == 0;
  }

 private:
  static constexpr std::size_t kZoneBytes = 1024;
  static constexpr std::size_t kAlignment = 256;  // of what cudaMalloc returns
  std::size_t size_;
  std::vector<unsigned char> bytes_;
  std::size_t begin_ = 0;
};

}  // namespace nanobench::emulation
