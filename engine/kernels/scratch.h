/// Working memory that a thread keeps between calls instead of returning it to the system at each step.
#pragma once

#include <cstdint>

namespace nanobench::core {

/// Purpose of the memory: each use has its own memory in each thread.
enum class ScratchUse { kPackedMatrix, kKeyBlocks, kParts, kTile, kRows, kHidden, kNewtonSchulz, kCount };

/// At least `size` floats of this thread's memory for `use`, 64-byte aligned, with arbitrary contents; valid until the
/// next call with that use.
float* scratch(ScratchUse use, std::int64_t size);

/// Bytes currently held by all threads.
std::int64_t scratch_bytes();

}  // namespace nanobench::core
