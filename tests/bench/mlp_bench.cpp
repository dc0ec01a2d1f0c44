// A block's MLP, forward and backward: x W1^T, ReLU^2, W2^T.
#include "core/ops/blend.h"
#include "tests/bench/bench_support.h"

namespace nanobench::bench {
namespace {

void add_path(const BenchOptions& options, const ModelShape& s, bool is_engine) {
  const std::string name = std::string("mlp/") + (is_engine ? "engine" : "by_operations") + "/" +
                           shape_name({{"T", s.length}, {"C", s.dim}});
  const double product =
      2.0 * static_cast<double>(s.length) * static_cast<double>(s.dim) * 4 * static_cast<double>(s.dim);
  add_case(options, {.name = name, .flop = 6 * product}, [=] {
    const at::Tensor x = random_leaf({s.length, s.dim}), up = random_leaf({4 * s.dim, s.dim}),
                     down = random_leaf({s.dim, 4 * s.dim});
    return forward_backward(
        [=] {
          const at::Tensor hidden = at::linear(x, up);
          return at::linear(is_engine ? core::relu_squared(hidden) : at::relu(hidden).square(), down);
        },
        {x, up, down});
  });
}

}  // namespace

void mlp_bench(const BenchOptions& options) {
  for (const ModelShape& s : options.shapes) {
    add_path(options, s, true);
    add_path(options, s, false);
  }
}

}  // namespace nanobench::bench
