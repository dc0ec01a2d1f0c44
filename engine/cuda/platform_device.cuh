/// The vocabulary of platform.cuh for nvcc. Include platform.cuh instead.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "engine/cuda/error.h"
#include "engine/cuda/types.h"

#define NB_DYNAMIC_SHARED(name) extern __shared__ __align__(128) unsigned char name[]

namespace nanobench::core::cuda {

__host__ __device__ inline float to_float(bf16 x) {
  return __bfloat162float(__ushort_as_bfloat16(x.bits));
}
__host__ __device__ inline bf16 to_bf16(float x) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}
__host__ __device__ inline fp8_e4m3 to_e4m3(float x) {
  return {__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)};
}
__host__ __device__ inline fp8_e5m2 to_e5m2(float x) {
  return {__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2)};
}
__host__ __device__ inline float to_float(fp8_e4m3 x) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.bits, __NV_E4M3)));
}
__host__ __device__ inline float to_float(fp8_e5m2 x) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.bits, __NV_E5M2)));
}

__device__ inline std::uint32_t pack_bf16(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
__device__ inline float unpack_low(std::uint32_t packed) {
  return __uint_as_float(packed << 16);
}
__device__ inline float unpack_high(std::uint32_t packed) {
  return __uint_as_float(packed & 0xffff0000U);
}

__device__ inline bool is_taken(bool condition) {
  return condition;
}

template <class Vector>
__device__ inline Vector load_vector(const void* from) {
  return *static_cast<const Vector*>(from);
}
template <class Vector>
__device__ inline void store_vector(void* to, const Vector& value) {
  *static_cast<Vector*>(to) = value;
}

__device__ inline std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

__device__ inline void cp_async_16(void* shared, const void* global, bool is_valid = true) {
  const int bytes = is_valid ? 16 : 0;  // bytes that are not read become zero
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
               : "memory");
}
__device__ inline void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kGroups>
__device__ inline void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

__device__ inline void ldmatrix_x4(std::uint32_t (&tiles)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void ldmatrix_x4_trans(std::uint32_t (&tiles)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void ldmatrix_x2(std::uint32_t (&tiles)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(tiles[0]), "=r"(tiles[1])
               : "r"(shared_address(row))
               : "memory");
}

__device__ inline void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float reciprocal_fast(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float log2_fast(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  Stream stream = nullptr;
};

/// Throws CudaError with the location of NB_LAUNCH if the launch is refused.
template <class... Parameters, class... Arguments>
void launch(const char* name, const char* file, int line, const LaunchShape& shape, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  constexpr std::size_t kSharedBytesWithoutAsking = 48 * 1024;  // CUDA's limit unless the attribute is set
  if (shape.shared_bytes > kSharedBytesWithoutAsking) {
    const auto bytes = static_cast<int>(shape.shared_bytes);
    check_cuda_call(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), name, file, line);
  }
  kernel<<<shape.grid, shape.block, shape.shared_bytes, shape.stream>>>(static_cast<Parameters>(arguments)...);
  check_cuda_call(cudaGetLastError(), name, file, line);
}

}  // namespace nanobench::core::cuda

#define NB_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                          \
  ::nanobench::core::cuda::launch(#kernel, __FILE__, __LINE__,                                             \
                                  ::nanobench::core::cuda::LaunchShape{grid, block, shared_bytes, stream}, \
                                  kernel __VA_OPT__(, ) __VA_ARGS__)
