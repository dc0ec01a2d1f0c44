#include "core/cuda/kernels/attention.h"
#include "core/cuda/kernels/attention_checks.h"
#include "core/cuda/kernels/tile.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * 32;
constexpr int kRowTiles = 2;  // of 16 queries, a warp's: each piece of k and v that it reads serves both
constexpr int kWarpQueries = kRowTiles * 16;
constexpr int kQueries = kWarps * kWarpQueries;

constexpr float kMinusInfinity = -__builtin_huge_valf();

/// kD: the head size rounded up to what is compiled; kKeys: as many as the registers of scores and results allow.
template <int kHeadDim>
struct Layout {
  static constexpr int kD = kHeadDim;
  static constexpr int kKeys = 64;
  static constexpr int kQueryBytes = Tile<kD>::bytes(kQueries);
  static constexpr int kKeyBytes = Tile<kD>::bytes(kKeys);
  static constexpr int kSharedBytes = kQueryBytes + 4 * kKeyBytes;  // k and v, two of each
};

/// What a warp keeps of its 32 queries while it goes through the keys.
template <class L>
struct Rows {
  float y[kRowTiles][L::kD / 8][4];
  float largest[kRowTiles][2];  ///< score so far, not scaled; of the upper and lower eight rows
  float sum[kRowTiles][2];      ///< this lane's part of the sum of weights

  __device__ void begin() {
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) {
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
using Scores = float[kRowTiles][L::kKeys / 8][4];

template <class L>
__device__ void compute_scores(Scores<L>& scores, const Tile<L::kD>& queries, int row, const Tile<L::kD>& keys) {
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t) {
#pragma unroll
    for (int j = 0; j < L::kKeys / 8; ++j) {
#pragma unroll
      for (float& x : scores[t][j]) x = 0.0f;
    }
  }
  const auto from_queries = left_reader(queries);
  const auto from_keys = transposed_reader(keys);
#pragma unroll
  for (int k = 0; k < L::kD; k += 16) {
    std::uint32_t a[kRowTiles][4];
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) ldmatrix_x4(a[t], from_queries.at(row + t * 16, k));
#pragma unroll
    for (int j = 0; j < L::kKeys / 8; j += 2) {
      std::uint32_t b[4];
      ldmatrix_x4(b, from_keys.at(j * 8, k));
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) {
        mma_bf16(scores[t][j], a[t], b[0], b[1]);
        mma_bf16(scores[t][j + 1], a[t], b[2], b[3]);
      }
    }
  }
}

/// `query`: of this lane's first row; `key`: the first of the tile. first_key is read here and not kept: few tiles need
/// it, and registers are short.
template <class L>
__device__ void mask_scores(Scores<L>& scores, const AttentionMask& mask, int length, int query, int key) {
  const int column = key + lane_id() % 4 * 2;
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t) {
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

/// Turns scores into weights relative to the largest score so far and rescales what was summed before.
template <class L>
__device__ void weigh(Scores<L>& scores, Rows<L>& rows, float scale_log2) {
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t) {
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
      // A row that has seen no key yet: all its weights are 2^-inf = 0, and not 2^(inf - inf).
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

template <class L>
__device__ void add_values(Rows<L>& rows, const Scores<L>& weights, const Tile<L::kD>& values) {
  const auto from_values = right_reader(values);
#pragma unroll
  for (int k = 0; k < L::kKeys / 16; ++k) {
    std::uint32_t a[kRowTiles][4];
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) results_as_a(a[t], weights[t], k);
#pragma unroll
    for (int j = 0; j < L::kD / 8; j += 2) {
      std::uint32_t b[4];
      ldmatrix_x4_trans(b, from_values.at(k * 16, j * 8));
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) {
        mma_bf16(rows.y[t][j], a[t], b[0], b[1]);
        mma_bf16(rows.y[t][j + 1], a[t], b[2], b[3]);
      }
    }
  }
}

