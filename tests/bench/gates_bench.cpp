// The learned gates of heads and embeddings, beside the same through plain autograd. Bytes are those of reading and
// writing each large tensor of the forward and the backward pass once.
#include "engine/ops/gates.h"

#include "tests/bench/bench_support.h"

namespace nanobench::bench {
namespace {

constexpr double kEps = 0x1p-7;
constexpr std::int64_t kGateDim = 12;  // of record #28

void add_heads(const BenchOptions& options, const ModelShape& s) {
  const std::string shape = shape_name({{"T", s.length}, {"H", s.heads}, {"E", s.head_dim()}});
  using Gate = at::Tensor (*)(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight);
  const auto add = [&](const std::string& path, Gate gate) {
    const double bytes = 8.0 * static_cast<double>(s.length * s.dim) * sizeof(float);  // y, out, x; dout, y, dy, x, dx
    add_case(options, {.name = "head_gate/" + path + "/" + shape, .bytes = bytes}, [s, gate] {
      const at::Tensor y = random_leaf({s.length, s.heads, s.head_dim()}), x = random_leaf({s.length, s.dim});
      const at::Tensor weight = random_leaf({s.heads, kGateDim});
      return forward_backward([=] { return gate(y, x, weight); }, {y, x, weight});
    });
  };
  add("engine", [](const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight) {
    return core::gated_heads(y, x, weight, kEps);
  });
  add("autograd", [](const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight) {
    const at::Tensor n = x * at::rsqrt(x.square().mean({-1}, /*keepdim=*/true) + kEps);
    return y * at::sigmoid(at::linear(n.narrow(1, 0, kGateDim), weight)).unsqueeze(-1);
  });
}

void add_smear(const BenchOptions& options, const ModelShape& s) {
  const std::string shape = shape_name({{"T", s.length}, {"C", s.dim}});
  using Smear = at::Tensor (*)(const at::Tensor& e, const at::Tensor& weight, const at::Tensor& lambda);
  const auto add = [&](const std::string& path, Smear smear) {
    const double bytes = 5.0 * static_cast<double>(s.length * s.dim) * sizeof(float);  // e, out; dout, e, de
    add_case(options, {.name = "smear/" + path + "/" + shape, .bytes = bytes}, [s, smear] {
      const at::Tensor e = random_leaf({s.length, s.dim}), weight = random_leaf({1, kGateDim}),
                       lambda = random_leaf({});
      return forward_backward([=] { return smear(e, weight, lambda); }, {e, weight, lambda});
    });
  };
  add("engine", [](const at::Tensor& e, const at::Tensor& weight, const at::Tensor& lambda) {
    return core::smear(e, weight, lambda);
  });
  add("autograd", [](const at::Tensor& e, const at::Tensor& weight, const at::Tensor& lambda) {
    const at::Tensor later = e.slice(0, 1);
    const at::Tensor gates = lambda * at::sigmoid(at::linear(later.narrow(1, 0, kGateDim), weight));
    return at::cat({e.slice(0, 0, 1), later + gates * e.slice(0, 0, -1)});
  });
}

}  // namespace

void gates_bench(const BenchOptions& options) {
  for (const ModelShape& s : options.shapes) {
    add_heads(options, s);
    add_smear(options, s);
  }
}

}  // namespace nanobench::bench
