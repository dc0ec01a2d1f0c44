#include "engine/ops/attention.h"

#include <memory>

#include "core/base/op_timer.h"
#include "core/config/kernel_coverage.h"
#include "engine/kernels/attention_kernel.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

cuda::DeviceAttentionShape kernel_shape(const at::Tensor& q, const at::Tensor& k) {
  return {.length = static_cast<std::int32_t>(q.size(0)),
          .heads = static_cast<std::int32_t>(q.size(1)),
          .kv_heads = static_cast<std::int32_t>(k.size(1)),
          .head_dim = static_cast<std::int32_t>(q.size(2))};
}

cuda::DeviceAttentionInputs kernel_inputs(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                          const AttentionPlan& plan, double scale) {
  const AttentionPlan::Ranges& ranges = plan.ranges();
  return {.q = bf16_data(q),
          .k = bf16_data(k),
          .v = bf16_data(v),
          .mask = {.first_key = ranges.first_key.const_data_ptr<std::int32_t>(),
                   .last_query = ranges.last_query.const_data_ptr<std::int32_t>()},
          .scale = static_cast<float>(scale),
          .nearest_first = plan.options().block_order == KeyBlockOrder::kNearestFirst,
          .masks_full_tiles = !plan.options().split_full_blocks,
          .products = cuda_kernels()->attention_products};
}

