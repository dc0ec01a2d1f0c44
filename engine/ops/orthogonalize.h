/// Orthogonalisation of Muon's update: Newton-Schulz iteration or singular value decomposition. Stateless, thread-safe.
#pragma once

#include <cstdint>

#include "core/config/train_config.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Coefficients of the iterations: a x + b A x + c A A x. Source: records #3 to #21.
struct Quintic {
  double a, b, c;
};
inline constexpr Quintic kQuintic = {.a = 3.4445, .b = -4.7750, .c = 2.0315};

struct NewtonSchulzOptions {
  std::int64_t steps = 5;
  double eps = 1e-7;  ///< added to the norm
  /// kBfloat16 rounds after every operation and computes in float32, which matches the storage in the records' runs.
  NewtonSchulzDtype dtype = NewtonSchulzDtype::kCompute;
  NewtonSchulzForm form = NewtonSchulzForm::kGrouped;
  NewtonSchulzNorm norm = NewtonSchulzNorm::kRounded;  ///< with kBfloat16: norm of the rounded matrix, or of g itself
};

/// Pushes all singular values of each matrix towards 1 (into about 0.7 to 1.2 in five steps).
///   g        [..., rows, columns] float32 or float64
///   returns  shape and dtype of g: x = g / (|g|_F + eps) of each matrix, then `steps` times x <- a x + (b A + c A A) x
///            with A = x x^T on the short side (kTerms: a x + b (A x) + c A (A x)), coefficients kQuintic
at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& options);

/// U V^T of each matrix g = U S V^T; [..., rows, columns]. Not unique in the null space of a rank-deficient matrix.
at::Tensor svd_orthogonalize(const at::Tensor& g);

}  // namespace nanobench::core
