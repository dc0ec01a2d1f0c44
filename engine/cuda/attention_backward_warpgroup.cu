#include "engine/cuda/attention_backward.cuh"
#include "engine/cuda/panel_tile.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kGroupRows = 64;
constexpr int kRows = 2 * kGroupRows;  // of a block: keys or queries, half of them each warpgroup
constexpr int kThreads = kRows * 2;
constexpr int kStages = 4;  // products of a tile may still read it while the tile after the next one is copied

/// One block's shared memory in both passes: two constant tiles, and the changing tiles.
template <int kHeadDim>
struct WarpgroupBackwardLayout {
  using Kept = PanelTile<kHeadDim, kRows>;
  using Changing = PanelTile<kHeadDim, kScoreColumns>;
  static constexpr int kFactsBytes = 3 * kScoreColumns * static_cast<int>(sizeof(float));
  static constexpr int kTilesBytes = 2 * Kept::kBytes + 2 * kStages * Changing::kBytes;
  static constexpr int kSharedBytes = kTilesBytes + kStages * kFactsBytes;

  unsigned char* shared;

  __device__ Kept kept(int which) const { return {shared + which * Kept::kBytes}; }
  __device__ Changing changing(int i, int which) const {
    return {shared + 2 * Kept::kBytes + (i % kStages * 2 + which) * Changing::kBytes};
  }
  __device__ QueryFacts facts(int i) const {
    auto* const numbers = reinterpret_cast<float*>(shared + kTilesBytes + i % kStages * kFactsBytes);
    return {numbers, numbers + kScoreColumns, reinterpret_cast<int*>(numbers + 2 * kScoreColumns)};
  }
};

/// Results of a warpgroup: each warp holds 16 of 64 rows.
template <int kHeadDim>
using Results = float[kHeadDim / 8][4];

/// Starts the scores of a tile and the products for their gradients, each as a separate group.
template <int kHeadDim>
__device__ inline void start_scores(Scores& scores, Scores& products, const WarpgroupBackwardLayout<kHeadDim>& layout,
                                    int row, int i) {
  wgmma_fence();
  start_rows(scores, layout.kept(0), row, layout.changing(i, 0));
  wgmma_commit();
  start_rows(products, layout.kept(1), row, layout.changing(i, 1));
  wgmma_commit();
}

/// Starts results += left times the rows of a tile, as a group.
template <int kHeadDim>
__device__ inline void start_sum(Results<kHeadDim>& results, const LeftFragments<kScoreColumns>& left,
                                 const typename WarpgroupBackwardLayout<kHeadDim>::Changing& tile) {
  wgmma_fence();
  start_results<kScoreColumns, kHeadDim>(results, left, tile);
  wgmma_commit();
}

/// Waits for all but the newest group of this thread's copies, then synchronises the block, so that the copied tile is
/// ready for all products.
__device__ inline void meet_with_copies() {
  cp_async_wait<1>();
  fence_async_proxy();
  __syncthreads();
}

/// dk and dv of kRows keys of one key head: iterates over all queries that see any of them, in all heads that read the
/// key head.
template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, 1) differentiate_keys_in_warpgroups(Backward b) {
  NB_DYNAMIC_SHARED(shared);
  const WarpgroupBackwardLayout<kHeadDim> layout{shared};
  const int kv_head = static_cast<int>(blockIdx.y);
  const int group = b.shape.heads / b.shape.kv_heads;
  const int block_key = static_cast<int>(blockIdx.x) * kRows;
  const int last_key = min(block_key + kRows, b.shape.length) - 1;
  const int first_tile = block_key / kScoreColumns;
  const int tiles = b.in.mask.last_query[last_key] / kScoreColumns - first_tile + 1;
  const RowsIn k = b.key_rows(b.in.k, kv_head);
  const RowsIn v = b.key_rows(b.in.v, kv_head);
  const auto first_query_of = [&](int i) { return (first_tile + i % tiles) * kScoreColumns; };

  const auto copy_queries = [&](int i) {
    if (i < tiles * group) {
      const int head = kv_head * group + i / tiles;
      copy_rows<kScoreColumns, kThreads>(layout.changing(i, 0), b.query_rows(b.in.q, head), first_query_of(i));
      copy_rows<kScoreColumns, kThreads>(layout.changing(i, 1), b.query_rows(b.gradients.dy, head), first_query_of(i));
      layout.facts(i).load(b, head, first_query_of(i));
    }
    cp_async_commit();  // also of nothing: the wait counts groups
  };

  const int group_row = warp_id() / 4 * kGroupRows;
  const int group_key = block_key + group_row;
  const int row = group_row + warp_id() % 4 * 16;
  const int key = block_key + row;
  Results<kHeadDim> dk = {};
  Results<kHeadDim> dv = {};
  copy_rows<kRows, kThreads>(layout.kept(0), k, block_key);
  copy_rows<kRows, kThreads>(layout.kept(1), v, block_key);
  copy_queries(0);
  copy_queries(1);
  for (int i = 0; i < tiles * group; ++i) {
    meet_with_copies();
    copy_queries(i + 2);
    const QueryFacts facts = layout.facts(i);
    const int query = first_query_of(i);
    const int last_query = min(query + kScoreColumns, b.shape.length) - 1;
    if (last_query < group_key || facts.first_key[0] >= group_key + kGroupRows) continue;  // none sees the group's keys
    Scores scores = {};
    Scores products = {};
    start_scores(scores, products, layout, group_row, i);
    wgmma_wait<1>();
    const float scale_log2 = b.in.scale * kLog2E;
    if (is_taken(!b.in.masks_full_tiles && key + 15 <= query && facts.first_key[last_query - query] <= key)) {
      weigh_columns<false>(scores, facts, scale_log2, key + lane_id() / 4, query);
    } else {
      weigh_columns<true>(scores, facts, scale_log2, key + lane_id() / 4, query);
    }
    const LeftFragments<kScoreColumns> weights(scores);
    start_sum<kHeadDim>(dv, weights, layout.changing(i, 1));
    wgmma_wait<1>();
    differentiate_columns(products, scores, facts);
    const LeftFragments<kScoreColumns> differences(products);
    start_sum<kHeadDim>(dk, differences, layout.changing(i, 0));
    wgmma_wait<0>();
  }
  __syncthreads();  // all have read the keys and values: their memory takes the results
  store_results<kHeadDim>(dk, b.in.scale, b.in.scale, layout.kept(0), row, as_output(k, b.in.k, b.gradients.dk), key);
  store_results<kHeadDim>(dv, 1.0f, 1.0f, layout.kept(1), row, as_output(v, b.in.v, b.gradients.dv), key);
}

