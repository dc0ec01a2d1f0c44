#include "engine/ops/softcapped_cross_entropy.h"

#include <algorithm>

#include "core/base/op_timer.h"
#include "engine/kernels/head_kernel.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Rows of a chunk of logits with several targets each: token begin + i has the targets begin + i, begin + i + 1, ...
/// Like cross_entropy_rows_, with `targets` of the whole sequence.
at::Tensor late_cross_entropy_rows_(at::Tensor& logits, const at::Tensor& targets, std::int64_t begin,
                                    const HeadOptions& options, double factor, bool needs_gradient);

/// Logits held at once. On a CPU, rows that fit in caches: 16 MiB of float32. A GPU has more memory, and launching an
/// operation of that size takes longer than running it: 256 MiB.
constexpr std::int64_t kChunkElements = std::int64_t{1} << 22;
constexpr std::int64_t kDeviceChunkElements = std::int64_t{1} << 26;

/// Rows of logits held at once.
std::int64_t chunk_rows(const at::Tensor& x, const at::Tensor& weight) {
  return std::max<std::int64_t>(1, (x.is_cpu() ? kChunkElements : kDeviceChunkElements) / weight.size(0));
}

/// The three products of the head. In 8-bit precision the operands are whole numbers of 1 / scale, so that tensor cores
/// for bfloat16 multiply them exactly.
class HeadProducts {
 public:
  HeadProducts(const at::Tensor& weight, const HeadOptions& options)
      : fp8_(options.fp8),
        are_bfloat16_(options.rounds_logits || options.fp8.has_value()),
        weight_(fp8_ ? in_e4m3(weight, fp8_->weight_scale) : weight) {}

  /// [rows, V] from x [rows, C], for which gradients may follow.
  at::Tensor logits(const at::Tensor& x_rows) {
    x_ = fp8_ ? in_e4m3(x_rows, fp8_->x_scale) : x_rows;
    at::Tensor logits = product(x_, weight_.t());
    return fp8_ ? logits.mul_(1.0 / (fp8_->x_scale * fp8_->weight_scale)) : logits;
  }

  /// Writes dx [rows, C] and adds to dweight [V, C], from the gradient of the last logits.
  void add_gradients(const at::Tensor& gradient, at::Tensor dx_rows, const at::Tensor& dweight) const {
    if (!are_bfloat16_) {
      at::mm_out(dx_rows, gradient, weight_);
      dweight.addmm_(gradient.t(), x_);
      return;
    }
    const at::Tensor factor = fp8_ ? in_e5m2(gradient, fp8_->grad_scale) : gradient;
    const double scale = fp8_ ? 1.0 / fp8_->grad_scale : 1.0;
    at::Tensor dx = product(factor, weight_);
    dx_rows.copy_(fp8_ ? dx.mul_(scale / fp8_->weight_scale) : dx);
    dweight.add_(product(factor.t(), x_), fp8_ ? scale / fp8_->x_scale : 1.0);
  }

 private:
  at::Tensor product(const at::Tensor& a, const at::Tensor& b) const {
    return are_bfloat16_ ? product_of_bfloat16(a, b) : at::mm(a, b);
  }

  std::optional<Fp8Config> fp8_;
  bool are_bfloat16_;
  at::Tensor weight_, x_;
};

