#include "engine/ops/device_head.h"

#include <algorithm>
#include <memory>

#include "core/base/op_timer.h"
#include "core/config/kernel_coverage.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using kernel_units::kFloat8;

/// a b, summed and kept in float32. LibTorch's CPU has no such product of bfloat16 matrices.
at::Tensor float_product(const at::Tensor& a, const at::Tensor& b) {
  return a.is_cpu() ? at::mm(a.to(at::kFloat), b.to(at::kFloat)) : at::mm(a, b, at::kFloat);
}

/// One chunk of rows: logits, then the results of their gradient.
class Products {
 public:
  virtual ~Products() = default;
  /// [rows, V] bfloat16.
  virtual at::Tensor logits(const at::Tensor& x_rows) = 0;
  /// Losses of the rows, and dx of them and dweight [V, C] from the logits' gradient; dx undefined: losses only.
  virtual void losses_and_gradients(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& losses,
                                    const at::Tensor& dx_rows) = 0;
  /// Sum over the chunks; float32.
  const at::Tensor& dweight() const { return dweight_; }

 protected:
  void add(const at::Tensor& part) {
    if (dweight_.defined()) {
      dweight_.add_(part);
    } else {
      dweight_ = part;
    }
  }

 private:
  at::Tensor dweight_;
};

cuda::CrossEntropyRounding rounding_of(LossRounding rounding) {
  switch (rounding) {
    case LossRounding::kNone: break;
    case LossRounding::kCap: return cuda::CrossEntropyRounding::kCap;
    case LossRounding::kAll: return cuda::CrossEntropyRounding::kAll;
  }
  return cuda::CrossEntropyRounding::kNone;
}

cuda::CrossEntropyOptions loss_options(const DeviceHeadOptions& options, std::int64_t tokens) {
  return {.logit_scale = static_cast<float>(options.logit_scale),
          .cap = static_cast<float>(options.softcap.cap.value_or(0.0)),
          .is_sigmoid = options.softcap.form == SoftcapForm::kSigmoid,
          .rounds_logits = true,
          .rounds_capped = options.rounds_capped,
          .rounding = rounding_of(options.loss_rounding),
          .factor = options.is_sum ? 1.0f : static_cast<float>(1.0 / static_cast<double>(tokens)),
          .e5m2_scale = static_cast<float>(options.fp8 ? options.fp8->grad_scale : 1.0)};
}

cuda::LogitsShape logits_shape(const at::Tensor& logits) {
  const std::int64_t vocabulary = logits.size(1);
  return {.rows = logits.size(0), .vocabulary = vocabulary, .logits_stride = vocabulary, .gradient_stride = vocabulary};
}

class Bfloat16Products final : public Products {
 public:
  Bfloat16Products(const at::Tensor& weight, const cuda::CrossEntropyOptions& options)
      : weight_(as_bfloat16(weight)), options_(options) {}

  at::Tensor logits(const at::Tensor& x_rows) override {
    x_ = x_rows;
    return at::mm(x_rows, weight_.t());
  }
  void losses_and_gradients(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& losses,
                            const at::Tensor& dx_rows) override {
    const CudaKernels& kernels = *cuda_kernels();
    kernels.cross_entropy_rows_bf16(logits_shape(logits), bf16_data(logits), targets.const_data_ptr<std::int64_t>(),
                                    options_, float_data(losses), dx_rows.defined() ? bf16_data(logits) : nullptr,
                                    kernels.stream());
    if (!dx_rows.defined()) return;
    at::Tensor dx = dx_rows;
    at::mm_out(dx, logits, weight_);
    add(float_product(logits.t(), x_));
  }

 private:
  at::Tensor weight_;
  cuda::CrossEntropyOptions options_;
  at::Tensor x_;
};

/// A matrix in 8 bits, and its transpose: products need the summed index contiguous.
struct Float8Pair {
  at::Tensor by_rows, by_columns;

  Float8Pair(at::IntArrayRef shape, const at::TensorOptions& options)
      : by_rows(at::empty(shape, options)), by_columns(at::empty({shape[1], shape[0]}, options)) {}
};

