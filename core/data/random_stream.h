/// Random integers that are the same on every machine: xoshiro256** seeded through SplitMix64.
///
/// Differs from <random>: nothing here is left to the standard library, so streams never change with it. Not
/// thread-safe: one stream has one user.
#pragma once

#include <array>
#include <cstdint>

namespace nanobench::core {

class RandomStream {
 public:
  /// Streams of one seed with other `stream` numbers are independent.
  RandomStream(std::uint64_t seed, std::uint64_t stream) {
    std::uint64_t state = seed ^ mix(stream + 0x9e3779b97f4a7c15u);
    for (std::uint64_t& word : state_) word = mix(state += 0x9e3779b97f4a7c15u);
  }

  /// 64 random bits.
  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// 32 random bits.
  std::uint32_t next_32() { return static_cast<std::uint32_t>(next() >> 32); }

 private:
  static std::uint64_t rotate(std::uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  std::array<std::uint64_t, 4> state_;
};

}  // namespace nanobench::core
