/// multiply_bfloat16 on a processor's own bfloat16 units. CMake compiles avx512_bf16.cpp with their instructions;
/// without them the file holds a function that refuses.
#pragma once

#include "engine/kernels/gemm.h"

namespace nanobench::core::avx512_bf16 {

/// Call only if available_bfloat16_paths() contains kAvx512Bf16.
void multiply(const MatrixProduct& product, bool rounds, ThreadPool& threads);

}  // namespace nanobench::core::avx512_bf16
