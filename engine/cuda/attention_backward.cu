#include "engine/cuda/attention_backward.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * 32;
constexpr int kRows = kWarps * 16;  // queries of a tile of queries and keys of a tile of keys

/// One block's shared memory in both passes: two constant tiles, and two changing tiles that are double-buffered.
template <int kHeadDim>
struct BackwardLayout {
  static constexpr int kTileBytes = Tile<kHeadDim>::bytes(kRows);
  static constexpr int kTilesBytes = 6 * kTileBytes;
  static constexpr int kSharedBytes = kTilesBytes + 2 * kRows * 3 * static_cast<int>(sizeof(float));
  static_assert(2 * kRows <= kThreads);
};

/// Results of a warp: 16 rows of kHeadDim numbers.
template <int kHeadDim>
using Results = float[kHeadDim / 8][4];
static_assert(kRows == kScoreColumns);

/// row_sums[h, t] = the sum of dy * y over the row; one warp per row.
__global__ void __launch_bounds__(kThreads) sum_rows(DeviceAttentionShape shape, AttentionGradients gradients) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + warp_id();
  if (row >= std::int64_t{shape.length} * shape.heads) return;
  const int lane = lane_id();
  float sum = 0.0f;
  for (int column = lane * 4; column < shape.head_dim; column += 128) {
    const auto dy = load_vector<uint2>(gradients.dy + row * shape.head_dim + column);
    const auto y = load_vector<uint2>(gradients.y + row * shape.head_dim + column);
    sum += unpack_low(dy.x) * unpack_low(y.x) + unpack_high(dy.x) * unpack_high(y.x);
    sum += unpack_low(dy.y) * unpack_low(y.y) + unpack_high(dy.y) * unpack_high(y.y);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(kAllLanes, sum, step);
  const std::int64_t token = row / shape.heads;
  if (lane == 0) gradients.row_sums[row % shape.heads * shape.length + token] = sum;
}

/// dk and dv of kRows keys of one key head: iterates over all queries that see any of them, in all heads that read the
/// key head.
template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) differentiate_keys(Backward b) {
  using L = BackwardLayout<kHeadDim>;
  NB_DYNAMIC_SHARED(shared);
  const Tile<kHeadDim> keys{shared};
  const Tile<kHeadDim> values{shared + L::kTileBytes};
  const auto query_tile = [&](int i) { return Tile<kHeadDim>{shared + (2 + i % 2 * 2) * L::kTileBytes}; };
  const auto gradient_tile = [&](int i) { return Tile<kHeadDim>{shared + (3 + i % 2 * 2) * L::kTileBytes}; };
  const auto facts_of = [&](int i) {
    auto* const numbers = reinterpret_cast<float*>(shared + L::kTilesBytes) + i % 2 * 3 * kRows;
    return QueryFacts{numbers, numbers + kRows, reinterpret_cast<int*>(numbers + 2 * kRows)};
  };

  const int kv_head = static_cast<int>(blockIdx.y);
  const int group = b.shape.heads / b.shape.kv_heads;
  const int block_key = static_cast<int>(blockIdx.x) * kRows;
  const int last_key = min(block_key + kRows, b.shape.length) - 1;
  const int first_tile = static_cast<int>(blockIdx.x);
  const int tiles = b.in.mask.last_query[last_key] / kRows - first_tile + 1;
  const RowsIn k = b.key_rows(b.in.k, kv_head);
  const RowsIn v = b.key_rows(b.in.v, kv_head);

  const auto copy_queries = [&](int i) {
    const int head = kv_head * group + i / tiles;
    const int first = (first_tile + i % tiles) * kRows;
    copy_rows<kRows, kThreads>(query_tile(i), b.query_rows(b.in.q, head), first);
    copy_rows<kRows, kThreads>(gradient_tile(i), b.query_rows(b.gradients.dy, head), first);
    facts_of(i).load(b, head, first);
    cp_async_commit();
  };

  const int row = warp_id() * 16;
  const int key = block_key + row;
  Results<kHeadDim> dk = {};
  Results<kHeadDim> dv = {};
  copy_rows<kRows, kThreads>(keys, k, block_key);
  copy_rows<kRows, kThreads>(values, v, block_key);
  copy_queries(0);
  for (int i = 0; i < tiles * group; ++i) {
    cp_async_wait<0>();
    __syncthreads();  // tile i is there for all, and nobody reads tile i - 1 any more
    if (i + 1 < tiles * group) copy_queries(i + 1);
    const int query = (first_tile + i % tiles) * kRows;
    const int last_query = min(query + kRows, b.shape.length) - 1;
    if (last_query < key || facts_of(i).first_key[0] >= key + 16) continue;  // none sees the warp's keys
    Scores scores = {};
    Scores products = {};
    multiply_rows(scores, keys, row, query_tile(i));
    multiply_rows(products, values, row, gradient_tile(i));
    const bool is_full =
        !b.in.masks_full_tiles && key + 15 <= query && facts_of(i).first_key[last_query - query] <= key;
    const float scale_log2 = b.in.scale * kLog2E;
    if (is_taken(is_full)) {
      weigh_columns<false>(scores, facts_of(i), scale_log2, key + lane_id() / 4, query);
    } else {
      weigh_columns<true>(scores, facts_of(i), scale_log2, key + lane_id() / 4, query);
    }
    differentiate_columns(products, scores, facts_of(i));
    multiply_results<kRows / 8, kHeadDim>(dv, scores, gradient_tile(i));
    multiply_results<kRows / 8, kHeadDim>(dk, products, query_tile(i));
  }
  store_results<kHeadDim>(dk, b.in.scale, b.in.scale, keys, row, as_output(k, b.in.k, b.gradients.dk), key);
  store_results<kHeadDim>(dv, 1.0f, 1.0f, values, row, as_output(v, b.in.v, b.gradients.dv), key);
}

