// The language-model head: product, softcap and cross-entropy, forward and backward.
#include "engine/operations/measured_operation.h"
#include "engine/ops/softcapped_cross_entropy.h"

namespace nanobench::core {
namespace {

constexpr double kWeightScale = 0.02;  // logits of about the size that training has
constexpr double kProducts = 6;        // of T C V: one product forward, two backward, a multiply-add is two

}  // namespace

MeasuredOperation head_operation(const OperationArm& arm, std::uint64_t seed) {
  const std::int64_t length = arm.size("T"), width = arm.size("C"), vocab = arm.size("V");
  Normal normal(seed);
  const at::Tensor x = normal.leaf({length, width});
  const at::Tensor weight = (normal({vocab, width}) * kWeightScale).detach().requires_grad_(true);
  const at::Tensor targets = (at::arange(length, at::kLong) * 7919).remainder(vocab);
  HeadOptions options;
  options.softcap = {.cap = arm.config.model.logit_softcap, .form = arm.config.model.logit_softcap_form};
  const auto call = [=] {
    const at::Tensor loss = softcapped_cross_entropy(x, weight, targets, options);
    loss.backward();
    std::vector<at::Tensor> kept{loss.detach(), x.grad(), weight.grad()};
    x.mutable_grad().reset();
    weight.mutable_grad().reset();
    return kept;
  };
  return {.call = call,
          .flops = kProducts * static_cast<double>(length) * static_cast<double>(width) * static_cast<double>(vocab),
          .error =
              [=] {
                const at::NoGradGuard no_grad;
                return relative_distance(
                    softcapped_cross_entropy(x, weight, targets, options),
                    softcapped_cross_entropy(x.to(at::kDouble), weight.to(at::kDouble), targets, options));
              },
          .distance_to_polar = {}};
}

}  // namespace nanobench::core
