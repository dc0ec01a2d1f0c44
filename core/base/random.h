/// Random integers that are the same on every machine. Nothing here relies on the standard library, whose generators
/// and shuffles differ. Not thread-safe: one generator has one user.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace nanobench::core {

inline constexpr std::uint64_t kSplitMix64Step = 0x9e3779b97f4a7c15u;

/// Mixes all bits into all bits, one to one; 0 stays 0.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The first number of SplitMix64 from this seed: a hash of an index, without a state.
constexpr std::uint64_t splitmix64(std::uint64_t seed) {
  return mix_bits(seed + kSplitMix64Step);
}

/// Steele, Lea and Flood's generator: one word of state.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  /// 64 random bits.
  std::uint64_t next() { return mix_bits(state_ += kSplitMix64Step); }
  /// 0 ... count - 1; the remainder's bias is below count / 2^64.
  std::uint64_t below(std::uint64_t count) { return next() % count; }
  /// Fisher-Yates.
  template <class Items>
  void shuffle(Items& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }
  /// shuffle() until the first of several distinct items is not `last`: every such order is equally likely.
  template <class Items>
  void shuffle_after(const typename Items::value_type& last, Items& items) {
    do {
      shuffle(items);
    } while (items.size() > 1 && items.front() == last);
  }

 private:
  std::uint64_t state_;
};

/// xoshiro256** seeded through SplitMix64.
class RandomStream {
 public:
  /// Streams of one seed with different `stream` numbers are independent.
  RandomStream(std::uint64_t seed, std::uint64_t stream) {
    SplitMix64 words(seed ^ splitmix64(stream));
    for (std::uint64_t& word : state_) word = words.next();
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

  /// Uniform on [0, 1), 53 bits.
  double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// 0 ... count - 1, uniform to within 53 bits.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(fraction() * static_cast<double>(count)); }

  /// Fisher-Yates; pass a span to shuffle part of the items.
  template <class Items>
  void shuffle(Items&& items) {
    for (std::size_t left = items.size(); left > 1; --left) std::swap(items[left - 1], items[below(left)]);
  }

  /// 32 random bits.
  std::uint32_t next_32() { return static_cast<std::uint32_t>(next() >> 32); }

 private:
  static std::uint64_t rotate(std::uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

  std::array<std::uint64_t, 4> state_;
};

}  // namespace nanobench::core
