/// Products with symmetric results, for Muon's Newton-Schulz iterations, in bf16 on tensor cores. Half of the result is
/// computed; the other half is its mirror image, bit for bit. Plain C++: includes no CUDA header.
#pragma once

#include <cstdint>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

struct SymmetricProduct {
  std::int32_t count = 0;    ///< matrices
  std::int32_t rows = 0;     ///< N, a multiple of 8
  std::int32_t columns = 0;  ///< K, a multiple of 8
  const bf16* a = nullptr;   ///< [count, N, K] device, 16-byte aligned
  float scale = 1.0f;
  /// [count, N, N], symmetric; null: none. It may be `a` if that is itself symmetric: c = b a + c a a.
  const bf16* addend = nullptr;
  float addend_scale = 0.0f;
};

/// Writes c [count, N, N] = scale * a a^T + addend_scale * addend, summed in float32 and rounded once; c must not
/// overlap either. Throws Error{kInvalidArgument} on other sizes. Enqueues on the stream, does not synchronise.
/// Deterministic. Computes the tiles of 128 x 128 on and below the diagonal.
void symmetric_product(const SymmetricProduct& product, bf16* c, Stream stream);

}  // namespace nanobench::core::cuda