struct SoftcappedCrossEntropy : torch::autograd::Function<SoftcappedCrossEntropy> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& targets, const HeadOptions& options, bool needs_gradient) {
    const OpTimer timer("head");
    const std::int64_t tokens = x.size(0);
    const std::int64_t chunk = chunk_rows(x, weight);
    const double factor = 1.0 / static_cast<double>(tokens);
    at::Tensor loss = at::zeros({}, x.options().dtype(at::kDouble));
    at::Tensor dx = needs_gradient ? at::empty_like(x) : at::Tensor();
    at::Tensor dweight = needs_gradient ? at::zeros_like(weight) : at::Tensor();
    const bool divides = needs_gradient && options.is_sum;
    HeadProducts products(weight, options);
    for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
      const std::int64_t rows = std::min(chunk, tokens - begin);
      at::Tensor logits = products.logits(x.narrow(0, begin, rows));
      loss.add_(options.is_late()
                    ? late_cross_entropy_rows_(logits, targets, begin, options, factor, needs_gradient)
                    : cross_entropy_rows_(logits, targets.narrow(0, begin, rows), options, factor, needs_gradient));
      if (needs_gradient) products.add_gradients(logits, dx.narrow(0, begin, rows), dweight);
    }
    if (divides) dx.mul_(factor), dweight.mul_(factor);
    context->save_for_backward({dx, dweight});
    return loss.to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("head");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& dloss = gradients[0];
    return {saved[0] * dloss, saved[1] * dloss, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

/// The fused kernel; what is not wanted of its outputs is undefined.
double kernel_head(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets, const Softcap& softcap,
                   const at::Tensor& dx, const at::Tensor& dweight, const at::Tensor& losses) {
  const HeadShape shape{.length = x.size(0), .model_dim = x.size(1), .vocabulary = weight.size(0)};
  const double products = dx.defined() ? 6.0 : 2.0;
  const OpTimer timer("head", products * static_cast<double>(shape.length * shape.model_dim * shape.vocabulary));
  const auto data = [](const at::Tensor& out) { return out.defined() ? out.mutable_data_ptr<float>() : nullptr; };
  return head_loss(shape,
                   {.x = x.const_data_ptr<float>(),
                    .weight = weight.const_data_ptr<float>(),
                    .targets = targets.const_data_ptr<std::int64_t>(),
                    .cap = static_cast<float>(softcap.cap.value_or(0.0)),
                    .is_sigmoid = softcap.form == SoftcapForm::kSigmoid},
                   {.dx = data(dx), .dweight = data(dweight), .losses = data(losses)}, kernel_threads());
}

/// The head with the fused kernel.
struct KernelHead : torch::autograd::Function<KernelHead> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& targets, const Softcap& softcap, bool needs_gradient) {
    at::Tensor dx = needs_gradient ? at::empty_like(x) : at::Tensor();
    at::Tensor dweight = needs_gradient ? at::empty_like(weight) : at::Tensor();
    const double loss = kernel_head(x, weight, targets, softcap, dx, dweight, {});
    context->save_for_backward({dx, dweight});
    return at::scalar_tensor(loss, x.options());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("head");
    const variable_list saved = context->get_saved_variables();
    const double factor = gradients[0].item<double>();
    const auto scaled = [factor](const at::Tensor& gradient) { return factor == 1.0 ? gradient : gradient * factor; };
    return {scaled(saved[0]), scaled(saved[1]), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

/// What the kernel multiplies, which has no factor of the logits: nothing is rounded, so that it may come first.
at::Tensor scaled_features(const at::Tensor& x, const HeadOptions& options) {
  return (options.logit_scale == 1.0 ? x : x * options.logit_scale).contiguous();
}

bool fits_kernel(const at::Tensor& x, const HeadOptions& options) {
  return may_use_cpu_kernels(x) && x.scalar_type() == at::kFloat && !options.rounds_logits && !options.rounds_capped &&
         options.loss_rounding == LossRounding::kNone && !options.fp8 && !options.is_late();
}

}  // namespace

at::Tensor softcap_logits(const at::Tensor& logits, const Softcap& softcap) {
  if (!softcap.cap) return logits;
  const double shift =
      softcap.form == SoftcapForm::kSigmoid ? *softcap.cap : 0.0;  // 2 c sigmoid(2 x / c) = c tanh(x / c) + c
  return at::tanh(logits / *softcap.cap).mul_(*softcap.cap).add_(shift);
}

namespace {

/// Products of the head as logits: rounded as they are stored, then scaled. Overwrites them.
void scale_products_(at::Tensor& products, const HeadOptions& options) {
  if (options.rounds_logits) round_to_bfloat16_(products);
  if (options.logit_scale != 1.0) products.mul_(options.logit_scale);
}

/// The gradient of the products from that of the logits, rounded as it is stored. Overwrites it.
void to_gradient_of_products_(at::Tensor& gradient, const HeadOptions& options) {
  if (options.logit_scale != 1.0) gradient.mul_(options.logit_scale);
  if (options.rounds_logits) round_to_bfloat16_(gradient);
}

struct CappedLogits {
  at::Tensor values;
  at::Tensor slope;  ///< of the cap; undefined: 1
};

CappedLogits cap_logits(const at::Tensor& logits, const HeadOptions& options) {
  const LogitCapConfig& cap = options.logit_cap;
  if (cap.scale) {
    at::Tensor sigmoid = at::sigmoid((logits + cap.shift).div_(cap.divisor));
    if (options.loss_rounding == LossRounding::kSigmoid) round_to_bfloat16_(sigmoid);
    return {sigmoid * *cap.scale, sigmoid * (1.0 - sigmoid) * (*cap.scale / cap.divisor)};
  }
  if (!options.softcap.cap) return {logits, {}};
  const at::Tensor tanh = at::tanh(logits / *options.softcap.cap);
  const double shift = options.softcap.form == SoftcapForm::kSigmoid ? *options.softcap.cap : 0.0;
  return {tanh * *options.softcap.cap + shift, 1.0 - tanh.square()};
}

at::Tensor late_cross_entropy_rows_(at::Tensor& logits, const at::Tensor& targets, std::int64_t begin,
                                    const HeadOptions& options, double factor, bool needs_gradient) {
  const std::int64_t rows = logits.size(0);
  scale_products_(logits, options);
  const CappedLogits capped = cap_logits(logits, options);
  const at::Tensor log_probabilities = at::_log_softmax(capped.values, -1, /*half_to_float=*/false);
  at::Tensor loss = at::zeros({}, logits.options().dtype(at::kDouble));
  at::Tensor sums = at::zeros({rows, 1}, logits.options());  // of the weights of existing targets
  at::Tensor hits = needs_gradient ? at::zeros_like(logits) : at::Tensor();
  for (std::size_t k = 0; k < options.target_weights.size(); ++k) {
    const std::int64_t first = begin + static_cast<std::int64_t>(k);
    const std::int64_t count = std::min(rows, targets.size(0) - first);
    if (count <= 0) break;
    const double weight = options.target_weights[k];
    const at::Tensor index = targets.narrow(0, first, count).unsqueeze(1);
    loss.sub_(log_probabilities.narrow(0, 0, count).gather(1, index).sum(at::kDouble), weight * factor);
    sums.narrow(0, 0, count).add_(weight);
    if (needs_gradient) hits.narrow(0, 0, count).scatter_add_(1, index, at::full_like(index, weight, hits.options()));
  }
  if (options.counts_all_weights) {
    double all = 0.0;
    for (const double weight : options.target_weights) all += weight;
    sums.fill_(all);
  }
  if (options.prefix_weight != 0.0) {
    const at::Tensor prefix = options.prefixes.index_select(0, targets.narrow(0, begin, rows)).unsqueeze(1);
    const at::Tensor index = prefix.clamp_min(0);
    const at::Tensor weights = prefix.ge(0).to(sums.scalar_type()).mul_(options.prefix_weight);  // [rows, 1]
    loss.sub_((log_probabilities.gather(1, index) * weights).sum(at::kDouble), factor);
    sums.add_(weights);
    if (needs_gradient) hits.scatter_add_(1, index, weights);
  }
  if (!needs_gradient) return loss;
  at::Tensor gradient = at::exp(log_probabilities).mul_(sums).sub_(hits);
  if (!options.is_sum) gradient.mul_(factor);
  if (capped.slope.defined()) gradient.mul_(capped.slope);
  to_gradient_of_products_(gradient, options);
  logits = gradient;
  return loss;
}

/// The forward pass of rows of logits, and what its gradient needs.
struct RowForward {
  at::Tensor log_probabilities;  ///< [rows, V]
  at::Tensor squashed;           ///< tanh or sigmoid of the cap; undefined: no cap
};

/// Every step rounded to bfloat16. Source: record #37 as a sequence of tensor operations.
RowForward rounded_forward(const at::Tensor& logits, const HeadOptions& options) {
  const double cap = *options.softcap.cap;
  at::Tensor scaled = round_to_bfloat16(logits);
  if (options.logit_scale != 1.0) scaled.mul_(options.logit_scale);
  const at::Tensor sigmoid = round_to_bfloat16(at::sigmoid(round_to_bfloat16(scaled.div_(cap / 2))));
  const at::Tensor capped = round_to_bfloat16(sigmoid * (2 * cap));
  at::Tensor log_probabilities = at::_log_softmax(capped, -1, /*half_to_float=*/false);
  if (options.loss_rounding == LossRounding::kAll) round_to_bfloat16_(log_probabilities);
  return {log_probabilities, sigmoid};
}

/// Overwrites `logits`.
RowForward plain_forward_(at::Tensor& logits, const HeadOptions& options) {
  const Softcap& softcap = options.softcap;
  scale_products_(logits, options);
  at::Tensor tanh;  // of logit / cap
  at::Tensor capped = logits;
  if (softcap.cap) {
    tanh = logits.div_(*softcap.cap).tanh_();
    capped = tanh * *softcap.cap;
    if (softcap.form == SoftcapForm::kSigmoid) capped.add_(*softcap.cap);
    if (options.rounds_capped) round_to_bfloat16_(capped);
  }
  return {at::_log_softmax(capped, -1, /*half_to_float=*/false), tanh};
}

/// The same for any loss; overwrites `logits`.
at::Tensor log_probabilities_(at::Tensor& logits, const HeadOptions& options) {
  if (options.is_late()) {
    scale_products_(logits, options);
    return at::_log_softmax(cap_logits(logits, options).values, -1, /*half_to_float=*/false);
  }
  if (options.loss_rounding != LossRounding::kNone) return rounded_forward(logits, options).log_probabilities;
  return plain_forward_(logits, options).log_probabilities;
}

/// cross_entropy_rows_ with every step rounded to bfloat16.
at::Tensor rounded_cross_entropy_rows_(at::Tensor& logits, const at::Tensor& targets, const HeadOptions& options,
                                       double factor, bool needs_gradient) {
  const double cap = *options.softcap.cap;
  const at::Tensor index = targets.unsqueeze(1);
  const auto [log_probabilities, sigmoid] = rounded_forward(logits, options);
  if (needs_gradient) {
    at::Tensor gradient = at::exp(log_probabilities);
    gradient.scatter_add_(1, index, at::full_like(index, -1, gradient.options()));
    round_to_bfloat16_(gradient);
    round_to_bfloat16_(gradient.mul_(2 * cap));
    round_to_bfloat16_(gradient.mul_(1.0 - sigmoid).mul_(sigmoid));
    round_to_bfloat16_(gradient.div_(cap / 2));
    if (!options.is_sum) gradient.mul_(factor);
    to_gradient_of_products_(gradient, options);
    logits = gradient;
  }
  return log_probabilities.gather(1, index).sum(at::kDouble).mul_(-factor);
}

}  // namespace

at::Tensor cross_entropy_rows_(at::Tensor& logits, const at::Tensor& targets, const HeadOptions& options, double factor,
                               bool needs_gradient) {
  if (options.loss_rounding != LossRounding::kNone)
    return rounded_cross_entropy_rows_(logits, targets, options, factor, needs_gradient);
  const auto [log_probabilities, tanh] = plain_forward_(logits, options);
  const at::Tensor index = targets.unsqueeze(1);
  const at::Tensor loss = log_probabilities.gather(1, index).sum(at::kDouble).mul_(-factor);
  if (needs_gradient) {
    at::Tensor gradient = at::exp(log_probabilities);
    gradient.scatter_add_(1, index, at::full_like(index, -1, gradient.options()));
    if (!options.is_sum) gradient.mul_(factor);
    if (tanh.defined()) {
      if (options.rounds_capped) round_to_bfloat16_(gradient);
      gradient.mul_(tanh.square_().neg_().add_(1.0));  // d capped / d logit = 1 - tanh^2, in either form
    }
    to_gradient_of_products_(gradient, options);
    logits = gradient;
  }
  return loss;
}

at::Tensor softcapped_cross_entropy(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                                    const HeadOptions& options) {
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.size(1) == weight.size(1), "softcapped_cross_entropy: x ",
              x.sizes(), " and weight ", weight.sizes(), " do not match");
  const bool needs_gradient = at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad());
  if (fits_kernel(x, options)) {
    return KernelHead::apply(scaled_features(x, options), weight.contiguous(), targets.contiguous(), options.softcap,
                             needs_gradient);
  }
  return SoftcappedCrossEntropy::apply(x, weight, targets, options, needs_gradient);
}

at::Tensor token_cross_entropies(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                                 const HeadOptions& options) {
  const at::NoGradGuard no_grad;
  const std::int64_t tokens = x.size(0), chunk = chunk_rows(x, weight);
  at::Tensor losses = at::empty({tokens}, x.options());
  if (fits_kernel(x, options)) {
    kernel_head(scaled_features(x, options), weight.contiguous(), targets.contiguous(), options.softcap, {}, {},
                losses);
    return losses;
  }
  const OpTimer timer("head");
  HeadProducts products(weight, options);
  for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
    const std::int64_t rows = std::min(chunk, tokens - begin);
    at::Tensor logits = products.logits(x.narrow(0, begin, rows));
    const at::Tensor index = targets.narrow(0, begin, rows).unsqueeze(1);
    losses.narrow(0, begin, rows).copy_(log_probabilities_(logits, options).gather(1, index).squeeze(1).neg_());
  }
  return losses;
}

}  // namespace nanobench::core
