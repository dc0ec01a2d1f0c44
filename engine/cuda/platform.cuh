/// The common vocabulary of our kernels. A .cu file includes this instead of CUDA's headers, so that the same source
/// compiles for a GPU with nvcc and for the CPU with an emulation of CUDA's execution model (the folder of
/// cuda_emulation.h, which only the tests have on their include path). Besides CUDA's own names (__global__, threadIdx,
/// __syncthreads, __shfl_*_sync, atomicAdd, dim3, float4, ...), nanobench::core::cuda provides:
///
///   to_float(x), to_bf16(f), to_e4m3(f), to_e5m2(f)   round to nearest even; fp8 saturates, NaN stays NaN
///   pack_bf16(low, high) -> uint32_t                  two floats to two bf16 in a register
///   unpack_low(u), unpack_high(u)                     the floats of such a register
///   NB_DYNAMIC_SHARED(name)                           declares `unsigned char* name`, 128-byte aligned
///   load_vector<float4>(p), store_vector(p, v)        vector access: p is aligned to the vector
///   cp_async_16(shared, global, is_valid)             16 bytes, zeros if not valid; cp_async_commit();
///   cp_async_wait<N>()                                until at most N groups of this thread are pending
///   ldmatrix_x2, ldmatrix_x4, ldmatrix_x4_trans       8 x 8 tiles of bf16; lane i gives the address of row i
///   mma_bf16(d, a, b0, b1)                            d[16, 8] += a[16, 16] b[16, 8], PTX m16n8k16, float32 sums
///   is_taken(condition)                               the condition of a branch that a warp is to take as one; a GPU
///   only
///                                                     tests it, the emulation counts the warps that part there
///   exp2_fast(x), log2_fast(x), reciprocal_fast(x)    the approximate instructions; exp2_fast(-inf) = 0
///   NB_LAUNCH(kernel, grid, block, shared_bytes, stream, args...)
///
/// A whole warp executes ldmatrix, mma_bf16 and is_taken together. A kernel name with commas needs parentheses:
/// NB_LAUNCH((f<1, 2>), ...). Blocks may run in any order, even sequentially: no block waits for another one.
#pragma once

#include "engine/cuda/error.h"
#include "engine/cuda/types.h"

#ifdef __CUDACC__
#include "engine/cuda/platform_device.cuh"
#include "engine/cuda/warpgroup_device.cuh"
#else
#include <cuda_emulation.h>
#endif
