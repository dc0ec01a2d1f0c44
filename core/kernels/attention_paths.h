/// The attention kernel of each instruction set; attention_kernel.cpp chooses. Not for other files.
#pragma once

#include <vector>

#include "core/kernels/attention_kernel.h"

namespace nanobench::core {

/// At least `size` floats that this thread keeps for its next call with the same `slot`: activations' scratch is not
/// given back to the system at every step.
std::vector<float>& scratch(int slot, std::int64_t size);

struct AttentionPath {
  void (*forward)(const AttentionShape&, const AttentionInputs&, float* y, float* log_sums, const ParallelFor&);
  void (*backward)(const AttentionShape&, const AttentionInputs&, const float* y, const float* log_sums,
                   const float* dy, float* dq, float* dk, float* dv, const ParallelFor&);
};

extern const AttentionPath kAttentionGeneric;
extern const AttentionPath kAttentionAvx2;
extern const AttentionPath kAttentionAvx512;

}  // namespace nanobench::core
