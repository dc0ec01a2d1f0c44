/// Access to rows of numbers, eight at a time, and sums in a fixed order. For .cu files.
///
/// Eight numbers are one 16-byte access of bfloat16 and two of float32. The order of every sum depends only on the
/// sizes, so results have the same bits in every run and on every device.
#pragma once

#include <cstdint>

#include "engine/cuda/platform.cuh"

namespace nanobench::core::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kVector = 8;  ///< numbers per access
inline constexpr unsigned kWholeWarp = 0xffffffffU;

struct Floats8 {
  float at[kVector];
};

__device__ inline Floats8 load8(const bf16* from) {
  const uint4 bits = load_vector<uint4>(from);
  return {{unpack_low(bits.x), unpack_high(bits.x), unpack_low(bits.y), unpack_high(bits.y), unpack_low(bits.z),
           unpack_high(bits.z), unpack_low(bits.w), unpack_high(bits.w)}};
}
__device__ inline Floats8 load8(const float* from) {
  const float4 low = load_vector<float4>(from), high = load_vector<float4>(from + 4);
  return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}
__device__ inline void store8(bf16* to, const Floats8& x) {
  uint4 bits;
  bits.x = pack_bf16(x.at[0], x.at[1]);
  bits.y = pack_bf16(x.at[2], x.at[3]);
  bits.z = pack_bf16(x.at[4], x.at[5]);
  bits.w = pack_bf16(x.at[6], x.at[7]);
  store_vector(to, bits);
}
__device__ inline void store8(float* to, const Floats8& x) {
  store_vector(to, make_float4(x.at[0], x.at[1], x.at[2], x.at[3]));
  store_vector(to + 4, make_float4(x.at[4], x.at[5], x.at[6], x.at[7]));
}

__device__ inline float load1(const bf16* from) {
  return to_float(*from);
}
__device__ inline float load1(const float* from) {
  return *from;
}
__device__ inline void store1(bf16* to, float x) {
  *to = to_bf16(x);
}
__device__ inline void store1(float* to, float x) {
  *to = x;
}

/// Numbers [begin, begin + 8) of `data`, with zeros from `end` on. `has_vectors`: data is aligned, and begin is a
/// multiple of 8.
template <class Number>
__device__ inline Floats8 load_up_to(const Number* data, std::int64_t begin, std::int64_t end, bool has_vectors) {
  if (has_vectors && begin + kVector <= end) return load8(data + begin);
  Floats8 x = {};
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    if (begin + i < end) x.at[i] = load1(data + begin + i);
  return x;
}
template <class Number>
__device__ inline void store_up_to(Number* data, std::int64_t begin, std::int64_t end, bool has_vectors,
                                   const Floats8& x) {
  if (has_vectors && begin + kVector <= end) return store8(data + begin, x);
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    if (begin + i < end) store1(data + begin + i, x.at[i]);
}

/// The value rounded as in bfloat16 storage.
__device__ inline float rounded(float x) {
  return to_float(to_bf16(x));
}
__device__ inline Floats8 rounded(const Floats8& x) {
  Floats8 y;
#pragma unroll
  for (int i = 0; i < kVector; ++i) y.at[i] = rounded(x.at[i]);
  return y;
}

__device__ inline float dot8(const Floats8& a, const Floats8& b) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kVector; ++i) sum += a.at[i] * b.at[i];
  return sum;
}

/// Whether all vectors from this pointer on are aligned.
__host__ __device__ inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

/// The sum over groups of `kLanes` neighbouring lanes (a power of two), in every lane. Called by the whole warp.
template <int kLanes = kWarp>
__device__ inline float group_sum(float x) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(kWholeWarp, x, distance);
  return x;
}

/// The sum over a block of `kThreads`, in every thread; `shared` is one float per warp. Called by the whole block.
template <int kThreads>
__device__ inline float block_sum(float x, float* shared) {
  constexpr int kWarps = kThreads / kWarp;
  x = group_sum(x);
  __syncthreads();  // the block may still be reading earlier contents
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = x;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) sum += shared[warp];
  return sum;
}

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace nanobench::core::cuda
