/// What is fuzzed: each target gives any bytes to a reader, which accepts them or throws an Error that is no bug.
///
/// The bytes of tests/fuzz/corpus are given to the same targets by replay_test.cpp in every build.
#pragma once

#include <span>
#include <string_view>

namespace nanobench::fuzz {

struct FuzzTarget {
  const char* name;  ///< also of its folder in tests/fuzz/corpus
  /// Throws what no reader may throw, and std::logic_error where two ways of reading differ.
  void (*run)(std::string_view bytes);
};

std::span<const FuzzTarget> fuzz_targets();

/// Throws std::logic_error for an unknown name.
const FuzzTarget& fuzz_target(std::string_view name);

}  // namespace nanobench::fuzz
