#include "engine/ops/device_newton_schulz.h"

#include <utility>

#include "core/base/op_timer.h"
#include "core/config/kernel_coverage.h"
#include "engine/ops/kernels.h"
#include "engine/ops/orthogonalize.h"

namespace nanobench::core {
namespace {

constexpr std::int64_t kSideUnit = kernel_units::kMatrixSide;

/// Coefficients of an iteration.
struct IterationFactors {
  float a, b, c;

  explicit IterationFactors(const Quintic& quintic)
      : a(static_cast<float>(quintic.a)), b(static_cast<float>(quintic.b)), c(static_cast<float>(quintic.c)) {}
};

/// out = scale a a^T + addend_scale addend, of each matrix.
void multiply_by_transpose(const at::Tensor& a, float scale, const at::Tensor& addend, float addend_scale,
                           const at::Tensor& out) {
  const CudaKernels& kernels = *cuda_kernels();
  kernels.symmetric_product({.count = static_cast<std::int32_t>(a.size(0)),
                             .rows = static_cast<std::int32_t>(a.size(1)),
                             .columns = static_cast<std::int32_t>(a.size(2)),
                             .a = bf16_data(a),
                             .scale = scale,
                             .addend = addend.defined() ? bf16_data(addend) : nullptr,
                             .addend_scale = addend_scale},
                            bf16_data(out), kernels.stream());
}

/// out = round(round(a x) + round(b y)); y undefined: round(a x).
void combine(float a, const at::Tensor& x, float b, const at::Tensor& y, const at::Tensor& out) {
  const CudaKernels& kernels = *cuda_kernels();
  kernels.muon_combine(out.numel(), a, bf16_data(x), b, y.defined() ? bf16_data(y) : nullptr, bf16_data(out),
                       kernels.stream());
}

/// State of the iterations: x and the next x [n, short, long], and two squares [n, short, short].
struct Iterates {
  at::Tensor x, next, gram, square;

  explicit Iterates(at::Tensor wide)
      : x(std::move(wide)),
        next(at::empty_like(x)),
        gram(at::empty({x.size(0), x.size(1), x.size(1)}, x.options())),
        square(at::empty_like(gram)) {}

  /// x <- a x + (b A + c A A) x, each product and sum rounded.
  void step_grouped(const IterationFactors& f, at::Tensor& scaled) {
    multiply_by_transpose(x, 1.0f, {}, 0.0f, gram);
    combine(f.c, gram, 0.0f, {}, scaled);
    at::bmm_out(square, scaled, gram);
    combine(f.b, gram, 1.0f, square, square);
    at::bmm_out(next, square, x);
    combine(f.a, x, 1.0f, next, next);
    std::swap(x, next);
  }

  /// The same, a product rounded together with what is added to it.
  void step_fused(const IterationFactors& f) {
    multiply_by_transpose(x, 1.0f, {}, 0.0f, gram);
    multiply_by_transpose(gram, f.c, gram, f.b, square);
    at::baddbmm_out(next, x, square, x, f.a, 1.0f);
    std::swap(x, next);
  }

  /// x <- a x + b (A x) + c A (A x)
  void step_by_terms(const IterationFactors& f, at::Tensor& first) {
    multiply_by_transpose(x, 1.0f, {}, 0.0f, gram);
    at::bmm_out(first, gram, x);
    combine(f.a, x, f.b, first, x);
    combine(f.c, gram, 0.0f, {}, square);
    at::bmm_out(next, square, first);
    combine(1.0f, x, 1.0f, next, x);
  }
};

}  // namespace

bool fits_device_newton_schulz(std::int64_t rows, std::int64_t columns) {
  return rows > 0 && columns > 0 && rows % kSideUnit == 0 && columns % kSideUnit == 0;
}

at::Tensor device_newton_schulz(at::Tensor x, const NewtonSchulzOptions& options) {
  const OpTimer timer("newton_schulz");
  const bool is_tall = x.size(1) > x.size(2);
  Iterates iterates(is_tall ? x.transpose(1, 2).contiguous() : std::move(x));
  const bool is_grouped = options.form == NewtonSchulzForm::kGrouped;
  const bool is_fused = is_grouped && options.rounding == NewtonSchulzRounding::kFused;
  at::Tensor first, scaled;
  if (!is_grouped) first = at::empty_like(iterates.x);
  if (is_grouped && !is_fused) scaled = at::empty_like(iterates.gram);
  for (std::int64_t i = 0; i < options.steps; ++i) {
    const IterationFactors factors(quintic_of(options.is_polar_express, i));
    if (is_fused) {
      iterates.step_fused(factors);
    } else if (is_grouped) {
      iterates.step_grouped(factors, scaled);
    } else {
      iterates.step_by_terms(factors, first);
    }
  }
  return is_tall ? iterates.x.transpose(1, 2).contiguous() : iterates.x;
}

}  // namespace nanobench::core
