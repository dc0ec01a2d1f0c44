/// Embedding tables: row lookup by token, and the tables' dense gradients, for all tables with the same tokens at once.
/// Plain C++: includes no CUDA header. Thread-safe.
///
/// The gradient of a row is a sum over the positions of its token, without atomics and in an order that depends only on
/// the tokens, so every run gives the same bits. For this, the positions are sorted by token, once for all tables.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

/// A table, or some columns of one.
struct EmbeddingTable {
  const float* rows = nullptr;  ///< [rows, C]
  std::int64_t stride = 0;      ///< row stride in numbers, at least C
  std::int64_t width = 0;       ///< C
  bf16* output = nullptr;       ///< [T, C]
};

/// output[t] = round(rows[tokens[t]]) of each table.
///   tokens  [T], device, each less than the tables' rows
/// One launch for each 16 tables. Enqueues on the stream, does not synchronise. Throws CudaError.
void embedding_forward(std::int64_t length, const std::int32_t* tokens, std::span<const EmbeddingTable> tables,
                       Stream stream);

/// Gradient of a table, or of some columns of one.
struct EmbeddingGradient {
  const bf16* output = nullptr;  ///< [T, C]
  float* rows = nullptr;         ///< [rows, C], written where a token occurs
  std::int64_t stride = 0;       ///< of rows
  std::int64_t width = 0;        ///< C
};

/// rows[token] = sum over the token's positions t of output[t], in float32; rows of other tokens are unchanged.
///   tokens     [T], device, ascending
///   positions  [T], device: position of each token in the sequence
/// One launch for each 16 tables. Enqueues on the stream, does not synchronise. Throws CudaError.
/// A block handles the tokens whose runs begin in 64 places of the sorted sequence, and 256 columns: one warp per
/// token, and all eight warps for a token that occurs more than 64 times.
void embedding_backward(std::int64_t length, const std::int32_t* tokens, const std::int64_t* positions,
                        std::span<const EmbeddingGradient> tables, Stream stream);

}  // namespace nanobench::core::cuda
