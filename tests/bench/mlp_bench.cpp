// The second half of a block, forward and backward: the attention's projection, then norm, MLP and both residual sums.
// Beside the fused kernel the single operations that it replaces, and plain autograd.
#include "engine/ops/blend.h"
#include "engine/ops/fused_block.h"
#include "engine/ops/rms_norm.h"
#include "tests/bench/bench_support.h"

namespace nanobench::bench {
namespace {

constexpr double kEps = 0x1p-7;

struct Tensors {
  explicit Tensors(const ModelShape& s)
      : x(random_leaf({s.length, s.dim})),
        y(random_leaf({s.length, s.dim})),
        wo(random_leaf({s.dim, s.dim})),
        w1(random_leaf({4 * s.dim, s.dim})),
        w2(random_leaf({s.dim, 4 * s.dim})) {}
  at::Tensor x, y, wo, w1, w2;
};

at::Tensor by_kernel(const Tensors& t) {
  return core::fused_mlp(t.x, t.y, t.wo, t.w1, t.w2, 1.0, kEps);
}

at::Tensor by_single_operations(const Tensors& t) {
  const at::Tensor x = t.x + at::linear(t.y, t.wo);
  return x + at::linear(core::relu_squared(at::linear(core::rms_norm(x, kEps), t.w1)), t.w2);
}

at::Tensor by_autograd(const Tensors& t) {
  const at::Tensor x = t.x + at::linear(t.y, t.wo);
  const at::Tensor norm = x * at::rsqrt(x.square().mean({-1}, /*keepdim=*/true) + kEps);
  return x + at::linear(at::relu(at::linear(norm, t.w1)).square(), t.w2);
}

void add_path(const BenchOptions& options, const ModelShape& s, const std::string& path,
              at::Tensor (*operation)(const Tensors&)) {
  const auto length = static_cast<double>(s.length), dim = static_cast<double>(s.dim);
  const double forward = 2.0 * length * dim * (dim + 8 * dim);
  add_case(options, {.name = "mlp/" + path + "/" + shape_name({{"T", s.length}, {"C", s.dim}}), .flop = 3 * forward},
           [=] {
             const Tensors t(s);
             return forward_backward([=] { return operation(t); }, {t.x, t.y, t.wo, t.w1, t.w2});
           });
}

}  // namespace

void mlp_bench(const BenchOptions& options) {
  for (const ModelShape& s : options.shapes) {
    add_path(options, s, "engine", by_kernel);
    add_path(options, s, "single_operations", by_single_operations);
    add_path(options, s, "autograd", by_autograd);
  }
}

}  // namespace nanobench::bench
