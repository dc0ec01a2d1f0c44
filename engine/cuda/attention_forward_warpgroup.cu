#include "engine/cuda/attention_forward.cuh"
#include "engine/cuda/panel_tile.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kGroupThreads = 128;
constexpr int kThreads = 2 * kGroupThreads;
constexpr int kGroupQueries = 64;
constexpr int kQueries = kThreads / kGroupThreads * kGroupQueries;

/// kD: the head size rounded up to a compiled size.
template <int kHeadDim>
struct WarpgroupForwardLayout {
  static constexpr int kRowTiles = 1;
  static constexpr int kD = kHeadDim;
  static constexpr int kKeys = 128;
  using Queries = PanelTile<kD, kQueries>;
  using Keys = PanelTile<kD, kKeys>;
  static constexpr int kSharedBytes = Queries::kBytes + 4 * Keys::kBytes;  // k and v, two of each
};

/// Data that a warpgroup needs for its 64 queries.
struct QueryGroup {
  int query;           ///< the first one
  int last;            ///< the last one there is; less than query: the group has none
  int first_of_first;  ///< the first key that its first query sees
  int first_of_last;

  __device__ QueryGroup(const AttentionMask& mask, int length, int first) : query(first) {
    last = min(query + kGroupQueries, length) - 1;
    first_of_first = mask.first_key[min(query, length - 1)];
    first_of_last = mask.first_key[min(query + kGroupQueries, length) - 1];
  }
  __device__ bool sees(int key, int keys) const { return key <= last && key + keys > first_of_first; }
  __device__ bool sees_all(int key, int keys) const { return key + keys - 1 <= query && first_of_last <= key; }
};

/// First key of a block, and its inputs.
template <class L>
struct Operands {
  const DeviceAttentionShape& shape;
  const DeviceAttentionInputs& in;
  int head;
  unsigned char* shared;

  __device__ std::int64_t query_stride() const { return std::int64_t{shape.heads} * shape.head_dim; }
  __device__ RowsIn queries() const {
    return {in.q + std::int64_t{head} * shape.head_dim, query_stride(), shape.length, shape.head_dim};
  }
  __device__ RowsIn keys(const bf16* tensor) const {
    const int kv_head = head / (shape.heads / shape.kv_heads);
    return {tensor + std::int64_t{kv_head} * shape.head_dim, std::int64_t{shape.kv_heads} * shape.head_dim,
            shape.length, shape.head_dim};
  }
  __device__ typename L::Queries query_tile() const { return {shared}; }
  __device__ typename L::Keys key_tile(int i) const { return {shared + L::Queries::kBytes + i % 2 * L::Keys::kBytes}; }
  __device__ typename L::Keys value_tile(int i) const {
    return {shared + L::Queries::kBytes + (2 + i % 2) * L::Keys::kBytes};
  }
};