template <class Number>
cuda::MatrixView<Number> view(const at::Tensor& x) {
  return {reinterpret_cast<Number*>(x.data_ptr()), x.size(1)};
}

Float8Pair quantized_e4m3_pair(const at::Tensor& x, double scale) {
  Float8Pair pair(x.sizes(), x.options().dtype(at::kFloat8_e4m3fn));
  const auto by_rows = view<cuda::fp8_e4m3>(pair.by_rows), by_columns = view<cuda::fp8_e4m3>(pair.by_columns);
  const CudaKernels& kernels = *cuda_kernels();
  const std::int64_t rows = x.size(0), columns = x.size(1);
  const auto factor = static_cast<float>(scale);
  if (x.scalar_type() == at::kBFloat16) {
    kernels.quantize_e4m3_bf16(rows, columns, view<const cuda::bf16>(x), factor, by_rows, by_columns, kernels.stream());
  } else {
    kernels.quantize_e4m3_float(rows, columns, view<const float>(x), factor, by_rows, by_columns, kernels.stream());
  }
  return pair;
}

class Float8Products final : public Products {
 public:
  Float8Products(const at::Tensor& weight, const Fp8Config& scales, const cuda::CrossEntropyOptions& options)
      : weight_(quantized_e4m3_pair(weight.contiguous(), scales.weight_scale)), scales_(scales), options_(options) {}

  at::Tensor logits(const at::Tensor& x_rows) override {
    x_.emplace(quantized_e4m3_pair(x_rows, scales_.x_scale));
    return product(x_->by_rows, weight_.by_rows, scales_.x_scale, scales_.weight_scale, at::kBFloat16, /*fast=*/true);
  }
  void losses_and_gradients(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& losses,
                            const at::Tensor& dx_rows) override {
    const CudaKernels& kernels = *cuda_kernels();
    if (!dx_rows.defined()) {
      kernels.cross_entropy_rows_bf16(logits_shape(logits), bf16_data(logits), targets.const_data_ptr<std::int64_t>(),
                                      options_, float_data(losses), nullptr, kernels.stream());
      return;
    }
    Float8Pair gradient(logits.sizes(), logits.options().dtype(at::kFloat8_e5m2));
    const auto by_rows = view<cuda::fp8_e5m2>(gradient.by_rows), by_columns = view<cuda::fp8_e5m2>(gradient.by_columns);
    kernels.cross_entropy_rows_bf16_e5m2(logits_shape(logits), bf16_data(logits),
                                         targets.const_data_ptr<std::int64_t>(), options_, float_data(losses),
                                         by_rows.data, kernels.stream());
    kernels.transpose_e5m2(logits.size(0), logits.size(1), {by_rows.data, by_rows.stride}, by_columns,
                           kernels.stream());
    dx_rows.copy_(product(gradient.by_rows, weight_.by_columns, scales_.grad_scale, scales_.weight_scale, at::kBFloat16,
                          /*fast=*/false));
    add(product(gradient.by_columns, x_->by_columns, scales_.grad_scale, scales_.x_scale, at::kFloat, /*fast=*/false));
  }

 private:
  /// a b^T over both scales. `fast`: the tensor cores' sums are not periodically accumulated in float32.
  static at::Tensor product(const at::Tensor& a, const at::Tensor& b, double a_scale, double b_scale,
                            at::ScalarType type, bool fast) {
    const auto inverse = [&](double scale) { return at::full({}, 1.0 / scale, a.options().dtype(at::kFloat)); };
    return at::_scaled_mm(a, b.t(), inverse(a_scale), inverse(b_scale), /*bias=*/{}, /*scale_result=*/{}, type, fast);
  }

  Float8Pair weight_;
  Fp8Config scales_;
  cuda::CrossEntropyOptions options_;
  std::optional<Float8Pair> x_;
};

std::unique_ptr<Products> make_products(const at::Tensor& weight, const DeviceHeadOptions& options,
                                        std::int64_t tokens) {
  const cuda::CrossEntropyOptions loss = loss_options(options, tokens);
  if (options.fp8) return std::make_unique<Float8Products>(weight, *options.fp8, loss);
  return std::make_unique<Bfloat16Products>(weight, loss);
}

