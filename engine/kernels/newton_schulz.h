/// Muon's update in single precision: momentum, orthogonalisation by Newton-Schulz iterations, and the step of the
/// parameter, for many matrices in one call. Plain C++ with vector units chosen at run time; no LibTorch. Thread-safe.
/// The caller guarantees sizes and pointers: checks nothing and throws nothing.
///
/// Deterministic: the bits of a matrix depend neither on the number of threads nor on the other matrices of the call.
/// Memory: each thread keeps what its largest matrix needs (engine/kernels/scratch.h), and nothing is allocated after
/// the first step.
#pragma once

#include <cstdint>
#include <span>

#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

/// One matrix: all pointers are to [rows, columns] floats, row-major without gaps.
struct NewtonSchulzMatrix {
  std::int64_t rows = 0, columns = 0;
  const float* gradient = nullptr;  ///< nullptr: zero
  float* momentum = nullptr;        ///< updated; nullptr: the gradient itself is orthogonalised
  float* parameter = nullptr;       ///< parameter -= rate * scale * X
  float* update = nullptr;          ///< without a parameter: update = scale * X
  float scale = 1.0f;
  float rate = 0.0f;
};

/// Settings common to all matrices of a call.
struct NewtonSchulzSettings {
  std::int64_t steps = 5;
  double eps = 1e-7;  ///< added to the norm
  double momentum = 0.95;
  bool accumulates = false;  ///< buffer <- momentum buffer + g; false: buffer <- lerp(g, buffer, momentum)
  bool is_nesterov = true;   ///< orthogonalises the same formula applied again to the gradient; false: the buffer
  bool by_terms = false;     ///< a X + b (A X) + c (A (A X)); false: a X + (b A + c A A) X
};

/// u from the gradient and the momentum buffer; X = u / (|u|_F + eps) with its short side first; `steps` times
/// A = X X^T, X <- a X + (b A + c A A) X; then the parameter or the update, in the matrix's own orientation.
///
/// Matrices should be sorted by size, largest first. While there are enough for every thread, each is processed by one
/// thread, in its cache; otherwise the tiles of one matrix after another are divided among the threads.
/// For symmetric products, only the tiles of the lower triangle are computed. For matrices of at least 2:1, three steps
/// at a time are taken on the short side (details and rejected variants: vector/newton_schulz.cpp): the same
/// polynomial, with errors of the same size. Source: quintic coefficients (3.4445, -4.7750, 2.0315) of records #3 to
/// #21. Agrees with newton_schulz (engine/ops/orthogonalize.h) except for rounding.
void newton_schulz_update(std::span<const NewtonSchulzMatrix> matrices, const NewtonSchulzSettings& settings,
                          ThreadPool& threads);

/// Number of steps taken at once for a matrix with these sides when `left` steps remain.
std::int64_t joined_newton_schulz_steps(std::int64_t short_side, std::int64_t long_side, std::int64_t left);

/// Twice the multiply-adds of this update, without the unused halves of symmetric products.
double newton_schulz_flops(std::span<const NewtonSchulzMatrix> matrices, const NewtonSchulzSettings& settings);

}  // namespace nanobench::core
