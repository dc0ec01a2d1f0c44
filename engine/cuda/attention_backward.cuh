/// Code shared by both backward passes of attention, by warps and by warpgroups: row addresses, per-query data, and the
/// gradients of one tile's scores.
#pragma once

#include "engine/cuda/attention.h"
#include "engine/cuda/attention_checks.h"
#include "engine/cuda/tile.cuh"

namespace nanobench::core::cuda {

inline constexpr int kScoreColumns = 64;  ///< columns of a tile's scores: queries in the pass over the keys, else keys

/// A warp's 16 rows of scores.
using Scores = float[kScoreColumns / 8][4];

/// Arguments of both passes.
struct Backward {
  DeviceAttentionShape shape;
  DeviceAttentionInputs in;
  AttentionGradients gradients;

  __device__ RowsIn query_rows(const bf16* tensor, int head) const {
    return {tensor + std::int64_t{head} * shape.head_dim, std::int64_t{shape.heads} * shape.head_dim, shape.length,
            shape.head_dim};
  }
  __device__ RowsIn key_rows(const bf16* tensor, int kv_head) const {
    return {tensor + std::int64_t{kv_head} * shape.head_dim, std::int64_t{shape.kv_heads} * shape.head_dim,
            shape.length, shape.head_dim};
  }
};

__device__ inline RowsOut as_output(const RowsIn& rows, const bf16* tensor, bf16* output) {
  return {output + (rows.base - tensor), rows.row_stride, rows.rows, rows.columns};
}

/// Data of a tile's queries that the pass over the keys needs, in shared memory.
struct QueryFacts {
  float* log_sums;  ///< [kScoreColumns] base-2 logarithm
  float* row_sums;  ///< [kScoreColumns]
  int* first_key;   ///< [kScoreColumns]

  /// Queries beyond the end get weights of 2^-inf = 0.
  __device__ void load(const Backward& b, int head, int first) const {
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t offset = std::int64_t{head} * b.shape.length;
    const int at = thread % kScoreColumns;
    const bool is_valid = first + at < b.shape.length;
    if (thread < kScoreColumns) {
      log_sums[at] = is_valid ? b.gradients.log_sums[offset + first + at] * kLog2E : __builtin_huge_valf();
      row_sums[at] = is_valid ? b.gradients.row_sums[offset + first + at] : 0.0f;
    } else if (thread < 2 * kScoreColumns) {
      first_key[at] = is_valid ? b.in.mask.first_key[first + at] : 0;
    }
  }
};

/// Turns transposed scores (rows: keys, columns: queries) into weights. `key`: key of this lane's first row; `query`:
/// first query of the tile.
template <bool kIsMasked>
__device__ inline void weigh_columns(Scores& scores, const QueryFacts& facts, float scale_log2, int key, int query) {
  const int lane_column = lane_id() % 4 * 2;
#pragma unroll
  for (int j = 0; j < kScoreColumns / 8; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int column = j * 8 + lane_column + i % 2;
      const int at_key = key + i / 2 * 8;
      scores[j][i] = exp2_fast(scores[j][i] * scale_log2 - facts.log_sums[column]);
      if (kIsMasked && (at_key > query + column || at_key < facts.first_key[column])) scores[j][i] = 0.0f;
    }
  }
}

/// Turns the products v dy^T into the gradients of the scores, without the scale.
__device__ inline void differentiate_columns(Scores& products, const Scores& weights, const QueryFacts& facts) {
  const int lane_column = lane_id() % 4 * 2;
#pragma unroll
  for (int j = 0; j < kScoreColumns / 8; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      products[j][i] = weights[j][i] * (products[j][i] - facts.row_sums[j * 8 + lane_column + i % 2]);
    }
  }
}

/// Data of this lane's two rows that the pass over the queries needs.
struct LaneRows {
  int query[2];
  int first_key[2];
  float log_sum[2];  ///< base-2 logarithm
  float row_sum[2];

  __device__ LaneRows(const Backward& b, int head, int first) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      query[half] = first + half * 8 + lane_id() / 4;
      const bool is_valid = query[half] < b.shape.length;
      const std::int64_t at = std::int64_t{head} * b.shape.length + query[half];
      first_key[half] = is_valid ? b.in.mask.first_key[query[half]] : 0;
      log_sum[half] = is_valid ? b.gradients.log_sums[at] * kLog2E : __builtin_huge_valf();
      row_sum[half] = is_valid ? b.gradients.row_sums[at] : 0.0f;
    }
  }
};

/// Like weigh_columns, with queries as rows and keys from `key` on as columns.
template <bool kIsMasked>
__device__ inline void weigh_rows(Scores& scores, const LaneRows& rows, float scale_log2, int key) {
  const int lane_column = lane_id() % 4 * 2;
#pragma unroll
  for (int j = 0; j < kScoreColumns / 8; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int half = i / 2;
      const int at_key = key + j * 8 + lane_column + i % 2;
      scores[j][i] = exp2_fast(scores[j][i] * scale_log2 - rows.log_sum[half]);
      if (kIsMasked && (at_key > rows.query[half] || at_key < rows.first_key[half])) scores[j][i] = 0.0f;
    }
  }
}

/// Like differentiate_columns, for the products dy v^T.
__device__ inline void differentiate_rows(Scores& products, const Scores& weights, const LaneRows& rows) {
#pragma unroll
  for (int j = 0; j < kScoreColumns / 8; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) products[j][i] = weights[j][i] * (products[j][i] - rows.row_sum[i / 2]);
  }
}

/// Writes the gradients of queries, keys and values with warpgroup products. REQUIRES checked arguments and row_sums.
void differentiate_with_warpgroups(const Backward& b, Stream stream);

}  // namespace nanobench::core::cuda