/// dq of kRows queries of one head, last queries first: without a window, those have the most work.
template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, 1) differentiate_queries_in_warpgroups(Backward b) {
  NB_DYNAMIC_SHARED(shared);
  const WarpgroupBackwardLayout<kHeadDim> layout{shared};
  const int head = static_cast<int>(blockIdx.y);
  const int kv_head = head / (b.shape.heads / b.shape.kv_heads);
  const int block_query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kRows;
  const int block_last = min(block_query + kRows, b.shape.length) - 1;
  const int first_tile = b.in.mask.first_key[block_query] / kScoreColumns;
  const int tiles = block_last / kScoreColumns - first_tile + 1;
  const RowsIn q = b.query_rows(b.in.q, head);
  const RowsIn k = b.key_rows(b.in.k, kv_head);
  const RowsIn v = b.key_rows(b.in.v, kv_head);
  const auto key_of = [&](int i) { return (first_tile + (b.in.nearest_first ? tiles - 1 - i : i)) * kScoreColumns; };
  const auto copy_keys = [&](int i) {
    if (i < tiles) {
      copy_rows<kScoreColumns, kThreads>(layout.changing(i, 0), k, key_of(i));
      copy_rows<kScoreColumns, kThreads>(layout.changing(i, 1), v, key_of(i));
    }
    cp_async_commit();  // also of nothing: the wait counts groups
  };

  const int group_row = warp_id() / 4 * kGroupRows;
  const int group_query = block_query + group_row;
  const int group_last = min(group_query + kGroupRows, b.shape.length) - 1;  // less: the group has none
  const int first_of_group = b.in.mask.first_key[min(group_query, b.shape.length - 1)];
  const int row = group_row + warp_id() % 4 * 16;
  const int query = block_query + row;
  const int first_of_last = b.in.mask.first_key[min(query + 16, b.shape.length) - 1];
  const LaneRows rows(b, head, query);
  Results<kHeadDim> dq = {};
  copy_rows<kRows, kThreads>(layout.kept(0), q, block_query);
  copy_rows<kRows, kThreads>(layout.kept(1), b.query_rows(b.gradients.dy, head), block_query);
  copy_keys(0);
  copy_keys(1);
  for (int i = 0; i < tiles; ++i) {
    meet_with_copies();
    copy_keys(i + 2);
    const int key = key_of(i);
    if (key > group_last || key + kScoreColumns <= first_of_group) {  // no query of the group sees the tile
      wgmma_wait<0>();
      continue;
    }
    Scores scores = {};
    Scores products = {};
    start_scores(scores, products, layout, group_row, i);
    wgmma_wait<1>();
    const float scale_log2 = b.in.scale * kLog2E;
    if (is_taken(!b.in.masks_full_tiles && key + kScoreColumns - 1 <= query && first_of_last <= key)) {
      weigh_rows<false>(scores, rows, scale_log2, key);
    } else {
      weigh_rows<true>(scores, rows, scale_log2, key);
    }
    wgmma_wait<0>();
    differentiate_rows(products, scores, rows);
    const LeftFragments<kScoreColumns> differences(products);
    start_sum<kHeadDim>(dq, differences, layout.changing(i, 0));
  }
  wgmma_wait<0>();
  __syncthreads();  // all have read the queries: their memory takes the results
  if (query >= b.shape.length) return;
  store_results<kHeadDim>(dq, b.in.scale, b.in.scale, layout.kept(0), row, as_output(q, b.in.q, b.gradients.dq), query);
}

template <int kHeadDim>
void launch_passes(const Backward& b, Stream stream) {
  const auto tiles = static_cast<unsigned>((b.shape.length + kRows - 1) / kRows);
  NB_LAUNCH(differentiate_keys_in_warpgroups<kHeadDim>, dim3(tiles, static_cast<unsigned>(b.shape.kv_heads)),
            dim3(kThreads), WarpgroupBackwardLayout<kHeadDim>::kSharedBytes, stream, b);
  NB_LAUNCH(differentiate_queries_in_warpgroups<kHeadDim>, dim3(tiles, static_cast<unsigned>(b.shape.heads)),
            dim3(kThreads), WarpgroupBackwardLayout<kHeadDim>::kTilesBytes, stream, b);
}

}  // namespace

void differentiate_with_warpgroups(const Backward& b, Stream stream) {
  if (b.shape.head_dim > 64) {
    launch_passes<128>(b, stream);
  } else {
    launch_passes<64>(b, stream);
  }
}

}  // namespace nanobench::core::cuda
