/// Number types and handles used in the headers of CUDA kernels. Plain C++: includes no CUDA header.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace nanobench::core::cuda {

using Stream = ::CUstream_st*;  ///< CUDA's cudaStream_t

/// Storage of one number; arithmetic is in float. platform.cuh has the conversions; bfloat16 is the upper half of a
/// float32.
struct bf16 {
  std::uint16_t bits;
};
struct alignas(4) bf16x2 {
  bf16 low;   ///< the first in memory
  bf16 high;  ///< the second
};
struct fp8_e4m3 {
  std::uint8_t bits;
};
struct fp8_e5m2 {
  std::uint8_t bits;
};

}  // namespace nanobench::core::cuda
