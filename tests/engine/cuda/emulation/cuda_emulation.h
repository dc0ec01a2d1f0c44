/// CUDA's words and the vocabulary of engine/cuda/platform.cuh for an ordinary C++ compiler: kernels run on the
/// CPU under the execution model of block_runner.h. Include platform.cuh instead.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <tuple>
#include <type_traits>

#include "block_runner.h"
#include "device_space.h"
#include "engine/cuda/types.h"
#include "tests/engine/cuda/number_formats.h"
#include "vector_types.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

// NOLINTBEGIN: these are CUDA's names.

inline constexpr int warpSize = 32;

inline void __syncthreads(const std::source_location& where = std::source_location::current()) {
  nanobench::emulation::meet_block(where);
}
inline void __threadfence() {}
inline void __threadfence_block() {}

namespace nanobench::emulation {

inline constexpr WarpOperation kSyncWarp{"__syncwarp", [](void* const (&)[kWarpLanes]) {}};

template <class T>
struct ShuffleOperand {
  T value;
  unsigned source;
  T result;
};

template <class T>
void combine_shuffle(void* const (&lanes)[kWarpLanes]) {
  for (void* lane : lanes) {
    if (lane == nullptr) continue;
    auto* operand = static_cast<ShuffleOperand<T>*>(lane);
    if (lanes[operand->source] == nullptr) fail("a shuffle reads a lane that its mask leaves out");
    operand->result = static_cast<const ShuffleOperand<T>*>(lanes[operand->source])->value;
  }
}

template <class T>
inline constexpr WarpOperation kShuffle{"a shuffle", &combine_shuffle<T>};

template <class T>
T shuffle(std::uint32_t mask, T value, unsigned source, const std::source_location& where) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA shuffles 4 or 8 bytes");
  ShuffleOperand<T> operand{value, source, value};
  meet_warp(kShuffle<T>, mask, &operand, where);
  return operand.result;
}

struct VoteOperand {
  bool is_true;
  std::uint32_t result;
};
void combine_vote(void* const (&lanes)[kWarpLanes]);
inline constexpr WarpOperation kVote{"a vote", &combine_vote};

inline std::uint32_t vote(std::uint32_t mask, bool is_true, const std::source_location& where) {
  VoteOperand operand{is_true, 0};
  meet_warp(kVote, mask, &operand, where);
  return operand.result;
}

unsigned lane_of_thread();

/// Returns `condition`, and counts whether the lanes of the warp agree on it.
bool is_taken_by_warp(bool condition, const std::source_location& where);

}  // namespace nanobench::emulation

inline void __syncwarp(std::uint32_t mask = 0xffffffffU,
                       const std::source_location& where = std::source_location::current()) {
  nanobench::emulation::meet_warp(nanobench::emulation::kSyncWarp, mask, &mask, where);
}

template <class T>
T __shfl_sync(std::uint32_t mask, T value, int source, int width = 32,
              const std::source_location& where = std::source_location::current()) {
  const unsigned lane = nanobench::emulation::lane_of_thread();
  const auto size = static_cast<unsigned>(width);
  return nanobench::emulation::shuffle(mask, value, lane / size * size + static_cast<unsigned>(source) % size, where);
}
template <class T>
T __shfl_xor_sync(std::uint32_t mask, T value, int bits, int width = 32,
                  const std::source_location& where = std::source_location::current()) {
  const unsigned lane = nanobench::emulation::lane_of_thread();
  const auto size = static_cast<unsigned>(width);
  const unsigned source = lane ^ static_cast<unsigned>(bits);
  return nanobench::emulation::shuffle(mask, value, source / size > lane / size ? lane : source, where);
}
template <class T>
T __shfl_down_sync(std::uint32_t mask, T value, unsigned steps, int width = 32,
                   const std::source_location& where = std::source_location::current()) {
  const unsigned lane = nanobench::emulation::lane_of_thread();
  const auto size = static_cast<unsigned>(width);
  return nanobench::emulation::shuffle(mask, value, lane % size + steps < size ? lane + steps : lane, where);
}
template <class T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned steps, int width = 32,
                 const std::source_location& where = std::source_location::current()) {
  const unsigned lane = nanobench::emulation::lane_of_thread();
  const auto size = static_cast<unsigned>(width);
  return nanobench::emulation::shuffle(mask, value, lane % size >= steps ? lane - steps : lane, where);
}
inline unsigned __ballot_sync(std::uint32_t mask, int is_true,
                              const std::source_location& where = std::source_location::current()) {
  return nanobench::emulation::vote(mask, is_true != 0, where);
}
inline int __any_sync(std::uint32_t mask, int is_true,
                      const std::source_location& where = std::source_location::current()) {
  return nanobench::emulation::vote(mask, is_true != 0, where) != 0 ? 1 : 0;
}
inline int __all_sync(std::uint32_t mask, int is_true,
                      const std::source_location& where = std::source_location::current()) {
  return nanobench::emulation::vote(mask, is_true == 0, where) == 0 ? 1 : 0;
}

