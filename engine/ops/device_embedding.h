/// Rows of embedding tables in bfloat16 on a GPU (engine/cuda/embedding.h). Stateless.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ops/kernels.h"

namespace nanobench::core {

/// Tables whose columns are one table, or several of one width.
struct JoinedTables {
  at::Tensor weight;  ///< [rows, count * C] float32, on a device with kernels
  std::int64_t count = 1;
};

/// The rows of `tokens` in every table, rounded to bfloat16: [T, C] each, the joined ones of one weight in the order of
/// its columns. Differentiable: gradients are bfloat16 and summed in float32, in an order that the tokens alone decide;
/// they are dense, and undefined for a weight to none of whose rows a gradient flows.
///   tokens  [T] int32 or int64, each below the rows of every table
/// One launch forward; backward one sort and one launch, for up to 16 tables. Enqueues, waits for nothing.
std::vector<at::Tensor> device_embedding(const at::Tensor& tokens, const std::vector<JoinedTables>& tables);

}  // namespace nanobench::core
