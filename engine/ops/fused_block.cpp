#include "engine/ops/fused_block.h"

#include <array>

#include "core/base/op_timer.h"
#include "engine/kernels/block_kernel.h"
#include "engine/kernels/gemm.h"
#include "engine/ops/device_block.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const float* data(const at::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 ? tensor.const_data_ptr<float>() : nullptr;
}

float entry(const at::Tensor& weights, std::int64_t index, float otherwise) {
  const float* values = data(weights);
  return values == nullptr ? otherwise : values[index];
}

at::Tensor empty_like_if(const at::Tensor& tensor) {
  return tensor.numel() > 0 ? at::empty_like(tensor) : at::Tensor();
}

float* data_if(at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<float>() : nullptr;
}

ResidualBlend blend_of(const variable_list& inputs, std::int64_t skip_index) {
  return {.x = data(inputs[kBlendX]),
          .skip = data(inputs[kBlendSkip]),
          .x0 = data(inputs[kBlendX0]),
          .skip_weight = entry(inputs[kBlendSkipWeights], skip_index, 0.0f),
          .x_weight = entry(inputs[kBlendLambdas], 0, 1.0f),
          .x0_weight = entry(inputs[kBlendLambdas], 1, 0.0f)};
}

/// Destination of a blend's gradients in a backward pass.
struct BlendBackward {
  at::Tensor x, skip, x0;
  double skip_weight = 0.0, x_weight = 0.0, x0_weight = 0.0;

  explicit BlendBackward(const variable_list& inputs)
      : x(at::empty_like(inputs[kBlendX])),
        skip(empty_like_if(inputs[kBlendSkip])),
        x0(empty_like_if(inputs[kBlendX0])) {}

  ResidualBlendGradients pointers() {
    return {.x = x.data_ptr<float>(),
            .skip = data_if(skip),
            .x0 = data_if(x0),
            .skip_weight = &skip_weight,
            .x_weight = &x_weight,
            .x0_weight = &x0_weight};
  }

  /// By slot.
  variable_list tensors(const variable_list& inputs, std::int64_t skip_index) const {
    at::Tensor skip_weights, lambdas;
    if (inputs[kBlendSkipWeights].numel() > 0) {
      skip_weights = at::zeros_like(inputs[kBlendSkipWeights]);
      skip_weights.data_ptr<float>()[skip_index] = static_cast<float>(skip_weight);
    }
    if (inputs[kBlendLambdas].numel() > 0) {
      lambdas = at::empty_like(inputs[kBlendLambdas]);
      lambdas.data_ptr<float>()[0] = static_cast<float>(x_weight);
      lambdas.data_ptr<float>()[1] = static_cast<float>(x0_weight);
    }
    return {x, skip, skip_weights, x0, lambdas};
  }
};

struct Blend : torch::autograd::Function<Blend> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& skip,
                            const at::Tensor& skip_weights, const at::Tensor& x0, const at::Tensor& lambdas,
                            std::int64_t skip_index) {
    const OpTimer timer("blend");
    const variable_list inputs = {x, skip, skip_weights, x0, lambdas};
    context->save_for_backward(inputs);
    context->saved_data["skip_index"] = skip_index;
    at::Tensor out = at::empty_like(x);
    blend_forward(x.size(0), x.size(1), blend_of(inputs, skip_index), out.data_ptr<float>(), kernel_threads());
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("blend");
    const variable_list inputs = context->get_saved_variables();
    const std::int64_t skip_index = context->saved_data["skip_index"].toInt();
    const at::Tensor dx = gradients[0].contiguous();
    BlendBackward out(inputs);
    blend_backward(dx.size(0), dx.size(1), blend_of(inputs, skip_index), data(dx), out.pointers(), kernel_threads());
    variable_list result = out.tensors(inputs, skip_index);
    result.emplace_back();
    return result;
  }
};

/// Additional data for its backward pass.
enum QkvSaved { kBlended = kQkvSlots, kInverse, kQ, kK, kQInverse, kKInverse };