template <class T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  const T before = *address;
  *address = static_cast<T>(before + value);
  return before;
}
template <class T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  const T before = *address;
  if (value > before) *address = value;
  return before;
}
template <class T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  const T before = *address;
  if (value < before) *address = value;
  return before;
}
template <class T>
T __ldg(const T* address) {
  nanobench::emulation::check_alignment(address, alignof(T), "__ldg");
  return *address;
}

template <class T>
constexpr T min(T a, std::type_identity_t<T> b) {
  return b < a ? b : a;
}
template <class T>
constexpr T max(T a, std::type_identity_t<T> b) {
  return a < b ? b : a;
}
inline float rsqrtf(float x) {
  return 1.0f / std::sqrt(x);
}
inline float __expf(float x) {
  return std::exp(x);
}
inline float __logf(float x) {
  return std::log(x);
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float __frcp_rn(float x) {
  return 1.0f / x;
}
// Products and sums that no compiler may fuse or that must be fused.
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline unsigned __float_as_uint(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}
inline float __uint_as_float(unsigned bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}
inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}

// The part of CUDA's runtime that stands beside kernels.
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorIllegalAddress = 700,
};
using cudaStream_t = nanobench::core::cuda::Stream;
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
/// The error that nanobench::emulation::set_last_error() left; clears it.
cudaError_t cudaGetLastError();
inline cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t) {
  const nanobench::emulation::DeviceAccess access;
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int, cudaStream_t) {
  const nanobench::emulation::DeviceAccess access;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline constexpr int cudaMemcpyDeviceToDevice = 3;

namespace nanobench::emulation {
void set_last_error(cudaError_t error);
}

// NOLINTEND

#define NB_DYNAMIC_SHARED(name) unsigned char* const name = ::nanobench::emulation::dynamic_shared()

#include "warpgroup.h"

namespace nanobench::core::cuda {

inline std::uint32_t pack_bf16(float low, float high) {
  return to_bf16(low).bits | static_cast<std::uint32_t>(to_bf16(high).bits) << 16;
}
inline float unpack_low(std::uint32_t packed) {
  return __uint_as_float(packed << 16);
}
inline float unpack_high(std::uint32_t packed) {
  return __uint_as_float(packed & 0xffff0000U);
}

template <class Vector>
Vector load_vector(const void* from) {
  nanobench::emulation::check_shared(from, sizeof(Vector), "a vector load");
  Vector value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
template <class Vector>
void store_vector(void* to, const Vector& value) {
  nanobench::emulation::check_shared(to, sizeof(Vector), "a vector store");
  nanobench::emulation::note_write(to);
  std::memcpy(to, &value, sizeof(value));
}

inline void cp_async_16(void* shared, const void* global, bool is_valid = true) {
  nanobench::emulation::begin_copy(shared, global, 16, is_valid);
}
inline void cp_async_commit() {
  nanobench::emulation::commit_copies();
}
template <int kGroups>
void cp_async_wait() {
  nanobench::emulation::wait_copies(kGroups);
}

void ldmatrix_x2(std::uint32_t (&tiles)[2], const void* row,
                 const std::source_location& where = std::source_location::current());
void ldmatrix_x4(std::uint32_t (&tiles)[4], const void* row,
                 const std::source_location& where = std::source_location::current());
void ldmatrix_x4_trans(std::uint32_t (&tiles)[4], const void* row,
                       const std::source_location& where = std::source_location::current());
void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
              const std::source_location& where = std::source_location::current());

inline bool is_taken(bool condition, const std::source_location& where = std::source_location::current()) {
  return nanobench::emulation::is_taken_by_warp(condition, where);
}

inline float exp2_fast(float x) {
  return std::exp2(x);
}
inline float log2_fast(float x) {
  return std::log2(x);
}
inline float reciprocal_fast(float x) {
  return 1.0f / x;
}

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  Stream stream = nullptr;
};

/// Runs the whole grid before it returns.
template <class... Parameters, class... Arguments>
void launch(const char* name, const LaunchShape& shape, void (*kernel)(Parameters...), const Arguments&... arguments) {
  const std::tuple<Parameters...> copies(static_cast<Parameters>(arguments)...);
  const nanobench::emulation::Grid grid{name,
                                        {shape.grid.x, shape.grid.y, shape.grid.z},
                                        {shape.block.x, shape.block.y, shape.block.z},
                                        shape.shared_bytes};
  nanobench::emulation::run_grid(grid, [&] { std::apply(kernel, copies); });
}

}  // namespace nanobench::core::cuda

#define NB_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                                   \
  ::nanobench::core::cuda::launch(#kernel, ::nanobench::core::cuda::LaunchShape{grid, block, shared_bytes, stream}, \
                                  kernel __VA_OPT__(, ) __VA_ARGS__)
