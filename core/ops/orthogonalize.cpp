#include "core/ops/orthogonalize.h"

#include <tuple>

namespace nanobench::core {
namespace {

constexpr double kA = 3.4445;
constexpr double kB = -4.7750;
constexpr double kC = 2.0315;

at::Tensor round_to_bfloat16(const at::Tensor& x) {
  return x.to(at::kBFloat16).to(x.scalar_type());
}

/// x [n, short, long], norm already taken out.
at::Tensor iterate(at::Tensor x, std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) {
    const at::Tensor gram = at::bmm(x, x.transpose(1, 2));
    const at::Tensor polynomial = at::baddbmm(gram, gram, gram, kB, kC);
    x = at::baddbmm(x, polynomial, x, kA, 1.0);
  }
  return x;
}

at::Tensor iterate_rounded(at::Tensor x, std::int64_t steps) {
  const auto rounded = [](const at::Tensor& value) { return round_to_bfloat16(value); };
  for (std::int64_t i = 0; i < steps; ++i) {
    const at::Tensor gram = rounded(at::bmm(x, x.transpose(1, 2)));
    const at::Tensor polynomial = rounded(rounded(gram * kB) + rounded(at::bmm(rounded(gram * kC), gram)));
    x = rounded(rounded(x * kA) + rounded(at::bmm(polynomial, x)));
  }
  return x;
}

}  // namespace

at::Tensor newton_schulz(const at::Tensor& g, std::int64_t steps, double eps, NewtonSchulzDtype dtype) {
  TORCH_CHECK(g.dim() >= 2, "newton_schulz: expected matrices, got ", g.sizes());
  const bool is_tall = g.size(-2) > g.size(-1);
  const bool is_rounded = dtype == NewtonSchulzDtype::kBfloat16;
  at::Tensor x = g.reshape({-1, g.size(-2), g.size(-1)});
  if (is_rounded) x = round_to_bfloat16(x);
  if (is_tall) x = x.transpose(1, 2);
  x = x.contiguous();
  at::Tensor norm = at::linalg_vector_norm(x, 2, at::IntArrayRef{1, 2}, /*keepdim=*/true);
  if (is_rounded) norm = round_to_bfloat16(norm);
  norm = norm + eps;
  if (is_rounded) norm = round_to_bfloat16(norm);
  x = x / norm;
  x = is_rounded ? iterate_rounded(round_to_bfloat16(x), steps) : iterate(x, steps);
  if (is_tall) x = x.transpose(1, 2);
  return x.reshape(g.sizes());
}

at::Tensor svd_orthogonalize(const at::Tensor& g) {
  const auto [u, singular_values, v_transposed] = at::linalg_svd(g, /*full_matrices=*/false);
  return at::matmul(u, v_transposed);
}

}  // namespace nanobench::core
