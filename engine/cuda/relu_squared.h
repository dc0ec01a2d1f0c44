/// relu(x)^2 of the MLP, forward and backward, on bfloat16. Plain C++: includes no CUDA header. Thread-safe.
#pragma once

#include <cstdint>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

/// y = round(relu(x)^2) of `count` numbers; a NaN stays one. y may be x.
///   x, y  device; 16-byte aligned pointers are processed eight numbers at a time, others one by one
/// Enqueues on the stream, does not synchronise. Throws CudaError.
void relu_squared_forward(std::int64_t count, const bf16* x, bf16* y, Stream stream);

/// dx = round(2 relu(x) dy), x is the input of the forward pass. dx may be dy or x.
void relu_squared_backward(std::int64_t count, const bf16* x, const bf16* dy, bf16* dx, Stream stream);

}  // namespace nanobench::core::cuda
