/// Rows of embedding tables in bfloat16 on a GPU (engine/cuda/embedding.h). Stateless.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ops/kernels.h"

namespace nanobench::core {

/// A weight that holds one table, or several tables of equal width side by side.
struct JoinedTables {
  at::Tensor weight;  ///< [rows, count * C] float32, on a device with kernels
  std::int64_t count = 1;
};

/// The rows of `tokens` in every table, rounded to bfloat16: [T, C] each; joined tables come in the order of their
/// columns. Differentiable: gradients are bfloat16 and summed in float32, in an order that depends only on the tokens.
/// They are dense, or undefined for a weight that receives no gradient.
///   tokens  [T] int32 or int64, each below the rows of every table
/// Forward takes one launch, backward one sort and one launch, for up to 16 tables. Enqueues its work and does not
/// wait.
std::vector<at::Tensor> device_embedding(const at::Tensor& tokens, const std::vector<JoinedTables>& tables);

}  // namespace nanobench::core
