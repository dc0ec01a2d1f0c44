#include "engine/optim/gradient_clip.h"

#include "core/base/op_timer.h"

namespace nanobench::core {
namespace {

constexpr double kSmall = 1e-6;  // keeps a zero gradient from dividing by zero

/// A scalar on the gradient's device: nobody waits for its value here.
at::Tensor norm_of(const at::Tensor& gradient) {
  return at::linalg_vector_norm(gradient, 2, at::OptionalIntArrayRef(), /*keepdim=*/false).to(at::kDouble);
}

}  // namespace

void clip_gradients(const Parameters& parameters, const GradientClipConfig& config) {
  if (config.type == GradientClipType::kNone) return;
  const OpTimer timer("gradient_clip");
  const at::NoGradGuard no_grad;
  at::Tensor squares;
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor& gradient = parameter.tensor.grad();
    if (!gradient.defined()) continue;
    const at::Tensor norm = norm_of(gradient);
    squares = squares.defined() ? squares + norm * norm : norm * norm;
    if (config.type == GradientClipType::kPerParameter)
      gradient.mul_((norm + kSmall).reciprocal().to(gradient.scalar_type()));
  }
  if (config.type != GradientClipType::kGlobalNorm || !squares.defined()) return;
  const at::Tensor factor = (config.max_norm / (squares.sqrt() + kSmall)).clamp_max(1.0);
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor& gradient = parameter.tensor.grad();
    if (gradient.defined()) gradient.mul_(factor.to(gradient.scalar_type()));
  }
}

}  // namespace nanobench::core