QkvShape shape_of(const variable_list& inputs, const QkvOptions& options) {
  return {.length = inputs[kBlendX].size(0),
          .model_dim = inputs[kBlendX].size(1),
          .heads = options.heads,
          .kv_heads = options.kv_heads,
          .head_dim = options.head_dim};
}

/// Three weights, or the thirds of one.
template <class Pointer>
std::array<Pointer, 3> thirds(Pointer q, Pointer k, Pointer v, const QkvShape& shape) {
  const std::int64_t third = shape.model_dim * shape.model_dim;
  return k != nullptr ? std::array<Pointer, 3>{q, k, v} : std::array<Pointer, 3>{q, q + third, q + 2 * third};
}

QkvInputs inputs_of(const variable_list& inputs, const QkvHolder& holder) {
  const QkvOptions& options = holder.options;
  const auto [wq, wk, wv] = thirds(data(inputs[kWq]), data(inputs[kWk]), data(inputs[kWv]), shape_of(inputs, options));
  QkvInputs in{.blend = blend_of(inputs, holder.skip_index),
               .norm_eps = static_cast<float>(options.norm_eps),
               .wq = wq,
               .wk = wk,
               .wv = wv,
               .normalizes_heads = options.head_norm_eps.has_value(),
               .head_norm_eps = static_cast<float>(options.head_norm_eps.value_or(0.0)),
               .cos = data(inputs[kCos]),
               .sin = data(inputs[kSin]),
               .value_embedding = data(inputs[kValueEmbedding])};
  const float first = entry(inputs[kValueLambdas], 0, 0.0f);
  if (options.value_blend == ValueBlend::kPair) {
    in.value_weight = first;
    in.embedding_weight = entry(inputs[kValueLambdas], 1, 0.0f);
  } else if (options.value_blend == ValueBlend::kLerp) {
    in.value_weight = 1.0f - first;
    in.embedding_weight = first;
  }
  return in;
}

double qkv_flops(const QkvShape& shape) {
  return 2.0 * static_cast<double>(shape.length * shape.model_dim) *
         static_cast<double>((shape.heads + 2 * shape.kv_heads) * shape.head_dim);
}

