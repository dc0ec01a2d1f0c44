#include "engine/ops/late_attention.h"

#include <algorithm>
#include <limits>

#include "core/base/op_timer.h"

namespace nanobench::core {

at::Tensor without_own_values(const at::Tensor& y, const at::Tensor& v, const at::Tensor& alpha) {
  const OpTimer timer("xsa");
  constexpr double kMinSquare = 1e-8;
  const auto dot = [](const at::Tensor& a, const at::Tensor& b) { return (a * b).sum(-1, /*keepdim=*/true); };
  const at::Tensor share = dot(y, v) / dot(v, v).clamp_min(kMinSquare);
  return y - at::tanh(alpha).unsqueeze(-1) * share * v;
}

namespace {

/// Attention weights held at once. On a CPU what fits in caches: 16 MiB of float32. On a GPU launching the operations
/// of few tiles takes longer than running them: 1 GiB.
constexpr std::int64_t kCpuWeights = std::int64_t{1} << 22;
constexpr std::int64_t kDeviceWeights = std::int64_t{1} << 28;

/// Queries in tiles, of which each sees a window of keys that ends with its own: all windows are views of one tensor.
class KeyWindows {
 public:
  KeyWindows(const AttentionPlan& plan, at::Device device)
      : tiles_((plan.length() + kTileQueries - 1) / kTileQueries), before_(reach(plan)) {
    const at::Tensor positions = at::arange(rows(), at::TensorOptions().dtype(at::kInt).device(device));
    const at::Tensor first = at::cat({plan.ranges().first_key, positions.narrow(0, plan.length(), padding(plan))});
    const at::Tensor offsets = at::arange(-before_, kTileQueries, positions.options());
    const at::Tensor keys = positions.view({tiles_, kTileQueries}).narrow(1, 0, 1).unsqueeze(2) + offsets;
    const auto of_query = [&](const at::Tensor& x) { return x.view({tiles_, kTileQueries, 1}); };
    is_hidden_ = keys.lt(of_query(first)).logical_or_(keys.gt(of_query(positions)));
  }

  std::int64_t tiles() const { return tiles_; }
  /// Keys of a window.
  std::int64_t width() const { return before_ + kTileQueries; }
  /// [tiles, queries, keys]
  const at::Tensor& is_hidden() const { return is_hidden_; }

  /// [T, ...] -> [tiles, queries, ...]
  at::Tensor of_queries(const at::Tensor& x) const { return padded(x, 0).unflatten(0, {tiles_, kTileQueries}); }
  /// [T, H, E] -> [tiles, H, E, keys]
  at::Tensor of_keys(const at::Tensor& x) const { return padded(x, before_).unfold(0, width(), kTileQueries); }

 private:
  static std::int64_t reach(const AttentionPlan& plan) {
    std::int64_t reach = 0, query = 0;
    for (const std::int64_t first : plan.first_key()) reach = std::max(reach, query++ - first);
    return reach;
  }
  std::int64_t rows() const { return tiles_ * kTileQueries; }
  std::int64_t padding(const AttentionPlan& plan) const { return rows() - plan.length(); }
  /// With rows of zeros before and after.
  at::Tensor padded(const at::Tensor& x, std::int64_t before) const {
    std::vector<std::int64_t> sides(2 * static_cast<std::size_t>(x.dim()), 0);
    sides[sides.size() - 2] = before;
    sides.back() = rows() - x.size(0);
    return at::constant_pad_nd(x, sides);
  }

  std::int64_t tiles_, before_;
  at::Tensor is_hidden_;
};

}  // namespace

at::Tensor composed_heads(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionPlan& plan,
                          double scale, const at::Tensor& mixture, const at::Tensor& share, double eps) {
  const OpTimer timer("composed_heads");
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  const std::int64_t heads = q.size(1), features = q.size(1) * q.size(2);
  const KeyWindows windows(plan, q.device());
  const at::Tensor queries = windows.of_queries(q * scale).transpose(1, 2);  // [tiles, H, n, E]
  const at::Tensor keys = windows.of_keys(k), values = windows.of_keys(v);   // [tiles, H, E, m]
  const at::Tensor normalized = mixture * at::rsqrt(mixture.square().mean(-1, /*keepdim=*/true) + eps);
  const at::Tensor factors = windows.of_queries(normalized).transpose(1, 2).unsqueeze(-1);
  const std::int64_t limit = q.is_cpu() ? kCpuWeights : kDeviceWeights;
  const std::int64_t at_once = std::max<std::int64_t>(1, limit / (heads * kTileQueries * windows.width()));
  std::vector<at::Tensor> parts;
  for (std::int64_t begin = 0; begin < windows.tiles(); begin += at_once) {
    const std::int64_t count = std::min(at_once, windows.tiles() - begin);
    const auto part = [&](const at::Tensor& x) { return x.narrow(0, begin, count); };
    const at::Tensor logits = at::matmul(part(queries), part(keys));  // [tiles, H, n, m]
    const at::Tensor weights =
        at::softmax(logits.masked_fill(part(windows.is_hidden()).unsqueeze(1), kMinusInfinity), -1);
    const at::Tensor mixed = (weights * part(factors)).sum(1);  // [tiles, n, m]
    const at::Tensor seen = part(values).permute({0, 3, 1, 2}).reshape({count, windows.width(), features});
    parts.push_back(at::matmul(mixed, seen).view({count * kTileQueries, heads, q.size(2)}));
  }
  return at::cat(parts).narrow(0, 0, q.size(0)) * share.unsqueeze(-1);
}

}  // namespace nanobench::core
