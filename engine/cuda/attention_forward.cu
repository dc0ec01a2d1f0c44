#include "engine/cuda/attention_forward.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * 32;
constexpr int kWarpQueries = 32;
constexpr int kQueries = kWarps * kWarpQueries;

/// kD: the head size rounded up to a compiled size; kKeys: as many keys as the registers for scores and results allow.
template <int kHeadDim>
struct ForwardLayout {
  static constexpr int kRowTiles = kWarpQueries / 16;  // each piece of k and v that a warp reads serves both
  static constexpr int kD = kHeadDim;
  static constexpr int kKeys = 64;
  static constexpr int kQueryBytes = Tile<kD>::bytes(kQueries);
  static constexpr int kKeyBytes = Tile<kD>::bytes(kKeys);
  static constexpr int kSharedBytes = kQueryBytes + 4 * kKeyBytes;  // k and v, two of each
};

template <class L>
__device__ void compute_scores(Scores<L>& scores, const Tile<L::kD>& queries, int row, const Tile<L::kD>& keys) {
#pragma unroll
  for (int t = 0; t < L::kRowTiles; ++t) {
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
    std::uint32_t a[L::kRowTiles][4];
#pragma unroll
    for (int t = 0; t < L::kRowTiles; ++t) ldmatrix_x4(a[t], from_queries.at(row + t * 16, k));
#pragma unroll
    for (int j = 0; j < L::kKeys / 8; j += 2) {
      std::uint32_t b[4];
      ldmatrix_x4(b, from_keys.at(j * 8, k));
#pragma unroll
      for (int t = 0; t < L::kRowTiles; ++t) {
        mma_bf16(scores[t][j], a[t], b[0], b[1]);
        mma_bf16(scores[t][j + 1], a[t], b[2], b[3]);
      }
    }
  }
}

template <class L>
__device__ void add_values(Rows<L>& rows, const Scores<L>& weights, const Tile<L::kD>& values) {
  const auto from_values = right_reader(values);
#pragma unroll
  for (int k = 0; k < L::kKeys / 16; ++k) {
    std::uint32_t a[L::kRowTiles][4];
#pragma unroll
    for (int t = 0; t < L::kRowTiles; ++t) results_as_a(a[t], weights[t], k);
#pragma unroll
    for (int j = 0; j < L::kD / 8; j += 2) {
      std::uint32_t b[4];
      ldmatrix_x4_trans(b, from_values.at(k * 16, j * 8));
#pragma unroll
      for (int t = 0; t < L::kRowTiles; ++t) {
        mma_bf16(rows.y[t][j], a[t], b[0], b[1]);
        mma_bf16(rows.y[t][j + 1], a[t], b[2], b[3]);
      }
    }
  }
}

/// A block handles kQueries queries of one head, last queries first: without a window, those have the most work.
template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    attend(DeviceAttentionShape shape, DeviceAttentionInputs in, bf16* y, float* log_sums) {
  using L = ForwardLayout<kHeadDim>;
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
    const bool is_full = !in.masks_full_tiles && key + L::kKeys - 1 <= query && first_of_last <= key;
    if (is_taken(!is_full)) mask_scores<L>(scores, in.mask, shape.length, query + lane_id() / 4, key);
    weigh<L>(scores, rows, in.scale * kLog2E);
    add_values<L>(rows, scores, value_tile(i));
  }
  if (query > last) return;
  const RowsOut out{y + std::int64_t{head} * shape.head_dim, q_stride, shape.length, shape.head_dim};
  store_rows<L>(rows, queries, row, query, out, log_sums + std::int64_t{head} * shape.length, in.scale);
}

template <int kHeadDim>
void launch_attend(const DeviceAttentionShape& shape, const DeviceAttentionInputs& in, bf16* y, float* log_sums,
                   Stream stream) {
  const auto tiles = static_cast<unsigned>((shape.length + kQueries - 1) / kQueries);
  NB_LAUNCH(attend<kHeadDim>, dim3(tiles, static_cast<unsigned>(shape.heads)), dim3(kThreads),
            ForwardLayout<kHeadDim>::kSharedBytes, stream, shape, in, y, log_sums);
}

}  // namespace

void attention_forward(const DeviceAttentionShape& shape, const DeviceAttentionInputs& in, bf16* y, float* log_sums,
                       Stream stream) {
  check_attention(shape, in);
  if (in.products == DeviceAttentionProducts::kWarpgroup) {
    attend_with_warpgroups(shape, in, y, log_sums, stream);
  } else if (shape.head_dim > 64) {
    launch_attend<128>(shape, in, y, log_sums, stream);
  } else if (shape.head_dim > 32) {
    launch_attend<64>(shape, in, y, log_sums, stream);
  } else {
    launch_attend<32>(shape, in, y, log_sums, stream);
  }
}

}  // namespace nanobench::core::cuda
