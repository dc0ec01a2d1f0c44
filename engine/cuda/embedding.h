/// Embedding tables: rows looked up by token, and the dense gradients of the tables, for all tables that are read with
/// the same tokens at once. Plain C++: includes no CUDA header. Thread-safe.
///
/// The gradient of a row is a sum over the positions of its token, without atomics and in an order that the tokens
/// alone decide: run after run the same bits. For that the positions come sorted by token, once for all tables.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

/// A table, or some columns of one.
struct EmbeddingTable {
  const float* rows = nullptr;  ///< [rows, C]
  std::int64_t stride = 0;      ///< numbers from a row to the next: C at least
  std::int64_t width = 0;       ///< C
  bf16* output = nullptr;       ///< [T, C]
};

/// output[t] = round(rows[tokens[t]]) of each table.
///   tokens  [T], device, each below the tables' rows
/// One launch for each 16 tables. Enqueues on the stream, does not synchronise. Throws CudaError.
void embedding_forward(std::int64_t length, const std::int32_t* tokens, std::span<const EmbeddingTable> tables,
                       Stream stream);

/// What flows back to a table, or to some columns of one.
struct EmbeddingGradient {
  const bf16* output = nullptr;  ///< [T, C]
  float* rows = nullptr;         ///< [rows, C], written where a token occurs
  std::int64_t stride = 0;       ///< of rows
  std::int64_t width = 0;        ///< C
};

/// rows[token] = sum over the token's positions t of output[t], in float32; rows of other tokens are left alone.
///   tokens     [T], device, ascending
///   positions  [T], device: where in the sequence each of them stands
/// One launch for each 16 tables. Enqueues on the stream, does not synchronise. Throws CudaError.
/// A block takes the tokens that begin in 64 places of the sorted sequence, and 256 columns: a warp for each token, and
/// all eight warps for one that occurs more than 64 times.
void embedding_backward(std::int64_t length, const std::int32_t* tokens, const std::int64_t* positions,
                        std::span<const EmbeddingGradient> tables, Stream stream);

}  // namespace nanobench::core::cuda
