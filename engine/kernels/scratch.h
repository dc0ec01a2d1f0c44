/// Working memory that a thread keeps between calls: nothing is given back to the system from step to step.
#pragma once

#include <cstdint>

namespace nanobench::core {

/// What it is for: each use has its own memory in each thread.
enum class ScratchUse { kPackedMatrix, kKeyBlocks, kParts, kTile, kRows, kHidden, kNewtonSchulz, kCount };

/// At least `size` floats of this thread's memory for `use`, 64-byte aligned, with any values; valid until the next
/// call with that use.
float* scratch(ScratchUse use, std::int64_t size);

/// Bytes that all threads hold now.
std::int64_t scratch_bytes();

}  // namespace nanobench::core
