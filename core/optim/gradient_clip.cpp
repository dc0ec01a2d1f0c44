#include "core/optim/gradient_clip.h"

#include <algorithm>
#include <cmath>

#include "core/base/op_timer.h"

namespace nanobench::core {
namespace {

constexpr double kSmall = 1e-6;  // keeps a zero gradient from dividing by zero

double norm_of(const at::Tensor& gradient) {
  return at::linalg_vector_norm(gradient, 2, at::OptionalIntArrayRef(), /*keepdim=*/false).item<double>();
}

}  // namespace

void clip_gradients(const Parameters& parameters, const GradientClipConfig& config) {
  if (config.type == GradientClipType::kNone) return;
  const OpTimer timer("gradient_clip");
  const at::NoGradGuard no_grad;
  double squares = 0.0;
  for (const Parameter& parameter : parameters.all()) {
    if (!parameter.tensor.grad().defined()) continue;
    const double norm = norm_of(parameter.tensor.grad());
    squares += norm * norm;
    if (config.type == GradientClipType::kPerParameter) parameter.tensor.grad().mul_(1.0 / (norm + kSmall));
  }
  if (config.type != GradientClipType::kGlobalNorm) return;
  const double factor = std::min(1.0, config.max_norm / (std::sqrt(squares) + kSmall));
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.tensor.grad().defined()) parameter.tensor.grad().mul_(factor);
  }
}

}  // namespace nanobench::core