/// dq of kRows queries of one head, last queries first: without a window, those have the most work.
template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) differentiate_queries(Backward b) {
  using L = BackwardLayout<kHeadDim>;
  NB_DYNAMIC_SHARED(shared);
  const Tile<kHeadDim> queries{shared};
  const Tile<kHeadDim> gradients{shared + L::kTileBytes};
  const auto key_tile = [&](int i) { return Tile<kHeadDim>{shared + (2 + i % 2 * 2) * L::kTileBytes}; };
  const auto value_tile = [&](int i) { return Tile<kHeadDim>{shared + (3 + i % 2 * 2) * L::kTileBytes}; };

  const int head = static_cast<int>(blockIdx.y);
  const int kv_head = head / (b.shape.heads / b.shape.kv_heads);
  const int block_query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kRows;
  const int block_last = min(block_query + kRows, b.shape.length) - 1;
  const int first_tile = b.in.mask.first_key[block_query] / kRows;
  const int tiles = block_last / kRows - first_tile + 1;
  const RowsIn q = b.query_rows(b.in.q, head);
  const RowsIn k = b.key_rows(b.in.k, kv_head);
  const RowsIn v = b.key_rows(b.in.v, kv_head);
  const auto key_of = [&](int i) { return (first_tile + (b.in.nearest_first ? tiles - 1 - i : i)) * kRows; };
  const auto copy_keys = [&](int i) {
    copy_rows<kRows, kThreads>(key_tile(i), k, key_of(i));
    copy_rows<kRows, kThreads>(value_tile(i), v, key_of(i));
    cp_async_commit();
  };

  const int row = warp_id() * 16;
  const int query = block_query + row;
  const int last = min(query + 16, b.shape.length) - 1;  // less than query: the warp has none
  const int first_of_first = b.in.mask.first_key[min(query, b.shape.length - 1)];
  const int first_of_last = b.in.mask.first_key[min(query + 16, b.shape.length) - 1];
  const LaneRows rows(b, head, query);
  Results<kHeadDim> dq = {};
  copy_rows<kRows, kThreads>(queries, q, block_query);
  copy_rows<kRows, kThreads>(gradients, b.query_rows(b.gradients.dy, head), block_query);
  copy_keys(0);
  for (int i = 0; i < tiles; ++i) {
    cp_async_wait<0>();
    __syncthreads();  // tile i is there for all, and nobody reads tile i - 1 any more
    if (i + 1 < tiles) copy_keys(i + 1);
    const int key = key_of(i);
    if (key > last || key + kRows <= first_of_first) continue;  // no query of the warp sees the tile
    Scores scores = {};
    Scores products = {};
    multiply_rows(scores, queries, row, key_tile(i));
    multiply_rows(products, gradients, row, value_tile(i));
    const float scale_log2 = b.in.scale * kLog2E;
    if (is_taken(!b.in.masks_full_tiles && key + kRows - 1 <= query && first_of_last <= key)) {
      weigh_rows<false>(scores, rows, scale_log2, key);
    } else {
      weigh_rows<true>(scores, rows, scale_log2, key);
    }
    differentiate_rows(products, scores, rows);
    multiply_results<kRows / 8, kHeadDim>(dq, products, key_tile(i));
  }
  if (query > last) return;
  store_results<kHeadDim>(dq, b.in.scale, b.in.scale, queries, row, as_output(q, b.in.q, b.gradients.dq), query);
}

template <int kHeadDim>
void launch_passes(const Backward& b, Stream stream) {
  const auto tiles = static_cast<unsigned>((b.shape.length + kRows - 1) / kRows);
  NB_LAUNCH(differentiate_keys<kHeadDim>, dim3(tiles, static_cast<unsigned>(b.shape.kv_heads)), dim3(kThreads),
            BackwardLayout<kHeadDim>::kSharedBytes, stream, b);
  NB_LAUNCH(differentiate_queries<kHeadDim>, dim3(tiles, static_cast<unsigned>(b.shape.heads)), dim3(kThreads),
            BackwardLayout<kHeadDim>::kTilesBytes, stream, b);
}

}  // namespace

void attention_backward(const DeviceAttentionShape& shape, const DeviceAttentionInputs& in,
                        const AttentionGradients& gradients, Stream stream) {
  check_attention(shape, in);
  const std::int64_t rows = std::int64_t{shape.length} * shape.heads;
  NB_LAUNCH(sum_rows, dim3(static_cast<unsigned>((rows + kWarps - 1) / kWarps)), dim3(kThreads), 0, stream, shape,
            gradients);
  const Backward b{shape, in, gradients};
  if (in.products == DeviceAttentionProducts::kWarpgroup) {
    differentiate_with_warpgroups(b, stream);
  } else if (shape.head_dim > 64) {
    launch_passes<128>(b, stream);
  } else if (shape.head_dim > 32) {
    launch_passes<64>(b, stream);
  } else {
    launch_passes<32>(b, stream);
  }
}

}  // namespace nanobench::core::cuda
