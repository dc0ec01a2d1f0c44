/// Matrices in 8-bit floating point for the language-model head, quantised with a scale. They are written row-major and
/// transposed, since the library's 8-bit products need the summed index contiguous in both operands. Plain C++:
/// includes no CUDA header. Thread-safe.
///
/// A block passes a tile of 64 x 64 numbers through shared memory, so that both results are written in whole vectors.
/// All pointers are device pointers with any stride and alignment; multiples of 16 bytes are fastest. All functions
/// enqueue on the stream, do not synchronise, and throw CudaError.
#pragma once

#include <cstdint>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

/// A [rows, columns] matrix with a row stride of `stride` numbers.
template <class Number>
struct MatrixView {
  Number* data = nullptr;
  std::int64_t stride = 0;
};

/// round(x * scale) to the nearest e4m3 (ties to even), saturated; a NaN stays one.
///   x           [rows, columns] bf16 or float
///   by_rows     [rows, columns]; null data: not wanted
///   by_columns  [columns, rows]; null data: not wanted
template <class Number>
void quantize_e4m3(std::int64_t rows, std::int64_t columns, const MatrixView<const Number>& x, float scale,
                   const MatrixView<fp8_e4m3>& by_rows, const MatrixView<fp8_e4m3>& by_columns, Stream stream);

/// to [columns, rows] = from [rows, columns]: gradients that cross_entropy_rows wrote, for the product over the tokens.
void transpose_e5m2(std::int64_t rows, std::int64_t columns, const MatrixView<const fp8_e5m2>& from,
                    const MatrixView<fp8_e5m2>& to, Stream stream);

}  // namespace nanobench::core::cuda
