// Attention forward and backward for one instruction set; see attention_kernel.h.
#include <cstdint>
#include <span>
#include <vector>

#include "engine/kernels/attention_kernel.h"
#include "engine/kernels/scratch.h"

namespace nanobench::core::NB_PATH {

#include "engine/kernels/vector/simd.inl"

namespace {

constexpr std::int64_t kTile = 64;   // queries of a tile
constexpr std::int64_t kBlock = 64;  // keys of a block
constexpr float kMasked = -1e30f;    // finite, so that a row without keys so far gives no NaN; later keys outweigh it

static_assert(kTile % 4 == 0 && kBlock % NB_LANES == 0);

/// Transposed key blocks: block b is [E, kBlock], with zeros after the end.
inline void transpose_blocks(const AttentionShape& shape, const float* x, std::int64_t kv_head, float* out) {
  const std::int64_t row = shape.kv_heads * shape.head_dim;
  const float* from = x + kv_head * shape.head_dim;
  for (std::int64_t begin = 0; begin < shape.length; begin += kBlock, out += shape.head_dim * kBlock) {
    const std::int64_t keys = smaller(kBlock, shape.length - begin);
    for (std::int64_t e = 0; e < shape.head_dim; ++e) {
      for (std::int64_t j = 0; j < keys; ++j) out[e * kBlock + j] = from[(begin + j) * row + e];
      for (std::int64_t j = keys; j < kBlock; ++j) out[e * kBlock + j] = 0.0f;
    }
  }
}

struct Range {
  std::int64_t begin, end;
};

/// One tile of queries of one head against one block of keys.
struct Visit {
  std::int64_t query_begin, queries, key_begin, keys;
  bool is_masked;

  Visit(const AttentionShape& shape, const AttentionInputs& in, std::int64_t query, std::int64_t key)
      : query_begin(query),
        queries(smaller(kTile, shape.length - query)),
        key_begin(key),
        keys(smaller(kBlock, shape.length - key)),
        is_masked(in.masks_full_blocks || in.first_key[static_cast<std::size_t>(query + queries - 1)] > key ||
                  key + kBlock > query + 1) {}

  /// Columns of this block that query i of the tile sees: [first, last).
  std::int64_t first(std::span<const std::int64_t> first_key, std::int64_t i) const {
    return first_key[static_cast<std::size_t>(query_begin + i)] - key_begin;
  }
  std::int64_t last(std::int64_t i) const { return query_begin + i + 1 - key_begin; }

