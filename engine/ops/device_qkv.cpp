#include "core/base/op_timer.h"
#include "core/config/kernel_coverage.h"
#include "engine/ops/device_block.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

static_assert(kernel_units::kMaxHead == cuda::kMaxHeadDim);

/// Additional data for the backward pass: the original projections, [T, n], one or three.
enum DeviceQkvSaved { kDeviceBlended = kQkvSlots, kDeviceNormed, kProjectedQ, kProjectedK, kProjectedV };

cuda::QkvHeadsShape heads_shape(const at::Tensor& x, const QkvOptions& options) {
  return {.length = x.size(0), .heads = options.heads, .kv_heads = options.kv_heads, .head_dim = options.head_dim};
}

at::Tensor matrix(const at::Tensor& weight) {
  return as_bfloat16(weight.reshape({-1, weight.size(-1)}));
}

/// Three matrices, or the columns of one: q, k and v of each row.
struct DeviceProjections {
  at::Tensor q, k, v;  ///< k and v undefined where q holds all

  bool is_joined() const { return !k.defined(); }

  template <class Number>
  std::array<cuda::HeadRows<Number>, 3> rows() const {
    const std::int64_t width = q.size(1);
    if (!is_joined()) return {{{bf16_data(q), width}, {bf16_data(k), k.size(1)}, {bf16_data(v), v.size(1)}}};
    const std::int64_t third = width / 3;
    return {{{bf16_data(q), width}, {bf16_data(q) + third, width}, {bf16_data(q) + 2 * third, width}}};
  }
  cuda::QkvProjections inputs() const {
    const auto [q_rows, k_rows, v_rows] = rows<const cuda::bf16>();
    return {q_rows, k_rows, v_rows};
  }
};

DeviceProjections saved_projections(const variable_list& saved) {
  const auto part = [&](int slot) { return saved[slot].numel() > 0 ? saved[slot] : at::Tensor(); };
  return {saved[kProjectedQ], part(kProjectedK), part(kProjectedV)};
}

cuda::HeadValueBlend value_blend_of(const QkvOptions& options, bool has_embedding) {
  switch (options.value_blend) {
    case ValueBlend::kNone: return cuda::HeadValueBlend::kNone;
    case ValueBlend::kPair: return has_embedding ? cuda::HeadValueBlend::kPair : cuda::HeadValueBlend::kFirstOnly;
    case ValueBlend::kLerp: return has_embedding ? cuda::HeadValueBlend::kLerp : cuda::HeadValueBlend::kNone;
  }
  return cuda::HeadValueBlend::kNone;
}

cuda::HeadNorm head_norm_of(const QkvOptions& options) {
  if (!options.head_norm_eps) return cuda::HeadNorm::kNone;
  return options.norm_after_rotation ? cuda::HeadNorm::kAfterRotation : cuda::HeadNorm::kBeforeRotation;
}

cuda::QkvHeadsOptions heads_options(const variable_list& slots, const QkvOptions& options) {
  const at::Tensor& embedding = slots[kValueEmbedding];
  return {.norm = head_norm_of(options),
          .eps = static_cast<float>(options.head_norm_eps.value_or(0.0)),
          .cos = float_data(slots[kCos]),
          .sin = float_data(slots[kSin]),
          .rounds_rotation = options.rounds_rotation,
          .blend = value_blend_of(options, embedding.numel() > 0),
          .value_weights = float_data(slots[kValueLambdas]),
          .value_embedding = {bf16_data(embedding), options.kv_heads * options.head_dim}};
}

double qkv_flops(const at::Tensor& x, const QkvOptions& options) {
  return 2.0 * static_cast<double>(x.numel()) *
         static_cast<double>((options.heads + 2 * options.kv_heads) * options.head_dim);
}

/// Gradients from the heads to the projections and the value embedding.
struct HeadsBackward {
  DeviceProjections projections;
  at::Tensor value_embedding;
  at::Tensor value_lambdas;
};

HeadsBackward heads_backward(const variable_list& saved, const QkvOptions& options, const variable_list& gradients) {
  const DeviceProjections in = saved_projections(saved);
  const auto like = [](const at::Tensor& x) { return x.defined() ? at::empty_like(x) : x; };
  HeadsBackward out{.projections = {like(in.q), like(in.k), like(in.v)}, .value_embedding = {}, .value_lambdas = {}};
  const at::TensorOptions floats = saved[kBlendX].options().dtype(at::kFloat);
  const cuda::QkvHeadsOptions heads = heads_options(saved, options);
  const bool has_lambdas = heads.blend != cuda::HeadValueBlend::kNone;
  if (has_lambdas && saved[kValueEmbedding].numel() > 0) out.value_embedding = at::empty_like(saved[kValueEmbedding]);
  if (has_lambdas) out.value_lambdas = at::empty_like(saved[kValueLambdas]);
  const at::Tensor workspace = has_lambdas ? at::empty({cuda::kQkvHeadsWorkspace}, floats) : at::Tensor();
  const at::Tensor dq = as_bfloat16(gradients[1]), dk = as_bfloat16(gradients[2]), dv = as_bfloat16(gradients[3]);
  const auto [q_rows, k_rows, v_rows] = out.projections.rows<cuda::bf16>();
  const CudaKernels& kernels = *cuda_kernels();
  kernels.qkv_heads_backward(heads_shape(saved[kBlendX], options), in.inputs(), heads,
                             {.q_heads = bf16_data(dq),
                              .k_heads = bf16_data(dk),
                              .v_heads = bf16_data(dv),
                              .q = q_rows,
                              .k = k_rows,
                              .v = v_rows,
                              .value_embedding = bf16_data(out.value_embedding),
                              .value_weights = float_data(out.value_lambdas),
                              .workspace = float_data(workspace)},
                             kernels.stream());
  return out;
}

