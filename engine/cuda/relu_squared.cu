#include "engine/cuda/relu_squared.h"

#include "engine/cuda/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kThreads = 256;

/// A NaN is not below zero: it propagates, so that a diverged run is visible.
__device__ inline float relu(float x) {
  return x < 0.0f ? 0.0f : x;
}

struct Square {
  const bf16* x;
  bf16* out;
  __device__ float operator()(float value, float) const {
    const float active = relu(value);
    return active * active;
  }
};

struct SquareGradient {
  const bf16* x;
  const bf16* dy;
  bf16* out;
  __device__ float operator()(float value, float gradient) const { return relu(value) * gradient * 2.0f; }
};

__device__ inline const bf16* second_of(const Square&) {
  return nullptr;
}
__device__ inline const bf16* second_of(const SquareGradient& function) {
  return function.dy;
}

/// Thread i handles numbers 8 i to 8 i + 7.
template <class Function>
__global__ void __launch_bounds__(kThreads) apply(std::int64_t count, Function function, bool has_vectors) {
  const std::int64_t begin = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  const bf16* second = second_of(function);
  if (begin >= count) return;
  Floats8 x = load_up_to(function.x, begin, count, has_vectors);
  const Floats8 y = second != nullptr ? load_up_to(second, begin, count, has_vectors) : Floats8{};
#pragma unroll
  for (int i = 0; i < kVector; ++i) x.at[i] = function(x.at[i], y.at[i]);
  store_up_to(function.out, begin, count, has_vectors, x);
}

template <class Function>
void launch_apply(std::int64_t count, const Function& function, bool has_vectors, Stream stream) {
  if (count <= 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(count, kThreads * kVector));
  NB_LAUNCH(apply<Function>, dim3(blocks), dim3(kThreads), 0, stream, count, function, has_vectors);
}

}  // namespace

void relu_squared_forward(std::int64_t count, const bf16* x, bf16* y, Stream stream) {
  launch_apply(count, Square{x, y}, is_aligned(x) && is_aligned(y), stream);
}

void relu_squared_backward(std::int64_t count, const bf16* x, const bf16* dy, bf16* dx, Stream stream) {
  launch_apply(count, SquareGradient{x, dy, dx}, is_aligned(x) && is_aligned(dy) && is_aligned(dx), stream);
}

}  // namespace nanobench::core::cuda
