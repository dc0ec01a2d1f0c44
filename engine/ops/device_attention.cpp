#include "engine/ops/device_attention.h"

#include "core/base/op_timer.h"
#include "core/config/kernel_coverage.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

cuda::AttentionShape kernel_shape(const at::Tensor& q, const at::Tensor& k) {
  return {.length = static_cast<std::int32_t>(q.size(0)),
          .heads = static_cast<std::int32_t>(q.size(1)),
          .kv_heads = static_cast<std::int32_t>(k.size(1)),
          .head_dim = static_cast<std::int32_t>(q.size(2))};
}

cuda::AttentionInputs kernel_inputs(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const AttentionPlan& plan, double scale) {
  const AttentionPlan::Ranges& ranges = plan.ranges();
  return {.q = bf16_data(q),
          .k = bf16_data(k),
          .v = bf16_data(v),
          .mask = {.first_key = ranges.first_key.const_data_ptr<std::int32_t>(),
                   .last_query = ranges.last_query.const_data_ptr<std::int32_t>()},
          .scale = static_cast<float>(scale),
          .nearest_first = plan.options().block_order == KeyBlockOrder::kNearestFirst,
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

}  // namespace nanobench::core