struct Qkv : torch::autograd::Function<Qkv> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& skip,
                               const at::Tensor& skip_weights, const at::Tensor& x0, const at::Tensor& lambdas,
                               const at::Tensor& wq, const at::Tensor& wk, const at::Tensor& wv, const at::Tensor& cos,
                               const at::Tensor& sin, const at::Tensor& value_embedding,
                               const at::Tensor& value_lambdas, const c10::intrusive_ptr<QkvHolder>& holder) {
    variable_list saved = {x, skip, skip_weights, x0, lambdas, wq, wk, wv, cos, sin, value_embedding, value_lambdas};
    const QkvOptions& options = holder->options;
    const QkvShape shape = shape_of(saved, options);
    const OpTimer timer("qkv", qkv_flops(shape));
    const QkvInputs in = inputs_of(saved, *holder);
    const auto rows = [&](at::IntArrayRef more) {
      std::vector<std::int64_t> sizes = {shape.length};
      sizes.insert(sizes.end(), more.begin(), more.end());
      return at::empty(sizes, x.options());
    };
    at::Tensor blended = in.blend.is_identity() ? x : at::empty_like(x);
    at::Tensor inverse = rows({}), q = rows({shape.heads, shape.head_dim}), k = rows({shape.kv_heads, shape.head_dim}),
               v = at::empty_like(k), q_inverse = rows({shape.heads}), k_inverse = rows({shape.kv_heads});
    qkv_forward(shape, in,
                {.x = in.blend.is_identity() ? nullptr : blended.data_ptr<float>(),
                 .inverse = inverse.data_ptr<float>(),
                 .q = q.data_ptr<float>(),
                 .k = k.data_ptr<float>(),
                 .v = v.data_ptr<float>(),
                 .q_inverse = q_inverse.data_ptr<float>(),
                 .k_inverse = k_inverse.data_ptr<float>()},
                kernel_threads());
    saved.insert(saved.end(), {blended, inverse, q, k, q_inverse, k_inverse});
    context->save_for_backward(saved);
    context->saved_data["holder"] = c10::IValue::make_capsule(holder);
    return {blended, q, k, v};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto holder = c10::static_intrusive_pointer_cast<QkvHolder>(context->saved_data["holder"].toCapsule());
    const QkvShape shape = shape_of(saved, holder->options);
    const OpTimer timer("qkv", 2.0 * qkv_flops(shape));
    for (at::Tensor& gradient : gradients)
      if (gradient.defined()) gradient = gradient.contiguous();
    const QkvInputs in = inputs_of(saved, *holder);
    BlendBackward blend(saved);
    at::Tensor wq = at::empty_like(saved[kWq]), wk = empty_like_if(saved[kWk]), wv = empty_like_if(saved[kWv]),
               embedding = empty_like_if(saved[kValueEmbedding]);
    const auto [wq_out, wk_out, wv_out] = thirds(wq.data_ptr<float>(), data_if(wk), data_if(wv), shape);
    double value_weight = 0.0, embedding_weight = 0.0;
    qkv_backward(shape, in, activations_of(saved),
                 {.dx = data(gradients[0]),
                  .dq = data(gradients[1]),
                  .dk = data(gradients[2]),
                  .dv = data(gradients[3]),
                  .blend = blend.pointers(),
                  .wq = wq_out,
                  .wk = wk_out,
                  .wv = wv_out,
                  .value_embedding = data_if(embedding),
                  .value_weight = &value_weight,
                  .embedding_weight = &embedding_weight},
                 kernel_threads());
    variable_list result = blend.tensors(saved, holder->skip_index);
    result.insert(result.end(),
                  {wq, wk, wv, at::Tensor(), at::Tensor(), embedding,
                   lambdas_gradient(saved[kValueLambdas], holder->options.value_blend, value_weight, embedding_weight),
                   at::Tensor()});
    return result;
  }

 private:
  /// The kernel only reads the forward pass's results.
  static QkvActivations activations_of(const variable_list& saved) {
    const auto at = [&](int slot) { return const_cast<float*>(data(saved[static_cast<std::size_t>(slot)])); };
    return {.x = at(kBlended),
            .inverse = at(kInverse),
            .q = at(kQ),
            .k = at(kK),
            .q_inverse = at(kQInverse),
            .k_inverse = at(kKInverse)};
  }

  static at::Tensor lambdas_gradient(const at::Tensor& lambdas, ValueBlend form, double value, double embedding) {
    if (lambdas.numel() == 0 || form == ValueBlend::kNone) return at::Tensor();
    at::Tensor gradient = at::zeros_like(lambdas);
    float* out = gradient.data_ptr<float>();
    if (form == ValueBlend::kPair) {
      out[0] = static_cast<float>(value);
      out[1] = static_cast<float>(embedding);
    } else {
      out[0] = static_cast<float>(embedding - value);
    }
    return gradient;
  }
};

MlpShape mlp_shape(const at::Tensor& x, const at::Tensor& y, const at::Tensor& w1) {
  return {.length = x.size(0), .model_dim = x.size(1), .attention_width = y.numel() / x.size(0), .hidden = w1.size(0)};
}

double mlp_flops(const MlpShape& shape) {
  return 2.0 * static_cast<double>(shape.length * shape.model_dim) *
         static_cast<double>(shape.attention_width + 2 * shape.hidden);
}

