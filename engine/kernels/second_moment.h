/// NorMuon's normalisation of orthogonalised updates by the second moments of their rows or columns, and the update of
/// the parameters, in float32. Plain C++ with vector units chosen at run time; no LibTorch. Thread-safe. Checks nothing
/// and throws nothing.
#pragma once

#include <cstdint>
#include <span>

#include "engine/kernels/thread_pool.h"

namespace nanobench::core {

/// One matrix [rows, columns], row-major without gaps.
struct NormalizedUpdate {
  std::int64_t rows = 0, columns = 0;
  float* update = nullptr;     ///< overwritten with the normalised update
  float* moments = nullptr;    ///< [rows] if rows >= columns, else [columns]; updated
  float* parameter = nullptr;  ///< parameter -= rate * update; nullptr: only the update is wanted
  float rate = 0.0f;

  bool is_by_rows() const { return rows >= columns; }
};

/// n = |V|; q = mean of V^2 over each row if rows >= columns, else over each column; s <- s + (1 - beta2) (q - s);
/// V <- V / max(sqrt(s), 1e-10); V <- V n / max(|V|, 1e-10). Source: record #41. One thread takes a matrix: the number
/// of threads changes no bit.
void normalize_updates(std::span<const NormalizedUpdate> updates, double beta2, ThreadPool& threads);

}  // namespace nanobench::core
