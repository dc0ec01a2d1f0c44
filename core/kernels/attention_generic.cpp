// The attention kernel for generic; CMakeLists.txt gives this file its instruction set.
#include <cstdint>

#include "core/kernels/attention_paths.h"

#define NB_LANES 4
#define NB_TILE_ROWS 4

namespace nanobench::core {
namespace {
#include "core/kernels/simd.inl"
//
#include "core/kernels/attention_kernel.inl"
}  // namespace

const AttentionPath kAttentionGeneric{forward, backward};

}  // namespace nanobench::core
