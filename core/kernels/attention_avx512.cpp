// The attention kernel for avx512; CMakeLists.txt gives this file its instruction set.
#include <cstdint>

#include "core/kernels/attention_paths.h"

#define NB_LANES 16
#define NB_TILE_ROWS 12

namespace nanobench::core {
namespace {
#include "core/kernels/simd.inl"
//
#include "core/kernels/attention_kernel.inl"
}  // namespace

const AttentionPath kAttentionAvx512{forward, backward};

}  // namespace nanobench::core
