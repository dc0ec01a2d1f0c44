/// Processing of a key tile's scores in both forward passes of attention: mask them, turn them into weights, track each
/// row's max score and sum, and write the rows. L is the layout of a pass: kRowTiles of 16 queries per warp, kKeys per
/// tile, kD columns.
#pragma once

#include "engine/cuda/attention.h"
#include "engine/cuda/attention_checks.h"
#include "engine/cuda/tile.cuh"

namespace nanobench::core::cuda {

inline constexpr float kMinusInfinity = -__builtin_huge_valf();

/// State of a warp's queries while it iterates over the keys.
template <class L>
struct Rows {
  float y[L::kRowTiles][L::kD / 8][4];
  float largest[L::kRowTiles][2];  ///< max score so far, unscaled; for the upper and lower eight rows
  float sum[L::kRowTiles][2];      ///< this lane's part of the sum of weights

  __device__ void begin() {
#pragma unroll
    for (int t = 0; t < L::kRowTiles; ++t) {
#pragma unroll
      for (int j = 0; j < L::kD / 8; ++j) {
#pragma unroll
        for (float& x : y[t][j]) x = 0.0f;
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        largest[t][half] = kMinusInfinity;
        sum[t][half] = 0.0f;
      }
    }
  }
};

template <class L>
using Scores = float[L::kRowTiles][L::kKeys / 8][4];

/// `query`: query of this lane's first row; `key`: first key of the tile. first_key is read here and not kept: few
/// tiles need it, and registers are scarce.
template <class L>
__device__ inline void mask_scores(Scores<L>& scores, const AttentionMask& mask, int length, int query, int key) {
  const int column = key + lane_id() % 4 * 2;
#pragma unroll
  for (int t = 0; t < L::kRowTiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at_query = query + t * 16 + half * 8;
      const int first_key = mask.first_key[min(at_query, length - 1)];
#pragma unroll
      for (int j = 0; j < L::kKeys / 8; ++j) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int at_key = column + j * 8 + i;
          if (at_key > at_query || at_key < first_key) scores[t][j][2 * half + i] = kMinusInfinity;
        }
      }
    }
  }
}

/// Turns scores into weights relative to the max score so far, and rescales the previous sums.
template <class L>
__device__ inline void weigh(Scores<L>& scores, Rows<L>& rows, float scale_log2) {
#pragma unroll
  for (int t = 0; t < L::kRowTiles; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float before = rows.largest[t][half];
      float largest = before;
#pragma unroll
      for (int j = 0; j < L::kKeys / 8; ++j) {
        largest = fmaxf(largest, fmaxf(scores[t][j][2 * half], scores[t][j][2 * half + 1]));
      }
      largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 2));
      rows.largest[t][half] = largest;
      // For a row without any key so far, all weights are 2^-inf = 0, not 2^(inf - inf).
      const float offset = largest == kMinusInfinity ? 0.0f : largest * scale_log2;
      const float correction = exp2_fast(before * scale_log2 - offset);
      float sum = 0.0f;
#pragma unroll
      for (int j = 0; j < L::kKeys / 8; ++j) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[t][j][i] = exp2_fast(scores[t][j][i] * scale_log2 - offset);
          sum += scores[t][j][i];
        }
      }
      rows.sum[t][half] = rows.sum[t][half] * correction + sum;
#pragma unroll
      for (int j = 0; j < L::kD / 8; ++j) {
        rows.y[t][j][2 * half] *= correction;
        rows.y[t][j][2 * half + 1] *= correction;
      }
    }
  }
}

template <class L, class AnyTile>
__device__ inline void store_rows(Rows<L>& rows, const AnyTile& stage, int row, int query, const RowsOut& y,
                                  float* log_sums, float scale) {
  const int lane = lane_id();
#pragma unroll
  for (int t = 0; t < L::kRowTiles; ++t) {
    float inverse[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = rows.sum[t][half];
      sum += __shfl_xor_sync(kAllLanes, sum, 1);
      sum += __shfl_xor_sync(kAllLanes, sum, 2);
      inverse[half] = 1.0f / sum;
      const int at = query + t * 16 + half * 8 + lane / 4;
      if (lane % 4 == 0 && at < y.rows) log_sums[at] = rows.largest[t][half] * scale + log2_fast(sum) * kLn2;
    }
    store_results<L::kD>(rows.y[t], inverse[0], inverse[1], stage, row + t * 16, y, query + t * 16);
  }
}

/// attention_forward with warpgroup products. REQUIRES checked arguments.
void attend_with_warpgroups(const DeviceAttentionShape& shape, const DeviceAttentionInputs& in, bf16* y,
                            float* log_sums, Stream stream);

}  // namespace nanobench::core::cuda