  /// Columns that any of queries [i, i + count) sees.
  Range columns_of(std::span<const std::int64_t> first_key, std::int64_t i, std::int64_t count) const {
    if (!is_masked) return {0, keys};
    return {larger(first(first_key, i), 0), smaller(last(i + count - 1), keys)};
  }
  /// Queries that see any of columns [j, j + count).
  Range queries_of(std::span<const std::int64_t> first_key, std::int64_t j, std::int64_t count) const {
    if (!is_masked) return {0, queries};
    std::int64_t end = queries;
    while (end > 0 && first(first_key, end - 1) >= j + count) --end;
    return {larger(key_begin + j - query_begin, 0), end};
  }
};

/// Calls visit(key) for the first key of every block that a tile visits, in the configured order.
template <class Body>
inline void visit_blocks(const AttentionInputs& in, std::int64_t query, std::int64_t queries, Body&& body) {
  const std::int64_t begin = in.first_key[static_cast<std::size_t>(query)] / kBlock * kBlock;
  const std::int64_t count = (query + queries - begin + kBlock - 1) / kBlock;
  for (std::int64_t i = 0; i < count; ++i) body(begin + (in.nearest_first ? count - 1 - i : i) * kBlock);
}

// The three kinds of products of a visit. At the edges of the mask, a few rows at a time skip keys that none of them
// sees: a seventh of the work at T = 1,024 with a window of 256.

/// out [queries, kBlock] = rows [queries, dim] times a transposed block; columns that no query of a row tile sees are
/// unchanged.
inline void score_products(const Visit& visit, std::span<const std::int64_t> first_key, std::int64_t dim,
                           const float* rows, std::int64_t row, const float* block, float* out) {
  if (!visit.is_masked) return product<false>(visit.queries, kBlock, dim, rows, row, 1, block, kBlock, out, kBlock);
  for (std::int64_t i = 0; i < visit.queries; i += NB_TILE_ROWS) {
    const std::int64_t count = smaller(NB_TILE_ROWS, visit.queries - i);
    const Range seen = visit.columns_of(first_key, i, count);
    const std::int64_t begin = seen.begin / NB_LANES * NB_LANES;
    const std::int64_t width = (seen.end - begin + NB_LANES - 1) / NB_LANES * NB_LANES;
    if (seen.end > seen.begin)
      product<false>(count, width, dim, rows + i * row, row, 1, block + begin, kBlock, out + i * kBlock + begin,
                     kBlock);
  }
}

/// out [queries, dim] += weights [queries, kBlock] times keys or values [keys, dim].
inline void query_sums(const Visit& visit, std::span<const std::int64_t> first_key, std::int64_t dim,
                       const float* weights, const float* rows, std::int64_t row, float* out) {
  if (!visit.is_masked) return product<true>(visit.queries, dim, visit.keys, weights, kBlock, 1, rows, row, out, dim);
  for (std::int64_t i = 0; i < visit.queries; i += NB_TILE_ROWS) {
    const std::int64_t count = smaller(NB_TILE_ROWS, visit.queries - i);
    const Range seen = visit.columns_of(first_key, i, count);
    if (seen.end > seen.begin)
      product<true>(count, dim, seen.end - seen.begin, weights + i * kBlock + seen.begin, kBlock, 1,
                    rows + seen.begin * row, row, out + i * dim, dim);
  }
}

/// out [keys, dim] += weights^T [keys, queries] times queries or their gradients [queries, dim].
inline void key_sums(const Visit& visit, std::span<const std::int64_t> first_key, std::int64_t dim,
                     const float* weights, const float* rows, std::int64_t row, float* out) {
  // Keys after the tile's last query are masked for the whole tile.
  const std::int64_t keys = smaller(visit.keys, visit.last(visit.queries - 1));
  if (!visit.is_masked) return product<true>(keys, dim, visit.queries, weights, 1, kBlock, rows, row, out, dim);
  for (std::int64_t j = 0; j < keys; j += NB_TILE_ROWS) {
    const std::int64_t count = smaller(NB_TILE_ROWS, keys - j);
    const Range seeing = visit.queries_of(first_key, j, count);
    if (seeing.end > seeing.begin)
      product<true>(count, dim, seeing.end - seeing.begin, weights + seeing.begin * kBlock + j, 1, kBlock,
                    rows + seeing.begin * row, row, out + j * dim, dim);
  }
}

inline IntVec lane_numbers() {
  IntVec lanes{};
  for (int i = 0; i < NB_LANES; ++i) lanes[i] = i;
  return lanes;
}

/// kMasked where the query does not see the key. A separate function, so that a profiler can count it.
[[gnu::noinline]] void mask_scores(const Visit& visit, std::span<const std::int64_t> first_key, float* scores) {
  const IntVec lanes = lane_numbers();
  for (std::int64_t i = 0; i < visit.queries; ++i) {
    float* row = scores + i * kBlock;
    const auto first = static_cast<std::int32_t>(larger(visit.first(first_key, i), 0));
    const auto last = static_cast<std::int32_t>(smaller(larger(visit.last(i), 0), kBlock));
    for (std::int64_t j = 0; j < kBlock; j += NB_LANES) {
      const IntVec column = lanes + static_cast<std::int32_t>(j);
      const IntVec is_seen = (column >= first) & (column < last);
      store(row + j, is_seen ? load(row + j) : broadcast(kMasked));
    }
  }
}

constexpr float kLog2E = 1.44269504088896341f;

/// The running softmax of one tile, over unscaled scores.
struct Online {
  alignas(64) float scores[kTile * kBlock];
  float largest[kTile];
  float sums[kTile];
};

/// scores become exp(scale (scores - largest)); output rows are scaled down where the max score grew.
inline void absorb_block(const Visit& visit, std::int64_t head_dim, float scale, Online& state, float* output) {
  const float factor = scale * kLog2E;
  for (std::int64_t i = 0; i < visit.queries; ++i) {
    float* row = state.scores + i * kBlock;
    Vec most = load(row);
    for (std::int64_t j = NB_LANES; j < kBlock; j += NB_LANES) most = maximum(most, load(row + j));
    const float before = state.largest[i];
    const float block_most = horizontal_max(most);
    const float now = before > block_most ? before : block_most;
    Vec total{};
    for (std::int64_t j = 0; j < kBlock; j += NB_LANES) {
      const Vec weight = exponential2((load(row + j) - now) * factor);
      store(row + j, weight);
      total += weight;
    }
    const float shrink = now == before ? 1.0f : exponential2(broadcast((before - now) * factor))[0];
    state.sums[i] = state.sums[i] * shrink + horizontal_sum(total);
    state.largest[i] = now;
    if (shrink == 1.0f) continue;
    float* out = output + i * head_dim;
    for (std::int64_t e = 0; e < head_dim; e += NB_LANES) store(out + e, load(out + e) * shrink);
  }
}

inline void forward_tile(const AttentionShape& shape, const AttentionInputs& in, const float* key_blocks,
                         std::int64_t head, std::int64_t query, Online& state, float* output, float* y,
                         float* log_sums) {
  const std::int64_t dim = shape.head_dim, q_row = shape.heads * dim, kv_row = shape.kv_heads * dim;
  const std::int64_t kv_head = head / (shape.heads / shape.kv_heads);
  const std::int64_t queries = smaller(kTile, shape.length - query);
  set_all(state.largest, kTile, kMasked);
  set_all(state.sums, kTile, 0.0f);
  set_all(output, kTile * dim, 0.0f);
  const float* q = in.q + query * q_row + head * dim;
  visit_blocks(in, query, queries, [&](std::int64_t key) {
    const Visit visit(shape, in, query, key);
    score_products(visit, in.first_key, dim, q, q_row, key_blocks + key * dim, state.scores);
    if (visit.is_masked) mask_scores(visit, in.first_key, state.scores);
    absorb_block(visit, dim, in.scale, state, output);
    query_sums(visit, in.first_key, dim, state.scores, in.v + key * kv_row + kv_head * dim, kv_row, output);
  });
  for (std::int64_t i = 0; i < queries; ++i) {
    const float factor = 1.0f / state.sums[i];
    float* out = y + (query + i) * q_row + head * dim;
    for (std::int64_t e = 0; e < dim; e += NB_LANES) store(out + e, load(output + i * dim + e) * factor);
    log_sums[head * shape.length + query + i] = state.largest[i] * in.scale + __builtin_logf(state.sums[i]);
  }
}

}  // namespace

void attention_forward(const AttentionShape& shape, const AttentionInputs& in, float* y, float* log_sums,
                       ThreadPool& threads) {
  const std::int64_t blocks = (shape.length + kBlock - 1) / kBlock;
  const std::int64_t tiles = (shape.length + kTile - 1) / kTile;
  const std::int64_t per_head = blocks * kBlock * shape.head_dim;
  float* const packed = scratch(ScratchUse::kKeyBlocks, shape.kv_heads * per_head);
  threads.parallel_for(shape.kv_heads,
                       [&](std::int64_t g) { transpose_blocks(shape, in.k, g, packed + g * per_head); });
  const std::int64_t group = shape.heads / shape.kv_heads;
  threads.parallel_for(shape.heads * tiles, [&](std::int64_t item) {
    const std::int64_t head = item / tiles;
    Online state;
    float* const output = scratch(ScratchUse::kTile, kTile * shape.head_dim);
    forward_tile(shape, in, packed + head / group * per_head, head, item % tiles * kTile, state, output, y, log_sums);
  });
}

namespace {

/// One part of the backward pass: the queries of a chunk and the keys that they see.
struct Chunk {
  std::int64_t query_begin, query_end, key_begin, key_end;
  std::int64_t offset;  // of its gradients of keys and values, in rows
};

inline std::vector<Chunk> make_chunks(const AttentionShape& shape, std::span<const std::int64_t> first_key) {
  constexpr std::int64_t kMinRows = 256, kMaxParts = 64;
  const std::int64_t wanted = larger(kMinRows, (shape.length + kMaxParts - 1) / kMaxParts);
  const std::int64_t size = (wanted + kTile - 1) / kTile * kTile;
  std::vector<Chunk> chunks;
  std::int64_t offset = 0;
  for (std::int64_t begin = 0; begin < shape.length; begin += size) {
    const std::int64_t end = smaller(begin + size, shape.length);
    const std::int64_t key = first_key[static_cast<std::size_t>(begin)] / kBlock * kBlock;
    chunks.push_back({begin, end, key, end, offset});
    offset += end - key;
  }
  return chunks;
}

struct BackwardBuffers {
  alignas(64) float weights[kTile * kBlock];
  alignas(64) float gradients[kTile * kBlock];
  float dots[kTile];  // dy . y of each query
};

/// weights = exp(scale q k^T - log sum), 0 where masked.
inline void recompute_weights(const Visit& visit, const AttentionInputs& in, const float* log_sums, float* weights) {
  if (visit.is_masked) mask_scores(visit, in.first_key, weights);
  const float factor = in.scale * kLog2E;
  for (std::int64_t i = 0; i < visit.queries; ++i) {
    float* row = weights + i * kBlock;
    const float shift = log_sums[i] * kLog2E;
    for (std::int64_t j = 0; j < kBlock; j += NB_LANES) store(row + j, exponential2(load(row + j) * factor - shift));
  }
}

inline void backward_tile(const AttentionShape& shape, const AttentionInputs& in, const float* key_blocks,
                          const float* value_blocks, std::int64_t head, std::int64_t query, const float* y,
                          const float* log_sums, const float* dy, BackwardBuffers& buffers, float* dq_tile, float* dq,
                          const Chunk& chunk, float* dk, float* dv) {
  const std::int64_t dim = shape.head_dim, q_row = shape.heads * dim, kv_row = shape.kv_heads * dim;
  const std::int64_t kv_head = head / (shape.heads / shape.kv_heads);
  const std::int64_t queries = smaller(kTile, shape.length - query);
  const std::int64_t at = query * q_row + head * dim;
  set_all(dq_tile, kTile * dim, 0.0f);
  for (std::int64_t i = 0; i < queries; ++i) {
    Vec sum{};
    for (std::int64_t e = 0; e < dim; e += NB_LANES)
      sum += load(dy + at + i * q_row + e) * load(y + at + i * q_row + e);
    buffers.dots[i] = horizontal_sum(sum);
  }
  visit_blocks(in, query, queries, [&](std::int64_t key) {
    const Visit visit(shape, in, query, key);
    float* dk_block = dk + (chunk.offset + key - chunk.key_begin) * dim;
    float* dv_block = dv + (chunk.offset + key - chunk.key_begin) * dim;
    score_products(visit, in.first_key, dim, in.q + at, q_row, key_blocks + key * dim, buffers.weights);
    recompute_weights(visit, in, log_sums + head * shape.length + query, buffers.weights);
    key_sums(visit, in.first_key, dim, buffers.weights, dy + at, q_row, dv_block);
    score_products(visit, in.first_key, dim, dy + at, q_row, value_blocks + key * dim, buffers.gradients);
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = i * kBlock; j < (i + 1) * kBlock; j += NB_LANES) {
        const Vec gradient = (load(buffers.gradients + j) - buffers.dots[i]) * load(buffers.weights + j);
        store(buffers.gradients + j, gradient * in.scale);
      }
    }
    query_sums(visit, in.first_key, dim, buffers.gradients, in.k + key * kv_row + kv_head * dim, kv_row, dq_tile);
    key_sums(visit, in.first_key, dim, buffers.gradients, in.q + at, q_row, dk_block);
  });
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t e = 0; e < dim; e += NB_LANES) store(dq + at + i * q_row + e, load(dq_tile + i * dim + e));
}

