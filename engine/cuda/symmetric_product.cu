#include "engine/cuda/symmetric_product.h"

#include <string>

#include "engine/cuda/tile.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kSide = 128;  // of a block's tile of the result
constexpr int kInner = 64;  // columns of a that are in shared memory at once
constexpr int kStages = 3;
constexpr int kWarpRows = 64;
constexpr int kWarpColumns = 32;
constexpr int kThreads = kSide / kWarpRows * (kSide / kWarpColumns) * 32;
constexpr int kOperandBytes = Tile<kInner>::bytes(kSide);
constexpr int kStageBytes = 2 * kOperandBytes;
constexpr int kSharedBytes = kStages * kStageBytes;
static_assert(Tile<kSide>::bytes(kSide) <= kSharedBytes);

using Results = float[kWarpRows / 16][kWarpColumns / 8][4];

/// Row and column of tile `place` among those on and below the diagonal, row by row.
__device__ void locate(int place, int& row, int& column) {
  row = 0;
  while ((row + 1) * (row + 2) / 2 <= place) ++row;
  column = place - row * (row + 1) / 2;
}

__device__ void multiply(Results& results, const Tile<kInner>& left, int row, const Tile<kInner>& right, int column) {
  const auto from_left = left_reader(left);
  const auto from_right = transposed_reader(right);
#pragma unroll
  for (int k = 0; k < kInner; k += 16) {
    std::uint32_t a[kWarpRows / 16][4];
#pragma unroll
    for (int t = 0; t < kWarpRows / 16; ++t) ldmatrix_x4(a[t], from_left.at(row + t * 16, k));
#pragma unroll
    for (int j = 0; j < kWarpColumns / 8; j += 2) {
      std::uint32_t b[4];
      ldmatrix_x4(b, from_right.at(column + j * 8, k));
#pragma unroll
      for (int t = 0; t < kWarpRows / 16; ++t) {
        mma_bf16(results[t][j], a[t], b[0], b[1]);
        mma_bf16(results[t][j + 1], a[t], b[2], b[3]);
      }
    }
  }
}

/// Rounds a warp's results into the tile of the whole block; `first_row` and `first_column` locate the block in the
/// matrix.
__device__ void stage_results(const Results& results, const SymmetricProduct& p, const bf16* addend, int first_row,
                              int first_column, int row, int column, const Tile<kSide>& stage) {
  const int lane = lane_id();
#pragma unroll
  for (int t = 0; t < kWarpRows / 16; ++t) {
#pragma unroll
    for (int j = 0; j < kWarpColumns / 8; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int at_row = row + t * 16 + half * 8 + lane / 4;
        const int at_column = column + j * 8 + lane % 4 * 2;
        float low = results[t][j][2 * half] * p.scale;
        float high = results[t][j][2 * half + 1] * p.scale;
        if (addend != nullptr && first_row + at_row < p.rows && first_column + at_column < p.rows) {
          const std::int64_t at = std::int64_t{first_row + at_row} * p.rows + first_column + at_column;
          const auto pair = load_vector<std::uint32_t>(addend + at);
          low += unpack_low(pair) * p.addend_scale;
          high += unpack_high(pair) * p.addend_scale;
        }
        store_vector(stage.at(at_row, at_column / kChunk) + at_column % kChunk * 2, pack_bf16(low, high));
      }
    }
  }
}

/// A tile of the result, as stored in shared memory.
__device__ void store_tile(const Tile<kSide>& stage, const RowsOut& c, int first_row, int first_column) {
  for (int place = static_cast<int>(threadIdx.x); place < kSide * kSide / kChunk; place += kThreads) {
    const int row = place / (kSide / kChunk);
    const int chunk = place % (kSide / kChunk);
    if (first_row + row >= c.rows || first_column + chunk * kChunk >= c.columns) continue;
    store_vector(c.base + (first_row + row) * c.row_stride + first_column + chunk * kChunk,
                 load_vector<uint4>(stage.at(row, chunk)));
  }
}

/// Its mirror image: a warp transposes 32 rows of one column of chunks at once.
__device__ void store_mirrored(const Tile<kSide>& stage, const RowsOut& c, int first_row, int first_column) {
  const int lane = lane_id();
  for (int place = warp_id(); place < kSide / 32 * (kSide / kChunk); place += kThreads / 32) {
    const int row = place / (kSide / kChunk) * 32;
    const int chunk = place % (kSide / kChunk);
    std::uint32_t turned[4];
    ldmatrix_x4_trans(turned, stage.at(row + lane, chunk));
    const int to_row = first_column + chunk * kChunk + lane / 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int to_column = first_row + row + i * 8 + lane % 4 * 2;
      if (to_row < c.rows && to_column < c.columns) store_vector(c.base + to_row * c.row_stride + to_column, turned[i]);
    }
  }
}

