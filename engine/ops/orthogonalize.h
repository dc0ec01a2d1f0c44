/// Orthogonalisation of Muon's update: Newton-Schulz iteration or singular value decomposition. Stateless, thread-safe.
#pragma once

#include <cstdint>

#include "core/config/train_config.h"
#include "engine/kernels/newton_schulz.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

struct NewtonSchulzOptions {
  std::int64_t steps = 5;
  double eps = 1e-7;  ///< added to the norm
  /// kBfloat16 rounds after every operation and computes in float32, which matches the storage in the records' runs.
  NewtonSchulzDtype dtype = NewtonSchulzDtype::kCompute;
  NewtonSchulzForm form = NewtonSchulzForm::kGrouped;
  NewtonSchulzNorm norm = NewtonSchulzNorm::kRounded;  ///< with kBfloat16: norm of the rounded matrix, or of g itself
  /// With kBfloat16 and kGrouped: b A + c A A and a x + P x are rounded after each operation, or once each.
  NewtonSchulzRounding rounding = NewtonSchulzRounding::kEachOperation;
  /// Polar Express (#38 on): the norm is multiplied by 1.02, and each iteration has coefficients of its own.
  bool is_polar_express = false;
};

NewtonSchulzOptions newton_schulz_options(const OptimizerGroupConfig& config);

/// Pushes all singular values of each matrix towards 1 (into about 0.7 to 1.2 in five steps).
///   g        [..., rows, columns] float32 or float64
///   returns  shape and dtype of g: x = g / (|g|_F + eps) of each matrix, then `steps` times x <- a x + (b A + c A A) x
///            with A = x x^T on the short side (kTerms: a x + b (A x) + c A (A x)), coefficients of quintic_of
at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& options);

/// U V^T of each matrix g = U S V^T; [..., rows, columns]. Not unique in the null space of a rank-deficient matrix.
at::Tensor svd_orthogonalize(const at::Tensor& g);

}  // namespace nanobench::core