/// Sums the chunks' gradients of one key/value head, in chunk order.
inline void gather_chunks(const AttentionShape& shape, const std::vector<Chunk>& chunks, const float* parts,
                          std::int64_t kv_head, float* out) {
  const std::int64_t dim = shape.head_dim, row = shape.kv_heads * dim;
  for (std::int64_t key = 0; key < shape.length; ++key) {
    float* to = out + key * row + kv_head * dim;
    bool is_first = true;
    for (const Chunk& chunk : chunks) {
      if (key < chunk.key_begin || key >= chunk.key_end) continue;
      const float* from = parts + (chunk.offset + key - chunk.key_begin) * dim;
      for (std::int64_t e = 0; e < dim; e += NB_LANES)
        store(to + e, is_first ? load(from + e) : load(to + e) + load(from + e));
      is_first = false;
    }
  }
}

}  // namespace

void attention_backward(const AttentionShape& shape, const AttentionInputs& in, const float* y, const float* log_sums,
                        const float* dy, float* dq, float* dk, float* dv, ThreadPool& threads) {
  const std::int64_t dim = shape.head_dim, group = shape.heads / shape.kv_heads;
  const std::int64_t per_head = (shape.length + kBlock - 1) / kBlock * kBlock * dim;
  const std::vector<Chunk> chunks = make_chunks(shape, in.first_key);
  const std::int64_t rows = chunks.back().offset + chunks.back().key_end - chunks.back().key_begin;
  float* const packed = scratch(ScratchUse::kKeyBlocks, 2 * shape.kv_heads * per_head);
  float* const parts = scratch(ScratchUse::kParts, 2 * shape.kv_heads * rows * dim);
  float* values = packed + shape.kv_heads * per_head;
  threads.parallel_for(2 * shape.kv_heads, [&](std::int64_t item) {
    const std::int64_t g = item / 2;
    if (item % 2 == 0) {
      transpose_blocks(shape, in.k, g, packed + g * per_head);
    } else {
      transpose_blocks(shape, in.v, g, values + g * per_head);
    }
  });
  const auto count = static_cast<std::int64_t>(chunks.size());
  threads.parallel_for(shape.kv_heads * count, [&](std::int64_t item) {
    const std::int64_t g = item / count;
    const Chunk& chunk = chunks[static_cast<std::size_t>(item % count)];
    float* dk_part = parts + 2 * g * rows * dim;
    float* dv_part = dk_part + rows * dim;
    set_all(dk_part + chunk.offset * dim, (chunk.key_end - chunk.key_begin) * dim, 0.0f);
    set_all(dv_part + chunk.offset * dim, (chunk.key_end - chunk.key_begin) * dim, 0.0f);
    BackwardBuffers buffers;
    set_all(buffers.gradients, kTile * kBlock, 0.0f);  // what a visit leaves out is multiplied by a weight of zero
    float* const dq_tile = scratch(ScratchUse::kTile, kTile * dim);
    for (std::int64_t head = g * group; head < (g + 1) * group; ++head) {
      for (std::int64_t query = chunk.query_begin; query < chunk.query_end; query += kTile) {
        backward_tile(shape, in, packed + g * per_head, values + g * per_head, head, query, y, log_sums, dy, buffers,
                      dq_tile, dq, chunk, dk_part, dv_part);
      }
    }
  });
  threads.parallel_for(2 * shape.kv_heads, [&](std::int64_t item) {
    const std::int64_t g = item / 2;
    const float* part = parts + 2 * g * rows * dim;
    gather_chunks(shape, chunks, item % 2 == 0 ? part : part + rows * dim, g, item % 2 == 0 ? dk : dv);
  });
}

}  // namespace nanobench::core::NB_PATH