template <class L>
__device__ void store_rows(Rows<L>& rows, const Tile<L::kD>& stage, int row, int query, const RowsOut& y,
                           float* log_sums, float scale) {
  const int lane = lane_id();
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t) {
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

/// A block takes kQueries queries of one head, from the last ones on: without a window those have the most to do.
template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) attend(AttentionShape shape, AttentionInputs in, bf16* y, float* log_sums) {
  using L = Layout<kHeadDim>;
  NB_DYNAMIC_SHARED(shared);
  const Tile<kHeadDim> queries{shared};
  const auto key_tile = [&](int i) { return Tile<kHeadDim>{shared + L::kQueryBytes + i % 2 * 2 * L::kKeyBytes}; };
  const auto value_tile = [&](int i) { return Tile<kHeadDim>{key_tile(i).data + L::kKeyBytes}; };

  const int head = static_cast<int>(blockIdx.y);
  const int kv_head = head / (shape.heads / shape.kv_heads);
  const std::int64_t q_stride = std::int64_t{shape.heads} * shape.head_dim;
  const std::int64_t kv_stride = std::int64_t{shape.kv_heads} * shape.head_dim;
  const std::int64_t kv_offset = std::int64_t{kv_head} * shape.head_dim;
  const RowsIn q{in.q + std::int64_t{head} * shape.head_dim, q_stride, shape.length, shape.head_dim};
  const RowsIn k{in.k + kv_offset, kv_stride, shape.length, shape.head_dim};
  const RowsIn v{in.v + kv_offset, kv_stride, shape.length, shape.head_dim};

  const int block_query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kQueries;
  const int block_last = min(block_query + kQueries, shape.length) - 1;
  const int first_tile = in.mask.first_key[block_query] / L::kKeys;
  const int tiles = block_last / L::kKeys - first_tile + 1;
  const auto key_of = [&](int i) { return (first_tile + (in.nearest_first ? tiles - 1 - i : i)) * L::kKeys; };

  const int row = warp_id() * kWarpQueries;
  const int query = block_query + row;
  const int last = min(query + kWarpQueries, shape.length) - 1;  // less than query: the warp has none
  Rows<L> rows;
  rows.begin();
  const int first_of_first = in.mask.first_key[min(query, shape.length - 1)];
  const int first_of_last = in.mask.first_key[min(query + kWarpQueries, shape.length) - 1];

  copy_rows<kQueries, kThreads>(queries, q, block_query);
  copy_rows<L::kKeys, kThreads>(key_tile(0), k, key_of(0));
  copy_rows<L::kKeys, kThreads>(value_tile(0), v, key_of(0));
  cp_async_commit();
  for (int i = 0; i < tiles; ++i) {
    cp_async_wait<0>();
    __syncthreads();  // tile i is there for all, and nobody reads tile i - 1 any more
    const int key = key_of(i);
    if (i + 1 < tiles) {
      copy_rows<L::kKeys, kThreads>(key_tile(i + 1), k, key_of(i + 1));
      copy_rows<L::kKeys, kThreads>(value_tile(i + 1), v, key_of(i + 1));
      cp_async_commit();
    }
    if (key > last || key + L::kKeys <= first_of_first) continue;  // no query of the warp sees the tile
    Scores<L> scores;
    compute_scores<L>(scores, queries, row, key_tile(i));
    const bool is_full = key + L::kKeys - 1 <= query && first_of_last <= key;
    if (!is_full) mask_scores<L>(scores, in.mask, shape.length, query + lane_id() / 4, key);
    weigh<L>(scores, rows, in.scale * kLog2E);
    add_values<L>(rows, scores, value_tile(i));
  }
  if (query > last) return;
  const RowsOut out{y + std::int64_t{head} * shape.head_dim, q_stride, shape.length, shape.head_dim};
  store_rows<L>(rows, queries, row, query, out, log_sums + std::int64_t{head} * shape.length, in.scale);
}

template <int kHeadDim>
void launch_attend(const AttentionShape& shape, const AttentionInputs& in, bf16* y, float* log_sums, Stream stream) {
  const auto tiles = static_cast<unsigned>((shape.length + kQueries - 1) / kQueries);
  NB_LAUNCH(attend<kHeadDim>, dim3(tiles, static_cast<unsigned>(shape.heads)), dim3(kThreads),
            Layout<kHeadDim>::kSharedBytes, stream, shape, in, y, log_sums);
}

}  // namespace

void attention_forward(const AttentionShape& shape, const AttentionInputs& in, bf16* y, float* log_sums,
                       Stream stream) {
  check_attention(shape, in);
  if (shape.head_dim > 64) {
    launch_attend<128>(shape, in, y, log_sums, stream);
  } else if (shape.head_dim > 32) {
    launch_attend<64>(shape, in, y, log_sums, stream);
  } else {
    launch_attend<32>(shape, in, y, log_sums, stream);
  }
}

}  // namespace nanobench::core::cuda
