/// Muon's update in single precision: momentum, orthogonalisation by Newton-Schulz iterations, and the step of the
/// parameter, for many matrices in one call. Plain C++ with vector units chosen at run time; no LibTorch. Thread-safe.
/// Sizes and pointers are the caller's promise: nothing is checked, nothing is thrown.
///
/// Deterministic: the bits of a matrix depend neither on the number of threads nor on the other matrices of the call.
/// Memory: each thread keeps what its largest matrix needs (engine/kernels/scratch.h), and nothing is allocated after
/// the first step.
#pragma once

#include <cstdint>
#include <span>

#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

/// One matrix: all pointers to [rows, columns] floats, row after row without gaps.
struct NewtonSchulzMatrix {
  std::int64_t rows = 0, columns = 0;
  const float* gradient = nullptr;  ///< nullptr: zero
  float* momentum = nullptr;        ///< moved on; nullptr: the gradient itself is orthogonalised
  float* parameter = nullptr;       ///< parameter -= rate * scale * X
  float* update = nullptr;          ///< or, where there is no parameter, update = scale * X
  float scale = 1.0f;
  float rate = 0.0f;
};

/// What all matrices of a call have in common.
struct NewtonSchulzSettings {
  std::int64_t steps = 5;
  double eps = 1e-7;  ///< added to the norm
  double momentum = 0.95;
  bool accumulates = false;  ///< buffer <- momentum buffer + g; false: buffer <- lerp(g, buffer, momentum)
  bool is_nesterov = true;   ///< the same once more, from the gradient: that is orthogonalised. false: the buffer is
  bool by_terms = false;     ///< a X + b (A X) + c (A (A X)); false: a X + (b A + c A A) X
};

/// u from the gradient and the momentum buffer; X = u / (|u|_F + eps) with its short side first; `steps` times
/// A = X X^T, X <- a X + (b A + c A A) X; then the parameter or the update, in the matrix's own orientation.
///
/// Matrices should come in order of size, the largest first: while there are enough for every thread, each is one
/// thread's, in its cache; otherwise the tiles of one after the other are shared out.
/// Of symmetric products the tiles of the lower triangle are computed. Of matrices of at least 2:1, steps are taken
/// three by three on the short side (vector/newton_schulz.cpp says how, and what was tried and lost): the same
/// polynomial, with errors of the same size. Source: quintic coefficients (3.4445, -4.7750, 2.0315) of records #3 to
/// #21. Agrees with newton_schulz (engine/ops/orthogonalize.h) but for rounding.
void newton_schulz_update(std::span<const NewtonSchulzMatrix> matrices, const NewtonSchulzSettings& settings,
                          ThreadPool& threads);

/// Steps that are taken at once for a matrix of these sides when `left` are to do.
std::int64_t joined_newton_schulz_steps(std::int64_t short_side, std::int64_t long_side, std::int64_t left);

/// Multiply-adds that this takes, times two, without the unused halves of symmetric products.
double newton_schulz_flops(std::span<const NewtonSchulzMatrix> matrices, const NewtonSchulzSettings& settings);

}  // namespace nanobench::core
