/// NorMuon's normalisation of orthogonalised updates, and the step (record #41). Plain C++: includes no CUDA header.
/// Thread-safe.
///
///   n = |V|_F; q = mean of V^2 over each row if rows >= columns, else over each column; s <- s + (1 - beta2) (q - s)
///   V <- round(V / max(sqrt(s), 1e-10)); V <- round(V n / max(|V|_F, 1e-10)); parameter <- parameter - rate V
///
/// round() is to bfloat16, or nothing. Arithmetic is float32, sums have a fixed order. Four launches handle all
/// matrices of one shape. Enqueues on the stream, does not synchronise. Throws Error{kInvalidArgument} for too many
/// matrices, and CudaError if a launch fails.
#pragma once

#include <cstdint>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

inline constexpr std::int64_t kSecondMomentMatrices = 64;  ///< of one call; their pointers are arguments of the kernels

/// Matrices [rows, columns] in device memory, row-major without gaps.
struct DeviceSecondMoment {
  std::int64_t rows = 0, columns = 0;
  std::int64_t matrices = 0;
  float* updates[kSecondMomentMatrices] = {};     ///< overwritten with the normalised updates
  float* moments[kSecondMomentMatrices] = {};     ///< [rows] or [columns] each; updated
  float* parameters[kSecondMomentMatrices] = {};  ///< null: only the update is wanted
  float rate = 0.0f;
  float rest = 0.0f;  ///< 1 - beta2
  bool rounds = false;
};

/// Numbers of the workspace of so many matrices.
std::int64_t second_moment_workspace(std::int64_t rows, std::int64_t columns, std::int64_t matrices);

void second_moment_normalize(const DeviceSecondMoment& of, float* workspace, Stream stream);

}  // namespace nanobench::core::cuda