struct DeviceAttention : torch::autograd::Function<DeviceAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::shared_ptr<const AttentionPlan>& plan, double scale) {
    const OpTimer timer("attention");
    const at::Tensor queries = as_bfloat16(q), keys = as_bfloat16(k), values = as_bfloat16(v);
    const at::Tensor y = at::empty_like(queries);
    const at::Tensor log_sums = at::empty({q.size(1), q.size(0)}, q.options().dtype(at::kFloat));
    const CudaKernels& kernels = *cuda_kernels();
    kernels.attention_forward(kernel_shape(q, k), kernel_inputs(queries, keys, values, *plan, scale), bf16_data(y),
                              log_sums.data_ptr<float>(), kernels.stream());
    context->save_for_backward({queries, keys, values, y, log_sums});
    context->saved_data["scale"] = scale;
    context->saved_data["plan"] = c10::IValue::make_capsule(c10::make_intrusive<AttentionPlanHolder>(plan));
    return y.to(q.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("attention");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &log_sums = saved[4];
    const auto holder =
        c10::static_intrusive_pointer_cast<AttentionPlanHolder>(context->saved_data["plan"].toCapsule());
    const at::Tensor dy = as_bfloat16(gradients[0]), row_sums = at::empty_like(log_sums);
    const at::Tensor dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(v);
    const CudaKernels& kernels = *cuda_kernels();
    kernels.attention_backward(kernel_shape(q, k),
                               kernel_inputs(q, k, v, *holder->plan, context->saved_data["scale"].toDouble()),
                               {.dy = bf16_data(dy),
                                .y = bf16_data(saved[3]),
                                .log_sums = log_sums.const_data_ptr<float>(),
                                .row_sums = row_sums.data_ptr<float>(),
                                .dq = bf16_data(dq),
                                .dk = bf16_data(dk),
                                .dv = bf16_data(dv)},
                               kernels.stream());
    const at::ScalarType type = gradients[0].scalar_type();
    return {dq.to(type), dk.to(type), dv.to(type), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool fits_device_attention(const at::Tensor& q, const AttentionPlan& plan) {
  return takes_device_tensors(q.device()) && plan.options().implementation == AttentionImplementation::kTiled &&
         q.size(2) % kernel_units::kHead == 0 && q.size(2) <= kernel_units::kMaxAttention;
}

at::Tensor device_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::shared_ptr<const AttentionPlan>& plan, double scale) {
  return DeviceAttention::apply(q, k, v, plan, scale);
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

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

/// Attention tile by tile, with tensor operations.
struct TiledAttention : torch::autograd::Function<TiledAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::shared_ptr<const AttentionPlan>& plan, double scale) {
    const OpTimer timer("attention");
    const at::Tensor query_heads = heads_first(q);
    const at::Tensor key_heads = heads_first(k);
    const at::Tensor value_heads = heads_first(v);
    at::Tensor y = at::empty_like(query_heads);
    for (const AttentionPlan::Tile& tile : plan->tiles()) {
      const at::Tensor keys = key_heads.narrow(1, tile.key_begin, tile.key_count);
      const at::Tensor values = value_heads.narrow(1, tile.key_begin, tile.key_count);
      store_tile(y, tile, at::bmm(tile_weights(tile_queries(query_heads, tile, k.size(1)), keys, tile, scale), values));
    }
    context->save_for_backward({query_heads, key_heads, value_heads});
    context->saved_data["scale"] = scale;
    context->saved_data["plan"] = c10::IValue::make_capsule(c10::make_intrusive<AttentionPlanHolder>(plan));
    return y.transpose(0, 1).contiguous();
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("attention");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &query_heads = saved[0], &key_heads = saved[1], &value_heads = saved[2];
    const double scale = context->saved_data["scale"].toDouble();
    const auto holder =
        c10::static_intrusive_pointer_cast<AttentionPlanHolder>(context->saved_data["plan"].toCapsule());
    const at::Tensor dy_heads = heads_first(gradients[0]);
    at::Tensor dq = at::empty_like(query_heads);
    at::Tensor dk = at::zeros_like(key_heads);
    at::Tensor dv = at::zeros_like(value_heads);
    for (const AttentionPlan::Tile& tile : holder->plan->tiles()) {
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
};

at::Tensor with_reversed_blocks(const at::Tensor& x, std::int64_t block) {
  return x.reshape({x.size(0) / block, block, x.size(1), x.size(2)}).flip(0).reshape(x.sizes());
}

AttentionShape shape_of(const at::Tensor& q, const at::Tensor& k) {
  return {.length = q.size(0), .heads = q.size(1), .kv_heads = k.size(1), .head_dim = q.size(2)};
}

AttentionInputs inputs_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionPlan& plan,
                          double scale) {
  return {.q = q.const_data_ptr<float>(),
          .k = k.const_data_ptr<float>(),
          .v = v.const_data_ptr<float>(),
          .first_key = plan.first_key(),
          .scale = static_cast<float>(scale),
          .masks_full_blocks = !plan.options().split_full_blocks,
          .nearest_first = plan.options().block_order == KeyBlockOrder::kNearestFirst};
}

/// Work of the kernel in one forward pass, for a profile.
double profiled_flops(const AttentionShape& shape, const AttentionPlan& plan) {
  return profiler() == nullptr ? 0.0 : attention_forward_flops(shape, plan.first_key());
}

/// Attention with the vector kernel.
struct KernelAttention : torch::autograd::Function<KernelAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::shared_ptr<const AttentionPlan>& plan, double scale) {
    const OpTimer timer("attention", profiled_flops(shape_of(q, k), *plan),
                        static_cast<double>(2 * q.nbytes() + 2 * k.nbytes()));
    const at::Tensor queries = q.contiguous(), keys = k.contiguous(), values = v.contiguous();
    at::Tensor y = at::empty_like(queries);
    at::Tensor log_sums = at::empty({q.size(1), q.size(0)}, q.options());
    attention_forward(shape_of(q, k), inputs_of(queries, keys, values, *plan, scale), y.data_ptr<float>(),
                      log_sums.data_ptr<float>(), kernel_threads());
    context->save_for_backward({queries, keys, values, y, log_sums});
    context->saved_data["scale"] = scale;
    context->saved_data["plan"] = c10::IValue::make_capsule(c10::make_intrusive<AttentionPlanHolder>(plan));
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2];
    const auto holder =
        c10::static_intrusive_pointer_cast<AttentionPlanHolder>(context->saved_data["plan"].toCapsule());
    const OpTimer timer("attention", 2.5 * profiled_flops(shape_of(q, k), *holder->plan),
                        static_cast<double>(4 * q.nbytes() + 4 * k.nbytes()));
    const at::Tensor dy = gradients[0].contiguous();
    at::Tensor dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(v);
    attention_backward(shape_of(q, k), inputs_of(q, k, v, *holder->plan, context->saved_data["scale"].toDouble()),
                       saved[3].const_data_ptr<float>(), saved[4].const_data_ptr<float>(), dy.const_data_ptr<float>(),
                       dq.data_ptr<float>(), dk.data_ptr<float>(), dv.data_ptr<float>(), kernel_threads());
    return {dq, dk, dv, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const std::shared_ptr<const AttentionPlan>& plan, double scale, bool is_bfloat16) {
  TORCH_CHECK(q.dim() == 3 && q.size(0) == plan->length(), "attention: q must be [T = ", plan->length(),
              ", H, E], got ", q.sizes());
  TORCH_CHECK(k.sizes() == v.sizes() && q.size(1) % k.size(1) == 0,
              "attention: k and v must be [T, Hkv, E] with Hkv dividing H; got ", k.sizes(), " and ", v.sizes(),
              " for q ", q.sizes());
  if (is_bfloat16 && fits_device_attention(q, *plan)) return device_attention(q, k, v, plan, scale);
  if (q.scalar_type() == at::kBFloat16) {
    const auto wide = [](const at::Tensor& x) { return x.to(at::kFloat); };
    return attention(wide(q), wide(k), wide(v), plan, scale, is_bfloat16).to(at::kBFloat16);
  }
  if (plan->uses_kernel(q.size(2))) return KernelAttention::apply(q, k, v, plan, scale);
  const std::int64_t block = plan->reversed_blocks_of();
  if (block == 0) return TiledAttention::apply(q, k, v, plan, scale);
  return TiledAttention::apply(q, with_reversed_blocks(k, block), with_reversed_blocks(v, block), plan, scale);
}

at::Tensor dense_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const BlockMask& mask,
                           double scale) {
  const std::int64_t group = q.size(1) / k.size(1);
  const AttentionPlan plan(mask, q.scalar_type(), {.implementation = AttentionImplementation::kDense});
  const at::Tensor bias = plan.tiles().front().bias;
  const at::Tensor keys = k.repeat_interleave(group, 1).transpose(0, 1);
  const at::Tensor values = v.repeat_interleave(group, 1).transpose(0, 1);
  const at::Tensor logits = at::matmul(q.transpose(0, 1), keys.transpose(1, 2)).mul(scale).add(bias);
  return at::matmul(at::softmax(logits, -1), values).transpose(0, 1).contiguous();
}

}  // namespace nanobench::core
