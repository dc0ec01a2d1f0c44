// relu(x)^2 of the MLP.
#include "engine/cuda/relu_squared.h"

#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::bf16;

Body forward(std::int64_t length) {
  const at::Tensor x = normal({length, kMlpWidth}), y = at::empty_like(x);
  return [=] {
    core::cuda::relu_squared_forward(x.numel(), numbers<bf16>(x), numbers<bf16>(y), stream());
    return y;
  };
}

Body libtorch_forward(std::int64_t length) {
  return [x = normal({length, kMlpWidth})] { return at::relu(x).square(); };
}

Body backward(std::int64_t length) {
  const at::Tensor x = normal({length, kMlpWidth}), dy = x.roll({1}, {0}), dx = at::empty_like(x);
  return [=] {
    core::cuda::relu_squared_backward(x.numel(), numbers<bf16>(x), numbers<bf16>(dy), numbers<bf16>(dx), stream());
    return dx;
  };
}

Body libtorch_backward(std::int64_t length) {
  const at::Tensor x = normal({length, kMlpWidth}), dy = x.roll({1}, {0});
  return [=] { return 2.0 * at::relu(x) * dy; };
}

}  // namespace

void relu_squared_bench() {
  for (const std::int64_t length : kLengths) {
    const std::string shape = shape_name({{"T", length}, {"columns", kMlpWidth}});
    const double count = static_cast<double>(length * kMlpWidth);
    add_rows("relu_squared_forward", shape,
             {{.name = "own", .prepare = [=] { return forward(length); }, .work = {.bytes = 4 * count}},
              {.name = "single_operations",
               .prepare = [=] { return libtorch_forward(length); },
               .work = {.bytes = 4 * count}}});
    add_rows("relu_squared_backward", shape,
             {{.name = "own", .prepare = [=] { return backward(length); }, .work = {.bytes = 6 * count}},
              {.name = "single_operations",
               .prepare = [=] { return libtorch_backward(length); },
               .work = {.bytes = 6 * count}}});
  }
}

}  // namespace nanobench::gpu_bench
