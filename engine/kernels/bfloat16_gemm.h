/// Products of matrices whose numbers are bfloat16 values kept in float32. Plain C++; no LibTorch. Thread-safe.
#pragma once

#include "engine/kernels/gemm.h"

namespace nanobench::core {

/// multiply_matrices for operands that hold bfloat16 values: products are exact, sums are float32. With `rounds` the
/// results are rounded to bfloat16 (to nearest, ties to even). Which units do it: EngineContext::bfloat16_path().
/// The number of threads changes no bit.
void multiply_bfloat16(const MatrixProduct& product, bool rounds, ThreadPool& threads);

}  // namespace nanobench::core
