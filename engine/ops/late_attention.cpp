#include "engine/ops/late_attention.h"

#include "core/base/op_timer.h"

namespace nanobench::core {

at::Tensor without_own_values(const at::Tensor& y, const at::Tensor& v, const at::Tensor& alpha) {
  const OpTimer timer("xsa");
  constexpr double kMinSquare = 1e-8;
  const auto dot = [](const at::Tensor& a, const at::Tensor& b) { return (a * b).sum(-1, /*keepdim=*/true); };
  const at::Tensor share = dot(y, v) / dot(v, v).clamp_min(kMinSquare);
  return y - at::tanh(alpha).unsqueeze(-1) * share * v;
}

at::Tensor composed_heads(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionPlan& plan,
                          double scale, const at::Tensor& mixture, const at::Tensor& share, double eps) {
  const OpTimer timer("composed_heads");
  const std::int64_t heads = q.size(1), width = q.size(2);
  const at::Tensor factors = mixture * at::rsqrt(mixture.square().mean(-1, /*keepdim=*/true) + eps);
  std::vector<at::Tensor> parts;
  for (const AttentionPlan::Tile& tile : plan.tiles()) {
    const auto queries = [&](const at::Tensor& x) { return x.narrow(0, tile.query_begin, tile.query_count); };
    const auto keys = [&](const at::Tensor& x) { return x.narrow(0, tile.key_begin, tile.key_count); };
    const at::Tensor logits = at::matmul(queries(q).transpose(0, 1) * scale, keys(k).permute({1, 2, 0}));  // [H, n, m]
    const at::Tensor weights = at::softmax(logits + tile.bias, -1);
    const at::Tensor mixed = (weights * queries(factors).t().unsqueeze(-1)).sum(0);  // [n, m]
    const at::Tensor sums = at::matmul(mixed, keys(v).reshape({tile.key_count, heads * width}));
    parts.push_back(sums.view({tile.query_count, heads, width}) * queries(share).unsqueeze(-1));
  }
  return at::cat(parts);
}

}  // namespace nanobench::core
