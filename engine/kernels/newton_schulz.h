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

/// Coefficients of an iteration: a x + b A x + c A A x.
struct Quintic {
  double a, b, c;
};
constexpr Quintic kQuintic = {.a = 3.4445, .b = -4.7750, .c = 2.0315};  ///< records #3 to #37
/// Polar Express: of its five iterations, in order. Source: record #38.
constexpr Quintic kPolarExpress[] = {
    {.a = 8.156554524902461, .b = -22.48329292557795, .c = 15.878769915207462},
    {.a = 4.042929935166739, .b = -2.808917465908714, .c = 0.5000178451051316},
    {.a = 3.8916678022926607, .b = -2.772484153217685, .c = 0.5060648178503393},
    {.a = 3.285753657755655, .b = -2.3681294933425376, .c = 0.46449024233003106},
    {.a = 2.3465413258596377, .b = -1.7097828382687081, .c = 0.42323551169305323},
};
inline constexpr double kPolarExpressNorm = 1.02;  ///< factor on the norm that matrices are divided by

// Not shared among the vector paths: each has its own.
static inline const Quintic& quintic_of(bool is_polar_express, std::int64_t iteration) {
  return is_polar_express ? kPolarExpress[iteration] : kQuintic;
}

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
  bool accumulates = false;       ///< buffer <- momentum buffer + g; false: buffer <- lerp(g, buffer, momentum)
  bool is_nesterov = true;        ///< orthogonalises the same formula applied again to the gradient; false: the buffer
  bool by_terms = false;          ///< a X + b (A X) + c (A (A X)); false: a X + (b A + c A A) X
  bool is_polar_express = false;  ///< coefficients and norm of Polar Express; at most five steps
};

/// u from the gradient and the momentum buffer; X = u / (f |u|_F + eps), f = 1 or kPolarExpressNorm, with its short
/// side first; `steps` times
/// A = X X^T, X <- a X + (b A + c A A) X; then the parameter or the update, in the matrix's own orientation.
///
/// Matrices should be sorted by size, largest first. While there are enough for every thread, each is processed by one
/// thread, in its cache; otherwise the tiles of one matrix after another are divided among the threads.
/// For symmetric products, only the tiles of the lower triangle are computed. For matrices of at least 2:1, three steps
/// at a time are taken on the short side (details and rejected variants: vector/newton_schulz.cpp): the same
/// polynomial, with errors of the same size. Agrees with newton_schulz (engine/ops/orthogonalize.h) except for
/// rounding.
void newton_schulz_update(std::span<const NewtonSchulzMatrix> matrices, const NewtonSchulzSettings& settings,
                          ThreadPool& threads);

/// Number of steps taken at once for a matrix with these sides after `done` of them.
std::int64_t joined_newton_schulz_steps(const NewtonSchulzSettings& settings, std::int64_t short_side,
                                        std::int64_t long_side, std::int64_t done);

/// Twice the multiply-adds of this update, without the unused halves of symmetric products.
double newton_schulz_flops(std::span<const NewtonSchulzMatrix> matrices, const NewtonSchulzSettings& settings);

}  // namespace nanobench::core