struct DeviceQkv : torch::autograd::Function<DeviceQkv> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& skip,
                               const at::Tensor& skip_weights, const at::Tensor& x0, const at::Tensor& lambdas,
                               const at::Tensor& wq, const at::Tensor& wk, const at::Tensor& wv, const at::Tensor& cos,
                               const at::Tensor& sin, const at::Tensor& value_embedding,
                               const at::Tensor& value_lambdas, const c10::intrusive_ptr<QkvHolder>& holder) {
    variable_list saved = {x, skip, skip_weights, x0, lambdas, wq, wk, wv, cos, sin, value_embedding, value_lambdas};
    const QkvOptions& options = holder->options;
    const OpTimer timer("qkv", qkv_flops(x, options));
    const CudaKernels& kernels = *cuda_kernels();
    const bool is_identity = skip.numel() == 0 && x0.numel() == 0;
    const at::Tensor blended = is_identity ? x : at::empty_like(x), normed = at::empty_like(x);
    kernels.residual_norm_forward(residual_shape(x), residual_blend(saved, holder->skip_index),
                                  {.blended = is_identity ? nullptr : bf16_data(blended),
                                   .normed = bf16_data(normed),
                                   .eps = static_cast<float>(options.norm_eps)},
                                  kernels.stream());
    const auto project = [&](const at::Tensor& weight) {
      return weight.numel() > 0 ? at::mm(normed, matrix(weight).t()) : at::Tensor();
    };
    const DeviceProjections projections{project(wq), project(wk), project(wv)};
    const std::int64_t length = x.size(0);
    const at::Tensor q = at::empty({length, options.heads, options.head_dim}, x.options()),
                     k = at::empty({length, options.kv_heads, options.head_dim}, x.options()), v = at::empty_like(k);
    kernels.qkv_heads_forward(heads_shape(x, options), projections.inputs(), heads_options(saved, options),
                              {.q = bf16_data(q), .k = bf16_data(k), .v = bf16_data(v)}, kernels.stream());
    saved.insert(saved.end(), {blended, normed, projections.q, present(projections.k, x), present(projections.v, x)});
    context->save_for_backward(saved);
    context->saved_data["holder"] = c10::IValue::make_capsule(holder);
    return {blended, q, k, v};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto holder = c10::static_intrusive_pointer_cast<QkvHolder>(context->saved_data["holder"].toCapsule());
    const QkvOptions& options = holder->options;
    const OpTimer timer("qkv", 2.0 * qkv_flops(saved[kBlendX], options));
    const HeadsBackward heads = heads_backward(saved, options, gradients);
    const DeviceProjections& d = heads.projections;
    at::Tensor dnormed = at::mm(d.q, matrix(saved[kWq]));
    if (!d.is_joined()) dnormed.addmm_(d.k, matrix(saved[kWk])).addmm_(d.v, matrix(saved[kWv]));
    const auto weight_gradient = [&](const at::Tensor& dy, int slot) {
      return dy.defined() ? at::mm(dy.t(), saved[kDeviceNormed]).to(at::kFloat).reshape(saved[slot].sizes())
                          : at::Tensor();
    };
    variable_list result =
        blend_gradients(saved, holder->skip_index,
                        {.blended = saved[kDeviceBlended],
                         .dnormed = dnormed,
                         .dblended = gradients[0].defined() ? as_bfloat16(gradients[0]) : at::Tensor(),
                         .eps = options.norm_eps});
    result.insert(result.end(), {weight_gradient(d.q, kWq), weight_gradient(d.k, kWk), weight_gradient(d.v, kWv),
                                 at::Tensor(), at::Tensor(), heads.value_embedding, heads.value_lambdas, at::Tensor()});
    return result;
  }
};

}  // namespace

QkvOutput device_qkv(const BlendInputs& blend, const at::Tensor& wq, const at::Tensor& wk, const at::Tensor& wv,
                     const RotaryTables& tables, const at::Tensor& value_embedding, const at::Tensor& value_lambdas,
                     const QkvOptions& options) {
  const at::Tensor& x = blend.x;
  const variable_list slots = blend_slots(blend);
  const auto holder = c10::make_intrusive<QkvHolder>(options, blend.skip_index);
  const at::Tensor embedding = value_embedding.defined() ? as_bfloat16(value_embedding) : at::Tensor();
  const at::Tensor floats = x.new_empty({0}, at::kFloat);
  const variable_list out =
      DeviceQkv::apply(slots[kBlendX], slots[kBlendSkip], slots[kBlendSkipWeights], slots[kBlendX0],
                       slots[kBlendLambdas], wq, present(wk, floats), present(wv, floats), present(tables.cos, floats),
                       present(tables.sin, floats), present(embedding, x), present(value_lambdas, floats), holder);
  return {out[0], out[1], out[2], out[3]};
}

}  // namespace nanobench::core
