#include "core/ops/attention.h"

#include <algorithm>
#include <limits>
#include <memory>

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// [rows, columns] of 0 and -inf for queries query_begin ... and keys key_begin ...
template <class Number>
void fill_bias(at::Tensor& bias, const std::vector<std::int64_t>& first_key, std::int64_t query_begin,
               std::int64_t key_begin) {
  Number* row = bias.data_ptr<Number>();
  const std::int64_t columns = bias.size(1);
  for (std::int64_t i = 0; i < bias.size(0); ++i, row += columns) {
    const std::int64_t query = query_begin + i;
    const std::int64_t begin =
        std::clamp<std::int64_t>(first_key[static_cast<std::size_t>(query)] - key_begin, 0, columns);
    const std::int64_t end = std::clamp<std::int64_t>(query + 1 - key_begin, 0, columns);
    std::fill(row, row + begin, static_cast<Number>(kMinusInfinity));
    std::fill(row + begin, row + end, Number{0});
    std::fill(row + end, row + columns, static_cast<Number>(kMinusInfinity));
  }
}

at::Tensor make_bias(const BlockMask& mask, std::int64_t query_begin, std::int64_t query_count, std::int64_t key_begin,
                     std::int64_t key_count, at::ScalarType dtype) {
  at::Tensor bias = at::empty({query_count, key_count}, at::TensorOptions().dtype(dtype));
  if (dtype == at::kDouble) {
    fill_bias<double>(bias, mask.first_key(), query_begin, key_begin);
  } else {
    fill_bias<float>(bias, mask.first_key(), query_begin, key_begin);
  }
  return bias;
}

/// Heads outermost, so that a tile of one head is one matrix: [T, H, E] -> [H, T, E].
at::Tensor heads_first(const at::Tensor& x) {
  return x.transpose(0, 1).contiguous();
}

/// The queries of a tile, those of one key/value head together: [H, T, E] -> [Hkv, (H / Hkv) * queries, E].
at::Tensor tile_queries(const at::Tensor& heads, const AttentionPlan::Tile& tile, std::int64_t kv_heads) {
  const at::Tensor slice = heads.narrow(1, tile.query_begin, tile.query_count);
  const std::int64_t group = heads.size(0) / kv_heads;
  return group == 1 ? slice : slice.reshape({kv_heads, group * tile.query_count, heads.size(2)});
}

/// Writes a tile's result back: the inverse of tile_queries.
void store_tile(at::Tensor& heads, const AttentionPlan::Tile& tile, const at::Tensor& values) {
  heads.narrow(1, tile.query_begin, tile.query_count)
      .copy_(values.view({heads.size(0), tile.query_count, heads.size(2)}));
}

/// Attention weights of a tile: [Hkv, group * queries, keys].
at::Tensor tile_weights(const at::Tensor& queries, const at::Tensor& keys, const AttentionPlan::Tile& tile,
                        double scale) {
  const std::int64_t rows = queries.size(1);
  at::Tensor logits = at::empty({queries.size(0), rows, tile.key_count}, queries.options());
  at::baddbmm_out(logits, logits, queries, keys.transpose(1, 2), /*beta=*/0, scale);
  // Heads of a group and their queries: [Hkv, group, queries, keys].
  const at::Tensor grouped = logits.view({queries.size(0), rows / tile.query_count, tile.query_count, tile.key_count});
  const auto add_bias = [&](std::int64_t begin, std::int64_t end) {
    if (begin < end) grouped.narrow(3, begin, end - begin).add_(tile.bias.narrow(1, begin, end - begin));
  };
  add_bias(0, tile.unmasked_begin);
  add_bias(tile.unmasked_end, tile.key_count);
  return at::_softmax(logits, -1, /*half_to_float=*/false);
}

struct TiledAttention : torch::autograd::Function<TiledAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::shared_ptr<const AttentionPlan>& plan, double scale) {
    const at::Tensor query_heads = heads_first(q);
    const at::Tensor key_heads = heads_first(k);
    const at::Tensor value_heads = heads_first(v);
    at::Tensor y = at::empty_like(query_heads);
    for (const AttentionPlan::Tile& tile : plan->tiles) {
      const at::Tensor keys = key_heads.narrow(1, tile.key_begin, tile.key_count);
      const at::Tensor values = value_heads.narrow(1, tile.key_begin, tile.key_count);
      store_tile(y, tile, at::bmm(tile_weights(tile_queries(query_heads, tile, k.size(1)), keys, tile, scale), values));
    }
    context->save_for_backward({query_heads, key_heads, value_heads});
    context->saved_data["scale"] = scale;
    context->saved_data["plan"] = c10::IValue::make_capsule(c10::make_intrusive<PlanHolder>(plan));
    return y.transpose(0, 1).contiguous();
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &query_heads = saved[0], &key_heads = saved[1], &value_heads = saved[2];
    const double scale = context->saved_data["scale"].toDouble();
    const auto holder = c10::static_intrusive_pointer_cast<PlanHolder>(context->saved_data["plan"].toCapsule());
    const at::Tensor dy_heads = heads_first(gradients[0]);
    at::Tensor dq = at::empty_like(query_heads);
    at::Tensor dk = at::zeros_like(key_heads);
    at::Tensor dv = at::zeros_like(value_heads);
    for (const AttentionPlan::Tile& tile : holder->plan->tiles) {
      const at::Tensor queries = tile_queries(query_heads, tile, key_heads.size(0));
      const at::Tensor dy = tile_queries(dy_heads, tile, key_heads.size(0));
      const at::Tensor keys = key_heads.narrow(1, tile.key_begin, tile.key_count);
      const at::Tensor values = value_heads.narrow(1, tile.key_begin, tile.key_count);
      const at::Tensor weights = tile_weights(queries, keys, tile, scale);
      dv.narrow(1, tile.key_begin, tile.key_count).baddbmm_(weights.transpose(1, 2), dy);
      const at::Tensor dlogits =
          at::_softmax_backward_data(at::bmm(dy, values.transpose(1, 2)), weights, -1, weights.scalar_type());
      store_tile(dq, tile, at::bmm(dlogits, keys));
      dk.narrow(1, tile.key_begin, tile.key_count).baddbmm_(dlogits.transpose(1, 2), queries, /*beta=*/1, scale);
    }
    dq.mul_(scale);
    return {dq.transpose(0, 1), dk.transpose(0, 1), dv.transpose(0, 1), at::Tensor(), at::Tensor()};
  }

 private:
  /// Carries the plan through autograd's saved data.
  struct PlanHolder : torch::CustomClassHolder {
    explicit PlanHolder(std::shared_ptr<const AttentionPlan> shared) : plan(std::move(shared)) {}
    std::shared_ptr<const AttentionPlan> plan;
  };
};