struct Mlp : torch::autograd::Function<Mlp> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& y, const at::Tensor& wo,
                            const at::Tensor& w1, const at::Tensor& w2, double branch_scale, double norm_eps) {
    const MlpShape shape = mlp_shape(x, y, w1);
    const OpTimer timer("mlp", mlp_flops(shape));
    const MlpInputs in = inputs_of(x, y, wo, w1, w2, branch_scale, norm_eps);
    at::Tensor middle = y.numel() > 0 ? at::empty_like(x) : x, inverse = at::empty({x.size(0)}, x.options()),
               relu = at::empty({x.size(0), w1.size(0)}, x.options()), out = at::empty_like(x);
    mlp_forward(shape, in,
                {.middle = y.numel() > 0 ? middle.data_ptr<float>() : nullptr,
                 .inverse = inverse.data_ptr<float>(),
                 .relu = relu.data_ptr<float>(),
                 .out = out.data_ptr<float>()},
                kernel_threads());
    context->save_for_backward({middle, y, wo, w1, w2, inverse, relu});
    context->saved_data["branch_scale"] = branch_scale;
    context->saved_data["norm_eps"] = norm_eps;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &middle = saved[0], &y = saved[1], &wo = saved[2], &w1 = saved[3], &w2 = saved[4];
    const MlpShape shape = mlp_shape(middle, y, w1);
    const OpTimer timer("mlp", 2.0 * mlp_flops(shape));
    const MlpInputs in = inputs_of(middle, y, wo, w1, w2, context->saved_data["branch_scale"].toDouble(),
                                   context->saved_data["norm_eps"].toDouble());
    const at::Tensor dout = gradients[0].contiguous();
    at::Tensor dx = at::empty_like(middle), dy = empty_like_if(y), dwo = empty_like_if(wo), dw1 = at::empty_like(w1),
               dw2 = at::empty_like(w2);
    if (!dy.defined()) dwo = at::Tensor();
    mlp_backward(shape, in,
                 {.middle = const_cast<float*>(data(middle)),
                  .inverse = const_cast<float*>(data(saved[5])),
                  .relu = const_cast<float*>(data(saved[6])),
                  .out = nullptr},
                 {.dout = data(dout),
                  .x = dx.data_ptr<float>(),
                  .y = data_if(dy),
                  .wo = data_if(dwo),
                  .w1 = dw1.data_ptr<float>(),
                  .w2 = dw2.data_ptr<float>()},
                 kernel_threads());
    return {dx, dy, dwo, dw1, dw2, at::Tensor(), at::Tensor()};
  }

 private:
  static MlpInputs inputs_of(const at::Tensor& x, const at::Tensor& y, const at::Tensor& wo, const at::Tensor& w1,
                             const at::Tensor& w2, double branch_scale, double norm_eps) {
    return {.x = data(x),
            .y = data(y),
            .wo = data(wo),
            .branch_scale = static_cast<float>(branch_scale),
            .norm_eps = static_cast<float>(norm_eps),
            .w1 = data(w1),
            .w2 = data(w2)};
  }
};

/// c = op(a) op(b) on the kernels' threads, for contiguous matrices.
void multiply(const at::Tensor& a, bool transposes_a, const at::Tensor& b, bool transposes_b, at::Tensor& c) {
  multiply_matrices({.rows = c.size(0),
                     .columns = c.size(1),
                     .inner = a.size(transposes_a ? 0 : 1),
                     .a = data(a),
                     .a_row = a.size(1),
                     .transposes_a = transposes_a,
                     .b = data(b),
                     .b_row = b.size(1),
                     .transposes_b = transposes_b,
                     .c = c.data_ptr<float>(),
                     .c_row = c.size(1)},
                    kernel_threads());
}

