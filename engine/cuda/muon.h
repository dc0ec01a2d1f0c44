/// The parts of Muon other than its matrix products: momentum, Frobenius norms, the sums of the iterations, the step.
/// One launch handles all matrices of one shape. Plain C++: includes no CUDA header. Thread-safe.
///
/// Rounds where the engine rounds (engine/optim/muon.cpp, engine/ops/orthogonalize.cpp). A tall matrix need not be
/// transposed: its Gram matrix is X^T X, and the iterations multiply from the right.
///
/// Pointers are to device memory; matrices are row-major without gaps. Matrices with 16-byte alignment and a multiple
/// of 8 numbers are processed eight numbers at a time, others one by one. Rates and momentum are read from device
/// memory, so that a captured graph can be replayed with new values. All functions enqueue on the stream, do not
/// synchronise, and throw CudaError.
#pragma once

#include <cstdint>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

struct MuonShape {
  std::int64_t matrices = 0;  ///< n
  std::int64_t numbers = 0;   ///< numbers per matrix: rows times columns
};

/// The numbers of one step.
struct MuonFactors {
  float momentum;
  float rest;  ///< 1 - momentum
  float rate;
};

/// Computed in double precision. `rate` is the result of MuonRate::at (engine/optim/muon_rate.h).
MuonFactors muon_factors(double momentum, double rate);

struct MuonMomentum {
  bool accumulates = false;  ///< buffer = momentum buffer + g, u = g + momentum buffer; false: buffer = lerp(buffer, g,
                             ///< 1 - momentum), u = lerp(g, buffer, momentum)
  bool is_nesterov = true;   ///< false: u is the buffer
};

/// Number of partial sums of a matrix's squares; workspaces hold n times as many numbers.
inline constexpr std::int64_t kMuonPartials = 64;

/// Updates the momentum and sums the squares of u.
///   gradients  n pointers on the device, each to `numbers` numbers; a null one counts as zero
///   buffer     [n, numbers] float32, updated
///   update     [n, numbers] u: rounded to bf16 (the norm is of the rounded one), or float32
///   partials   [n, kMuonPartials]
/// Exists for gradients of float and bf16, updates of float and bf16.
template <class Gradient, class Update>
void muon_momentum(const MuonShape& shape, const MuonMomentum& form, const MuonFactors* factors,
                   const Gradient* const* gradients, float* buffer, Update* update, float* partials, Stream stream);

/// What matrices are divided by before the iterations: norm_factor |u|_F + eps.
struct MuonDivisor {
  float eps = 0.0f;
  float norm_factor = 1.0f;
};

/// x = round(u / (norm_factor |u|_F + eps)) of each matrix. With bf16 updates the norm, its product and the sum are
/// rounded too.
/// x [n, numbers] may be u if that is bf16. Exists for updates of float and bf16.
template <class Update>
void muon_normalize(const MuonShape& shape, const Update* update, const float* partials, const MuonDivisor& divisor,
                    bf16* x, Stream stream);

/// out = round(round(a x) + round(b y)) of `count` numbers; y null: round(a x). out may be x or y.
void muon_combine(std::int64_t count, float a, const bf16* x, float b, const bf16* y, bf16* out, Stream stream);

/// p -= rate round(scale u) of each matrix.
///   update      [n, numbers]
///   parameters  n pointers on the device, each to `numbers` floats
///   copies      n device pointers to rounded copies of the new parameters, for products; null: not wanted
void muon_apply(const MuonShape& shape, const bf16* update, float scale, const MuonFactors* factors,
                float* const* parameters, bf16* const* copies, Stream stream);

}  // namespace nanobench::core::cuda