/// A block handles kQueries queries of one head, half of them in each warpgroup, last queries first: without a window,
/// those have the most work. The scores of a tile are computed while the previous tile is turned into weights.
template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, 1)
    attend_in_warpgroups(DeviceAttentionShape shape, DeviceAttentionInputs in, bf16* y, float* log_sums) {
  using L = WarpgroupForwardLayout<kHeadDim>;
  NB_DYNAMIC_SHARED(shared);
  const Operands<L> operands{shape, in, static_cast<int>(blockIdx.y), shared};
  const RowsIn k = operands.keys(in.k);
  const RowsIn v = operands.keys(in.v);

  const int block_query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kQueries;
  const int first_tile = in.mask.first_key[block_query] / L::kKeys;
  const int tiles = (min(block_query + kQueries, shape.length) - 1) / L::kKeys - first_tile + 1;
  const auto key_of = [&](int i) { return (first_tile + (in.nearest_first ? tiles - 1 - i : i)) * L::kKeys; };
  const int group_row = warp_id() / 4 * kGroupQueries;
  const QueryGroup group(in.mask, shape.length, block_query + group_row);
  const auto sees_tile = [&](int i) { return i < tiles && group.sees(key_of(i), L::kKeys); };
  const int row = group_row + warp_id() % 4 * 16;

  copy_rows<kQueries, kThreads>(operands.query_tile(), operands.queries(), block_query);
  copy_rows<L::kKeys, kThreads>(operands.key_tile(0), k, key_of(0));
  cp_async_commit();
  if (tiles > 1) copy_rows<L::kKeys, kThreads>(operands.key_tile(1), k, key_of(1));
  copy_rows<L::kKeys, kThreads>(operands.value_tile(0), v, key_of(0));
  cp_async_commit();
  cp_async_wait<1>();
  fence_async_proxy();
  __syncthreads();

  Rows<L> rows;
  rows.begin();
  Scores<L> scores = {};
  Scores<L> next = {};
  if (sees_tile(0)) {
    wgmma_fence();
    start_rows(scores[0], operands.query_tile(), group_row, operands.key_tile(0));
    wgmma_commit();
    wgmma_wait<0>();
  }
  for (int i = 0; i < tiles; ++i) {
    cp_async_wait<0>();
    fence_async_proxy();
    __syncthreads();  // keys i + 1 and values i are there for all; nobody reads keys i and values i - 1 any more
    if (i + 2 < tiles) copy_rows<L::kKeys, kThreads>(operands.key_tile(i), k, key_of(i + 2));
    if (i + 1 < tiles) copy_rows<L::kKeys, kThreads>(operands.value_tile(i + 1), v, key_of(i + 1));
    cp_async_commit();
    if (sees_tile(i + 1)) {
      wgmma_fence();
      start_rows(next[0], operands.query_tile(), group_row, operands.key_tile(i + 1));
      wgmma_commit();
    }
    if (sees_tile(i)) {
      const int key = key_of(i);
      if (is_taken(in.masks_full_tiles || !group.sees_all(key, L::kKeys))) {
        mask_scores<L>(scores, in.mask, shape.length, block_query + row + lane_id() / 4, key);
      }
      weigh<L>(scores, rows, in.scale * kLog2E);
      const LeftFragments<L::kKeys> weights(scores[0]);
      wgmma_fence();
      start_results<L::kKeys, kHeadDim>(rows.y[0], weights, operands.value_tile(i));
      wgmma_commit();
      wgmma_wait<0>();
    } else {
      wgmma_wait<0>();
    }
#pragma unroll
    for (int j = 0; j < L::kKeys / 8; ++j) {
#pragma unroll
      for (int n = 0; n < 4; ++n) scores[0][j][n] = next[0][j][n];
    }
  }
  __syncthreads();  // all have read the queries: their memory takes the results
  if (block_query + row > min(block_query + kQueries, shape.length) - 1) return;
  const RowsOut out{y + std::int64_t{operands.head} * shape.head_dim, operands.query_stride(), shape.length,
                    shape.head_dim};
  store_rows<L>(rows, operands.query_tile(), row, block_query + row, out,
                log_sums + std::int64_t{operands.head} * shape.length, in.scale);
}

template <int kHeadDim>
void launch_attend(const DeviceAttentionShape& shape, const DeviceAttentionInputs& in, bf16* y, float* log_sums,
                   Stream stream) {
  const auto tiles = static_cast<unsigned>((shape.length + kQueries - 1) / kQueries);
  NB_LAUNCH(attend_in_warpgroups<kHeadDim>, dim3(tiles, static_cast<unsigned>(shape.heads)), dim3(kThreads),
            WarpgroupForwardLayout<kHeadDim>::kSharedBytes, stream, shape, in, y, log_sums);
}

}  // namespace

void attend_with_warpgroups(const DeviceAttentionShape& shape, const DeviceAttentionInputs& in, bf16* y,
                            float* log_sums, Stream stream) {
  if (shape.head_dim > 64) {
    launch_attend<128>(shape, in, y, log_sums, stream);
  } else {
    launch_attend<64>(shape, in, y, log_sums, stream);
  }
}

}  // namespace nanobench::core::cuda
