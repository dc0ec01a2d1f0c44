/// Rows of a table for pairs of tokens (records #62 on). Stateless, thread-safe.
#pragma once

#include "core/config/train_config.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// The row of each position (BigramConfig).
///   tokens   [T] int32 or int64
///   returns  [T] int64, each below config.rows
/// REQUIRES config.rows > 1. Source: the loader of record #62.
at::Tensor bigram_rows(const at::Tensor& tokens, const BigramConfig& config);

/// The row of signs of each position: (token[t - 1] XOR token[t]) mod sign_rows, 0 at position 0.
///   tokens   [T] int32 or int64
///   returns  [T] int64
/// Source: record #83.
at::Tensor bigram_sign_rows(const at::Tensor& tokens, std::int64_t sign_rows);

}  // namespace nanobench::core
