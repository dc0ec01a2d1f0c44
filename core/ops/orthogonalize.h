/// Orthogonalisation of Muon's update: Newton-Schulz iteration or singular value decomposition. Stateless, thread-safe.
#pragma once

#include <cstdint>

#include "core/config/train_config.h"
#include "core/ops/torch.h"

namespace nanobench::core {

/// Pushes all singular values of each matrix towards 1 (into about 0.7 to 1.2 in five steps).
///   g        [..., rows, columns] float32 or float64
///   steps, eps  x = g / (|g|_F + eps), then x <- a x + (b A + c A A) x with A = x x^T, `steps` times; the norm is of
///   each matrix dtype    kBfloat16 rounds after every operation, with float32 arithmetic inside (bfloat16 storage of
///   the records' runs) returns  shape and dtype of g
/// The Gram matrix is taken on the short side. Source: quintic coefficients (3.4445, -4.7750, 2.0315) of records #3 to
/// #21.
at::Tensor newton_schulz(const at::Tensor& g, std::int64_t steps, double eps, NewtonSchulzDtype dtype);

/// U V^T of each matrix g = U S V^T; [..., rows, columns]. Not unique in the null space of a rank-deficient matrix.
at::Tensor svd_orthogonalize(const at::Tensor& g);

}  // namespace nanobench::core
