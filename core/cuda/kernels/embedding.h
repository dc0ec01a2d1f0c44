/// Embedding tables: rows looked up by token, and the dense gradient of a table. Plain C++: includes no CUDA header.
/// Thread-safe.
///
/// The gradient is a sum over the positions of each token in the order of the positions, without atomics: run after run
/// the same bits. For that the positions come sorted by token (token_order).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/cuda/kernels/types.h"

namespace nanobench::core::cuda {

inline constexpr int kMaxTables = 16;

/// Tables of one width that are looked up with the same tokens.
template <class Number>
struct EmbeddingTables {
  std::int64_t count = 0;
  std::int64_t width = 0;            ///< C
  const Number* tables[kMaxTables];  ///< each [rows, C]
  bf16* outputs[kMaxTables];         ///< each [T, C]
};

/// outputs[i][t] = round(tables[i][tokens[t]]) for all tables in one launch.
///   tokens  [T] int32 or int64, device, each below the tables' rows
/// Exists for tables of bf16 and float. Enqueues on the stream, does not synchronise. Throws Error{kInvalidArgument}
/// for more than kMaxTables tables, CudaError.
template <class Number, class Token>
void embedding_forward(std::int64_t length, const Token* tokens, const EmbeddingTables<Number>& tables, Stream stream);

/// The positions of a sequence by token: segment s holds positions order[starts[s]] to order[starts[s + 1] - 1], all of
/// token tokens[s]; tokens ascend, and so do the positions of a segment.
struct TokenOrder {
  std::vector<std::int32_t> order;   ///< [T]
  std::vector<std::int32_t> starts;  ///< [segments + 1]
  std::vector<std::int32_t> tokens;  ///< [segments]
};

/// On the CPU. Throws Error{kInvalidArgument} for a token outside [0, vocabulary).
TokenOrder token_order(std::span<const std::int32_t> tokens, std::int64_t vocabulary);

/// A TokenOrder in device memory. `count` is read by the kernel, so that a captured graph takes another sequence.
struct TokenSegments {
  const std::int32_t* order = nullptr;
  const std::int32_t* starts = nullptr;
  const std::int32_t* tokens = nullptr;
  const std::int32_t* count = nullptr;  ///< one number: segments that there are
  std::int64_t most = 0;                ///< segments that there may be: min(T, rows of the table)
};

/// table[token] += sum over the token's positions t of d[t], in float32; other rows are left alone.
///   d       [T, C] bf16, or float32: each number is then rounded to bf16 before the sum if rounds_d, as the stored
///           output of the lookup rounds its gradient
///   table   [rows, C] float or bf16: what is stored is rounded to it
/// Exists for all four combinations. Enqueues on the stream, does not synchronise. Throws CudaError.
/// A block takes a segment and 256 columns; its eight warps take every eighth position.
template <class Gradient, class Number>
void embedding_backward(const TokenSegments& segments, std::int64_t width, const Gradient* d, bool rounds_d,
                        Number* table, Stream stream);

}  // namespace nanobench::core::cuda