/// A tile on the diagonal: values above the diagonal were computed too, but the value below is used on both sides.
__device__ void store_diagonal(const Tile<kSide>& stage, const RowsOut& c, int first) {
  for (int place = static_cast<int>(threadIdx.x); place < kSide * kSide; place += kThreads) {
    const int row = place / kSide;
    const int column = place % kSide;
    if (first + row >= c.rows || first + column >= c.columns) continue;
    const int below = max(row, column);
    const int left = min(row, column);
    c.base[(first + row) * c.row_stride + first + column] =
        *reinterpret_cast<const bf16*>(stage.at(below, left / kChunk) + left % kChunk * 2);
  }
}

__global__ void __launch_bounds__(kThreads, 2) multiply_by_transpose(SymmetricProduct p, bf16* c) {
  NB_DYNAMIC_SHARED(shared);
  int tile_row = 0;
  int tile_column = 0;
  locate(static_cast<int>(blockIdx.x), tile_row, tile_column);
  const int first_row = tile_row * kSide;
  const int first_column = tile_column * kSide;
  const bool is_diagonal = tile_row == tile_column;
  const bf16* const a = p.a + std::int64_t{blockIdx.y} * p.rows * p.columns;
  const auto left = [&](int i) { return Tile<kInner>{shared + i % kStages * kStageBytes}; };
  const auto right = [&](int i) { return Tile<kInner>{left(i).data + (is_diagonal ? 0 : kOperandBytes)}; };
  const int steps = (p.columns + kInner - 1) / kInner;
  const auto copy_step = [&](int i) {
    if (i < steps) {
      const RowsIn rows{a + i * kInner, p.columns, p.rows, p.columns - i * kInner};
      copy_rows<kSide, kThreads>(left(i), rows, first_row);
      if (!is_diagonal) copy_rows<kSide, kThreads>(right(i), rows, first_column);
    }
    cp_async_commit();  // also of nothing: the wait below counts groups
  };

  const int row = warp_id() / (kSide / kWarpColumns) * kWarpRows;
  const int column = warp_id() % (kSide / kWarpColumns) * kWarpColumns;
  Results results = {};
  for (int i = 0; i < kStages - 1; ++i) copy_step(i);
  for (int i = 0; i < steps; ++i) {
    cp_async_wait<kStages - 2>();
    __syncthreads();  // step i is there for all, and nobody reads step i - 1 any more
    copy_step(i + kStages - 1);
    multiply(results, left(i), row, right(i), column);
  }
  __syncthreads();  // the operands have been read: their memory takes the results
  const Tile<kSide> stage{shared};
  const std::int64_t matrix = std::int64_t{blockIdx.y} * p.rows * p.rows;
  const bf16* const addend = p.addend == nullptr ? nullptr : p.addend + matrix;
  stage_results(results, p, addend, first_row, first_column, row, column, stage);
  __syncthreads();
  const RowsOut out{c + matrix, p.rows, p.rows, p.rows};
  if (is_diagonal) {
    store_diagonal(stage, out, first_row);
  } else {
    store_tile(stage, out, first_row, first_column);
    store_mirrored(stage, out, first_row, first_column);
  }
}

}  // namespace

void symmetric_product(const SymmetricProduct& product, bf16* c, Stream stream) {
  const bool is_shape = product.count > 0 && product.rows > 0 && product.columns > 0 && product.rows % kChunk == 0 &&
                        product.columns % kChunk == 0;
  if (!is_shape) {
    throw Error(ErrorCode::kInvalidArgument, "CUDA symmetric product: " + std::to_string(product.count) +
                                                 " matrices of " + std::to_string(product.rows) + " x " +
                                                 std::to_string(product.columns) +
                                                 "; expected positive sizes, rows and columns multiples of 8");
  }
  const int tiles = (product.rows + kSide - 1) / kSide;
  NB_LAUNCH(multiply_by_transpose,
            dim3(static_cast<unsigned>(tiles * (tiles + 1) / 2), static_cast<unsigned>(product.count)), dim3(kThreads),
            kSharedBytes, stream, product, c);
}

}  // namespace nanobench::core::cuda
