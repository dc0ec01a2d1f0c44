/// Products of a warpgroup for nvcc. Include platform.cuh instead.
///
/// Only code for sm_90a has these instructions. Elsewhere these functions trap, and the host launches no kernel that
/// calls them.
#pragma once

#include <cstdint>

#include "engine/cuda/matrix_descriptor.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define NB_WARPGROUP_ASM(...) asm volatile(__VA_ARGS__)
#else
#define NB_WARPGROUP_ASM(...) __trap()
#endif

// The accumulators for 64 and 128 columns: their operand numbers in an asm statement, and the registers.
#define NB_PLACES_64                                                        \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
#define NB_PLACES_128                                                                \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
#define NB_FOUR(d, j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define NB_SIXTEEN(d, j) NB_FOUR(d, j), NB_FOUR(d, j + 1), NB_FOUR(d, j + 2), NB_FOUR(d, j + 3)
#define NB_REGISTERS_64(d) NB_SIXTEEN(d, 0), NB_SIXTEEN(d, 4)
#define NB_REGISTERS_128(d) NB_SIXTEEN(d, 0), NB_SIXTEEN(d, 4), NB_SIXTEEN(d, 8), NB_SIXTEEN(d, 12)

namespace nanobench::core::cuda {

__device__ inline void fence_async_proxy() {
  NB_WARPGROUP_ASM("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void wgmma_fence() {
  NB_WARPGROUP_ASM("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void wgmma_commit() {
  NB_WARPGROUP_ASM("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kGroups>
__device__ inline void wgmma_wait() {
  NB_WARPGROUP_ASM("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}

template <int kPanelBytes>
__device__ inline SharedMatrix shared_matrix(const void* first) {
  return SharedMatrix::at(shared_address(first), kPanelBytes);
}

/// d[64, kColumns] = a b, plus d if `adds`.
template <int kColumns>
__device__ inline void wgmma_bf16(float (&d)[kColumns / 8][4], SharedMatrix a, SharedMatrix b, bool adds) {
  static_assert(kColumns == 64 || kColumns == 128);
  if constexpr (kColumns == 64) {
    NB_WARPGROUP_ASM(
        "{.reg .pred adds;\n"
        "setp.ne.b32 adds, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " NB_PLACES_64 "%32, %33, adds, 1, 1, 0, 0;}"
        : NB_REGISTERS_64(d)
        : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(adds)));
  } else {
    NB_WARPGROUP_ASM(
        "{.reg .pred adds;\n"
        "setp.ne.b32 adds, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NB_PLACES_128 "%64, %65, adds, 1, 1, 0, 0;}"
        : NB_REGISTERS_128(d)
        : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(adds)));
  }
}

/// d[64, kColumns] = a b, plus d if `adds`, with a in registers and b stored by rows of the inner dimension.
template <int kColumns>
__device__ inline void wgmma_bf16_rows(float (&d)[kColumns / 8][4], const std::uint32_t (&a)[4], SharedMatrix b,
                                       bool adds) {
  static_assert(kColumns == 64 || kColumns == 128);
  if constexpr (kColumns == 64) {
    NB_WARPGROUP_ASM(
        "{.reg .pred adds;\n"
        "setp.ne.b32 adds, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " NB_PLACES_64
        "{%32, %33, %34, %35}, %36, adds, 1, 1, 1;}"
        : NB_REGISTERS_64(d)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits), "r"(static_cast<int>(adds)));
  } else {
    NB_WARPGROUP_ASM(
        "{.reg .pred adds;\n"
        "setp.ne.b32 adds, %69, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NB_PLACES_128
        "{%64, %65, %66, %67}, %68, adds, 1, 1, 1;}"
        : NB_REGISTERS_128(d)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits), "r"(static_cast<int>(adds)));
  }
}

}  // namespace nanobench::core::cuda

#undef NB_WARPGROUP_ASM
#undef NB_PLACES_64
#undef NB_PLACES_128
#undef NB_FOUR
#undef NB_SIXTEEN
#undef NB_REGISTERS_64
#undef NB_REGISTERS_128
