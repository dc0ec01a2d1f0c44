/// The language-model head: matrix product, logit softcap and cross-entropy in one. Stateless, thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "core/config/train_config.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// How logits are capped before the softmax: c tanh(x / c), or 2 c sigmoid(2 x / c) (the same plus c); nullopt: no cap.
struct Softcap {
  std::optional<double> cap;
  SoftcapForm form = SoftcapForm::kTanh;
};

/// Capped logits; [rows, V], dtype of `logits`. Not differentiable: for inspecting logits.
at::Tensor softcap_logits(const at::Tensor& logits, const Softcap& softcap);

/// What is rounded to bfloat16 in a loss of that type (#37 on).
enum class LossRounding {
  kNone,
  kCap,      ///< the logits, and each step of the cap: validation
  kAll,      ///< the log-softmax too, and each step of the backward pass: training
  kSigmoid,  ///< of a cap with a shift (logit_cap) the sigmoid, from which loss and gradient are taken: training (#79)
};

/// Softcap of the head, and rounding between the product and the loss.
struct HeadOptions {
  Softcap softcap;
  bool rounds_logits = false;  ///< rounds logits and their gradient to bfloat16: the storage of a bfloat16 product
  bool rounds_capped = false;  ///< rounds the capped logits and their gradient too: a bfloat16 cap (#9 to #18)
  double logit_scale = 1.0;    ///< factor on the logits before the cap
  LossRounding loss_rounding = LossRounding::kNone;  ///< kCap, kAll: for the sigmoid form of the softcap
  bool is_sum = false;  ///< gradients are rounded as those of the sum over the tokens, and divided by T afterwards
  /// Scales for rounding x and weight to e4m3, and the gradients of their products to e5m2 (#19 on); nullopt: no
  /// rounding.
  std::optional<Fp8Config> fp8;
  LogitCapConfig logit_cap;  ///< in place of softcap where it has a scale
  /// Weights of the targets of a token: the next token, the one after it, and so on. Those beyond the end of the
  /// sequence are missing.
  std::vector<double> target_weights = {1.0};
  bool counts_all_weights = false;  ///< TargetNormalizer::kAll; a prefix counts where there is one
  /// Weight of another target, row y of `prefixes` [V] int64, with y the next token; none where that is negative.
  double prefix_weight = 0.0;
  at::Tensor prefixes;

  /// Whether the loss is one of records #53 on.
  bool is_late() const { return logit_cap.scale || target_weights != std::vector<double>{1.0} || prefix_weight != 0.0; }
};

/// Mean cross-entropy of softcap(x weight^T) over the tokens, in nats; with several targets the weighted sum of theirs.
///   x        [T, C]  float32 or float64; bfloat16 values if options.rounds_logits and not options.fp8
///   weight   [V, C]  likewise; padding rows take part in the softmax
///   targets  [T]     int64, each below V
///   returns  scalar; differentiable in x and weight, as if they were not rounded to 8 bits
/// Rows are processed in chunks, and gradients, if needed, are computed in the same pass, so that T x V logits never
/// exist in full.
at::Tensor softcapped_cross_entropy(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                                    const HeadOptions& options);

/// The cross-entropy of each token with its next one alone, in nats: further targets and prefixes do not take part.
/// Where there are none, the mean is softcapped_cross_entropy() but for rounding.
///   returns  [T], dtype of x; not differentiable
at::Tensor token_cross_entropies(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                                 const HeadOptions& options);

/// Sum of the rows' cross-entropies, multiplied by `factor`, and the gradient of the same with respect to the logits
/// before the cap; with options.is_sum the gradient is that of the sum itself.
///   logits   [rows, V] overwritten with the gradient
///   targets  [rows] int64
///   returns  the sum as a double-precision scalar tensor; it is accumulated in the dtype of `logits`
at::Tensor cross_entropy_rows_(at::Tensor& logits, const at::Tensor& targets, const HeadOptions& options, double factor,
                               bool needs_gradient);

}  // namespace nanobench::core