struct Output : torch::autograd::Function<Output> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& y, const at::Tensor& wo,
                            double branch_scale) {
    const OpTimer timer("output", 2.0 * static_cast<double>(y.numel() * wo.size(0)));
    context->save_for_backward({y, wo});
    context->saved_data["branch_scale"] = branch_scale;
    at::Tensor out = at::empty_like(x);
    multiply(y, false, wo, true, out);
    return out.mul_(branch_scale).add_(x);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &y = saved[0], &wo = saved[1];
    const OpTimer timer("output", 4.0 * static_cast<double>(y.numel() * wo.size(0)));
    const double branch_scale = context->saved_data["branch_scale"].toDouble();
    const at::Tensor dx = gradients[0].contiguous();
    at::Tensor dy = at::empty_like(y), dwo = at::empty_like(wo);
    multiply(dx, false, wo, false, dy);
    multiply(dx, true, y, false, dwo);
    if (branch_scale != 1.0) dy.mul_(branch_scale), dwo.mul_(branch_scale);
    return {dx, dy, dwo, at::Tensor()};
  }
};

}  // namespace

at::Tensor fused_blend(const BlendInputs& inputs) {
  if (takes_device_kernels(inputs.x)) return device_blend(inputs);
  const variable_list slots = blend_slots(inputs);
  return Blend::apply(slots[kBlendX], slots[kBlendSkip], slots[kBlendSkipWeights], slots[kBlendX0],
                      slots[kBlendLambdas], inputs.skip_index);
}

QkvOutput fused_qkv(const BlendInputs& blend, const at::Tensor& wq, const at::Tensor& wk, const at::Tensor& wv,
                    const RotaryTables& tables, const at::Tensor& value_embedding, const at::Tensor& value_lambdas,
                    const QkvOptions& options) {
  const at::Tensor& x = blend.x;
  if (takes_device_kernels(x)) return device_qkv(blend, wq, wk, wv, tables, value_embedding, value_lambdas, options);
  TORCH_CHECK(x.scalar_type() == at::kFloat && x.size(1) % 16 == 0 && options.head_dim % 16 == 0,
              "fused_qkv: x must be float32, widths multiples of 16; got ", x.sizes(), ", heads of ", options.head_dim);
  TORCH_CHECK(!value_embedding.defined() || value_embedding.numel() == x.size(0) * options.kv_heads * options.head_dim,
              "fused_qkv: value_embedding ", value_embedding.sizes(), " does not fit ", options.kv_heads, " heads");
  const variable_list slots = blend_slots(blend);
  const auto holder = c10::make_intrusive<QkvHolder>(options, blend.skip_index);
  const at::Tensor embedding = value_embedding.defined() ? value_embedding.contiguous() : at::Tensor();
  const variable_list out =
      Qkv::apply(slots[kBlendX], slots[kBlendSkip], slots[kBlendSkipWeights], slots[kBlendX0], slots[kBlendLambdas], wq,
                 present(wk, x), present(wv, x), present(tables.cos, x), present(tables.sin, x), present(embedding, x),
                 present(value_lambdas, x), holder);
  return {out[0], out[1], out[2], out[3]};
}

at::Tensor fused_output(const at::Tensor& x, const at::Tensor& y, const at::Tensor& wo, double branch_scale) {
  const at::Tensor rows = y.reshape({x.size(0), -1}).contiguous();
  if (takes_device_kernels(x)) return at::add(x, at::linear(rows, wo.to(x.scalar_type())), branch_scale);
  return Output::apply(x.contiguous(), rows, wo.contiguous(), branch_scale);
}

at::Tensor fused_mlp(const at::Tensor& x, const at::Tensor& y, const at::Tensor& wo, const at::Tensor& w1,
                     const at::Tensor& w2, double branch_scale, double norm_eps) {
  if (takes_device_kernels(x)) return device_mlp(x, y, wo, w1, w2, branch_scale, norm_eps);
  TORCH_CHECK(x.scalar_type() == at::kFloat && x.size(1) % 16 == 0 && w1.size(0) % 16 == 0,
              "fused_mlp: x must be float32, widths multiples of 16; got ", x.sizes(), " and ", w1.sizes());
  return Mlp::apply(x.contiguous(), y.defined() ? y.contiguous() : present(y, x), present(wo, x), w1, w2, branch_scale,
                    norm_eps);
}

}  // namespace nanobench::core
