/// multiply_bfloat16 by a processor's own bfloat16 units. CMake compiles avx512_bf16.cpp with their instructions, and
/// where the compiler makes none of them avx512_bf16_absent.cpp.
#pragma once

#include "engine/kernels/gemm.h"

namespace nanobench::core::avx512_bf16 {

/// Only where available_bfloat16_paths() has kAvx512Bf16.
void multiply(const MatrixProduct& product, bool rounds, ThreadPool& threads);

}  // namespace nanobench::core::avx512_bf16