/// The tile of queries [begin, begin + count) with the keys they see, in ascending order.
AttentionPlan::Tile make_tile(const BlockMask& mask, std::int64_t begin, std::int64_t count, at::ScalarType dtype,
                              const AttentionPlanOptions& options) {
  AttentionPlan::Tile tile;
  tile.query_begin = begin;
  tile.query_count = count;
  const auto from = mask.first_key().begin() + begin;
  const auto [first, last] = std::minmax_element(from, from + count);
  const bool by_blocks = options.block_order == KeyBlockOrder::kNearestFirst;
  const std::int64_t unit = by_blocks ? mask.block_size() : 1;
  const bool is_dense = options.implementation == AttentionImplementation::kDense;
  tile.key_begin = is_dense ? 0 : *first / unit * unit;
  tile.key_count = is_dense ? mask.length() : (begin + count + unit - 1) / unit * unit - tile.key_begin;
  tile.bias = make_bias(mask, begin, count, tile.key_begin, tile.key_count, dtype);
  if (options.split_full_blocks && !is_dense && begin >= *last) {
    tile.unmasked_begin = *last - tile.key_begin;
    tile.unmasked_end = begin + 1 - tile.key_begin;  // the first query sees itself
  }
  return tile;
}

/// The same tile over keys whose blocks are in reversed order.
void reverse_blocks(AttentionPlan::Tile& tile, std::int64_t length, std::int64_t block) {
  const std::int64_t blocks = tile.key_count / block;
  tile.bias = tile.bias.view({tile.query_count, blocks, block}).flip(1).reshape({tile.query_count, tile.key_count});
  tile.key_begin = length - tile.key_begin - tile.key_count;
  // Whole blocks only: the others keep their bias.
  const std::int64_t first = (tile.unmasked_begin + block - 1) / block;
  const std::int64_t last = tile.unmasked_end / block;
  const bool any = first < last;
  tile.unmasked_begin = any ? (blocks - last) * block : 0;
  tile.unmasked_end = any ? (blocks - first) * block : 0;
}

at::Tensor with_reversed_blocks(const at::Tensor& x, std::int64_t block) {
  return x.reshape({x.size(0) / block, block, x.size(1), x.size(2)}).flip(0).reshape(x.sizes());
}

}  // namespace

AttentionPlan make_attention_plan(const BlockMask& mask, at::ScalarType dtype, const AttentionPlanOptions& options) {
  AttentionPlan plan;
  plan.length = mask.length();
  const bool is_dense = options.implementation == AttentionImplementation::kDense;
  const std::int64_t step = is_dense ? mask.length() : kTileQueries;
  const bool reverses = !is_dense && options.block_order == KeyBlockOrder::kNearestFirst;
  if (reverses) plan.reversed_blocks_of = mask.block_size();
  for (std::int64_t begin = 0; begin < mask.length(); begin += step) {
    plan.tiles.push_back(make_tile(mask, begin, std::min(step, mask.length() - begin), dtype, options));
    if (reverses) reverse_blocks(plan.tiles.back(), mask.length(), mask.block_size());
  }
  return plan;
}

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const std::shared_ptr<const AttentionPlan>& plan, double scale) {
  TORCH_CHECK(q.dim() == 3 && q.size(0) == plan->length, "attention: q must be [T = ", plan->length, ", H, E], got ",
              q.sizes());
  TORCH_CHECK(k.sizes() == v.sizes() && q.size(1) % k.size(1) == 0,
              "attention: k and v must be [T, Hkv, E] with Hkv dividing H; got ", k.sizes(), " and ", v.sizes(),
              " for q ", q.sizes());
  if (plan->reversed_blocks_of == 0) return TiledAttention::apply(q, k, v, plan, scale);
  return TiledAttention::apply(q, with_reversed_blocks(k, plan->reversed_blocks_of),
                               with_reversed_blocks(v, plan->reversed_blocks_of), plan, scale);
}

at::Tensor dense_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const BlockMask& mask,
                           double scale) {
  const std::int64_t length = mask.length();
  const std::int64_t group = q.size(1) / k.size(1);
  const at::Tensor bias = make_bias(mask, 0, length, 0, length, q.scalar_type());
  const at::Tensor keys = k.repeat_interleave(group, 1).transpose(0, 1);
  const at::Tensor values = v.repeat_interleave(group, 1).transpose(0, 1);
  const at::Tensor logits = at::matmul(q.transpose(0, 1), keys.transpose(1, 2)).mul(scale).add(bias);
  return at::matmul(at::softmax(logits, -1), values).transpose(0, 1).contiguous();
}

}  // namespace nanobench::core