/// Rows of a chunk: a multiple of the granularity of 8-bit products.
std::int64_t chunk_rows(const at::Tensor& weight, const DeviceHeadOptions& options) {
  const std::int64_t rows = options.chunk_numbers / weight.size(0);
  return std::max(rows / kFloat8 * kFloat8, kFloat8);
}

/// Fills `losses`, and `dx` if it is defined, chunk by chunk.
void add_chunks(Products& products, const at::Tensor& x, const at::Tensor& targets, const at::Tensor& losses,
                const at::Tensor& dx, std::int64_t chunk) {
  const std::int64_t tokens = x.size(0);
  for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
    const std::int64_t rows = std::min(chunk, tokens - begin);
    const at::Tensor logits = products.logits(x.narrow(0, begin, rows));
    products.losses_and_gradients(logits, targets.narrow(0, begin, rows), losses.narrow(0, begin, rows),
                                  dx.defined() ? dx.narrow(0, begin, rows) : dx);
  }
}

/// The mean of the rows' losses.
at::Tensor mean_of(const at::Tensor& losses) {
  const at::Tensor loss = at::empty({}, losses.options());
  const std::int64_t tokens = losses.numel();
  const CudaKernels& kernels = *cuda_kernels();
  kernels.sum_partials(1, tokens, float_data(losses), static_cast<float>(1.0 / static_cast<double>(tokens)),
                       /*adds=*/false, float_data(loss), kernels.stream());
  return loss;
}

struct DeviceHead : torch::autograd::Function<DeviceHead> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& targets, const DeviceHeadOptions& options, bool needs_gradient) {
    const std::int64_t tokens = x.size(0), chunk = chunk_rows(weight, options);
    const OpTimer timer("head", (needs_gradient ? 6.0 : 2.0) * static_cast<double>(x.numel() * weight.size(0)));
    const at::Tensor losses = at::empty({tokens}, x.options().dtype(at::kFloat));
    const at::Tensor dx = needs_gradient ? at::empty_like(x) : at::Tensor();
    const std::unique_ptr<Products> products = make_products(weight, options, tokens);
    add_chunks(*products, x, targets, losses, dx, chunk);
    context->save_for_backward({dx, products->dweight()});
    context->saved_data["share"] = options.is_sum ? 1.0 / static_cast<double>(tokens) : 1.0;
    context->saved_data["rounds_dweight"] = !options.fp8.has_value();
    return mean_of(losses);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("head");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor factor = gradients[0] * context->saved_data["share"].toDouble();
    at::Tensor dweight = saved[1] * factor;
    if (context->saved_data["rounds_dweight"].toBool()) dweight = dweight.to(at::kBFloat16).to(at::kFloat);
    return {saved[0] * factor, dweight, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool fits_float8_head(const at::Tensor& x, const at::Tensor& weight) {
  const CudaKernels* const kernels = cuda_kernels();
  return kernels != nullptr && kernels->has_float8_products && x.size(0) % kFloat8 == 0 && x.size(1) % kFloat8 == 0 &&
         weight.size(0) % kFloat8 == 0;
}

at::Tensor device_softcapped_cross_entropy(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                                           const DeviceHeadOptions& options) {
  const bool needs_gradient = at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad());
  return DeviceHead::apply(x.contiguous(), weight, targets.contiguous(), options, needs_gradient);
}

at::Tensor device_token_cross_entropies(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                                        const DeviceHeadOptions& options) {
  const at::NoGradGuard no_grad;
  const at::Tensor rows = x.contiguous();
  const at::Tensor losses = at::empty({rows.size(0)}, rows.options().dtype(at::kFloat));
  const OpTimer timer("head", 2.0 * static_cast<double>(rows.numel() * weight.size(0)));
  add_chunks(*make_products(weight, options, rows.size(0)), rows, targets.contiguous(), losses, {},
             chunk_rows(weight, options));
  return losses;
}

}  // namespace nanobench::core
