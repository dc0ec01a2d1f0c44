#include "engine/ops/orthogonalize.h"

#include <tuple>

#include "core/base/op_timer.h"
#include "engine/ops/bfloat16.h"

namespace nanobench::core {
namespace {

/// x [n, short, long], already divided by its norm.
at::Tensor iterate(at::Tensor x, const NewtonSchulzOptions& options) {
  for (std::int64_t i = 0; i < options.steps; ++i) {
    const auto& [a, b, c] = quintic_of(options.is_polar_express, i);
    const at::Tensor gram = at::bmm(x, x.transpose(1, 2));
    if (options.form == NewtonSchulzForm::kGrouped) {
      const at::Tensor polynomial = at::baddbmm(gram, gram, gram, b, c);
      x = at::baddbmm(x, polynomial, x, a, 1.0);
    } else {
      const at::Tensor first = at::bmm(gram, x);
      x = at::baddbmm(x * a + first * b, gram, first, 1.0, c);
    }
  }
  return x;
}

at::Tensor rounded(const at::Tensor& x) {
  return round_to_bfloat16(x);
}

/// Product of matrices of rounded values.
at::Tensor rounded_product(const at::Tensor& a, const at::Tensor& b) {
  return fits_bfloat16_kernel(a, b) ? bfloat16_bmm(a, b) : rounded(at::bmm(a, b));
}

at::Tensor iterate_rounded(at::Tensor x, const NewtonSchulzOptions& options) {
  for (std::int64_t i = 0; i < options.steps; ++i) {
    const auto& [a, b, c] = quintic_of(options.is_polar_express, i);
    const at::Tensor gram = rounded_product(x, x.transpose(1, 2));
    if (options.form == NewtonSchulzForm::kGrouped && options.rounding == NewtonSchulzRounding::kFused) {
      const at::Tensor polynomial = rounded(at::baddbmm(gram, gram, gram, b, c));
      x = rounded(at::baddbmm(x, polynomial, x, a, 1.0));
    } else if (options.form == NewtonSchulzForm::kGrouped) {
      const at::Tensor polynomial = rounded(rounded(gram * b) + rounded_product(rounded(gram * c), gram));
      x = rounded(rounded(x * a) + rounded_product(polynomial, x));
    } else {
      const at::Tensor first = rounded_product(gram, x);
      const at::Tensor sum = rounded(rounded(x * a) + rounded(first * b));
      x = rounded(sum + rounded_product(rounded(gram * c), first));
    }
  }
  return x;
}

/// |x|_F + eps of each matrix, or 1.02 |x|_F + eps, rounded like the iterations.
at::Tensor norms(const at::Tensor& x, const NewtonSchulzOptions& options) {
  const bool rounds = options.dtype == NewtonSchulzDtype::kBfloat16 && options.norm == NewtonSchulzNorm::kRounded;
  at::Tensor norm = at::linalg_vector_norm(x, 2, at::IntArrayRef{1, 2}, /*keepdim=*/true);
  if (rounds) norm = rounded(norm);
  if (options.is_polar_express) norm = norm * kPolarExpressNorm;
  if (rounds) norm = rounded(norm);
  norm = norm + options.eps;
  return rounds ? rounded(norm) : norm;
}

}  // namespace

NewtonSchulzOptions newton_schulz_options(const OptimizerGroupConfig& config) {
  return {.steps = config.ns_steps,
          .eps = config.ns_eps,
          .dtype = config.ns_dtype,
          .form = config.ns_form,
          .norm = config.ns_norm,
          .rounding = config.ns_rounding,
          .is_polar_express = config.orthogonalizer == Orthogonalizer::kPolarExpress};
}

at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& options) {
  const OpTimer timer("newton_schulz");
  TORCH_CHECK(g.dim() >= 2, "newton_schulz: expected matrices, got ", g.sizes());
  const bool is_tall = g.size(-2) > g.size(-1);
  const bool rounds = options.dtype == NewtonSchulzDtype::kBfloat16;
  at::Tensor x = g.reshape({-1, g.size(-2), g.size(-1)});
  if (rounds && options.norm == NewtonSchulzNorm::kRounded) x = rounded(x);
  if (is_tall) x = x.transpose(1, 2);
  x = x.contiguous();
  x = x / norms(x, options);
  x = rounds ? iterate_rounded(rounded(x), options) : iterate(x, options);
  if (is_tall) x = x.transpose(1, 2);
  return x.reshape(g.sizes());
}

at::Tensor svd_orthogonalize(const at::Tensor& g) {
  const OpTimer timer("svd");
  const auto [u, singular_values, v_transposed] = at::linalg_svd(g, /*full_matrices=*/false);
  return at::matmul(u, v_transposed);
}

}  // namespace nanobench::core
