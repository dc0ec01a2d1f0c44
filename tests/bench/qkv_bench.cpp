// The first half of a block, forward and backward: blend, norm, projections of q, k and v, norm and rotation of heads,
// value mixing. Beside the fused kernel the single operations that it replaces.
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
        x0(random_leaf({s.length, s.dim})),
        lambdas(random_leaf({2})),
        wq(random_leaf({s.dim, s.dim})),
        wk(random_leaf({s.dim, s.dim})),
        wv(random_leaf({s.dim, s.dim})),
        values(random_leaf({s.length, s.dim})),
        value_lambdas(random_leaf({2})),
        tables(core::rotary_tables({.base = 1024, .half_truncate = true, .max_seq_len = s.length}, s.head_dim(),
                                   at::arange(s.length), at::kFloat)),
        heads(s.heads),
        head_dim(s.head_dim()) {}

  std::vector<at::Tensor> leaves() const { return {x, x0, lambdas, wq, wk, wv, values, value_lambdas}; }

  at::Tensor x, x0, lambdas, wq, wk, wv, values, value_lambdas;
  core::RotaryTables tables;
  std::int64_t heads, head_dim;
};

/// x, q, k and v as one tensor, so that one gradient goes back through all of them.
at::Tensor joined(const at::Tensor& x, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return at::cat({x, q.reshape(x.sizes()), k.reshape(x.sizes()), v.reshape(x.sizes())}, 1);
}

at::Tensor by_kernel(const Tensors& t) {
  const core::QkvOptions options{.heads = t.heads,
                                 .kv_heads = t.heads,
                                 .head_dim = t.head_dim,
                                 .norm_eps = kEps,
                                 .head_norm_eps = kEps,
                                 .value_blend = core::ValueBlend::kPair};
  const core::BlendInputs blend{.x = t.x, .skip = {}, .skip_weights = {}, .x0 = t.x0, .lambdas = t.lambdas};
  const core::QkvOutput out = core::fused_qkv(blend, t.wq, t.wk, t.wv, t.tables, t.values, t.value_lambdas, options);
  return joined(out.x, out.q, out.k, out.v);
}

at::Tensor by_single_operations(const Tensors& t) {
  const at::Tensor x = core::weighted_sum(t.x, t.x0, t.lambdas, core::BlendForm::kPair);
  const at::Tensor normalized = core::rms_norm(x, kEps);
  const auto heads = [&](const at::Tensor& weight) {
    return at::linear(normalized, weight).view({-1, t.heads, t.head_dim});
  };
  const at::Tensor v = heads(t.wv);
  return joined(x, core::rotate(core::rms_norm(heads(t.wq), kEps), t.tables),
                core::rotate(core::rms_norm(heads(t.wk), kEps), t.tables),
                core::weighted_sum(v, t.values.view(v.sizes()), t.value_lambdas, core::BlendForm::kPair));
}

void add_path(const BenchOptions& options, const ModelShape& s, const std::string& path,
              at::Tensor (*operation)(const Tensors&)) {
  const auto length = static_cast<double>(s.length), dim = static_cast<double>(s.dim);
  const std::string shape = shape_name({{"T", s.length}, {"H", s.heads}, {"E", s.head_dim()}});
  add_case(options, {.name = "qkv/" + path + "/" + shape, .flop = 3 * 2.0 * length * dim * 3 * dim}, [=] {
    const Tensors t(s);
    return forward_backward([=] { return operation(t); }, t.leaves());
  });
}

}  // namespace

void qkv_bench(const BenchOptions& options) {
  for (const ModelShape& s : options.shapes) {
    add_path(options, s, "engine", by_kernel);
    add_path(options, s, "single_operations", by_single_operations);
  }
}

}  // namespace nanobench::bench
