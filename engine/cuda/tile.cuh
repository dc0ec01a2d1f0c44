/// Tiles of bf16 in shared memory, and the fragments that a warp's tensor core products read from them.
///
/// A tile has rows of kColumns numbers. The eight numbers of a chunk (16 bytes) stay together. The position of a chunk
/// in its row depends on the row, so that in one column of chunks, eight neighbouring rows are in different banks:
/// ldmatrix and 16-byte accesses then have no conflicts.
#pragma once

#include "engine/cuda/platform.cuh"

namespace nanobench::core::cuda {

inline constexpr int kChunk = 8;  ///< bf16 numbers in 16 bytes
inline constexpr unsigned kAllLanes = 0xffffffffU;

template <int kColumns>
struct Tile {
  static constexpr int kChunks = kColumns / kChunk;
  static constexpr int kBanks = kChunks < 8 ? kChunks : 8;  ///< possible positions of a chunk
  static_assert(kChunks % kBanks == 0 && (kBanks & (kBanks - 1)) == 0);

  unsigned char* data;  ///< 128-byte aligned

  static constexpr int bytes(int rows) { return rows * kColumns * static_cast<int>(sizeof(bf16)); }

  __device__ unsigned char* at(int row, int chunk) const {
    const int turn = row / (8 / kBanks) % kBanks;
    return data + (row * kChunks + (chunk ^ turn)) * 16;
  }
};

/// Rows in global memory, such as those of one head in a [T, heads, D] tensor.
struct RowsIn {
  const bf16* base;         ///< row 0, 16-byte aligned
  std::int64_t row_stride;  ///< row stride in numbers, a multiple of 8
  int rows;
  int columns;  ///< a multiple of 8
};

/// Starts copying rows [first, first + kRows) to a tile; numbers beyond the last row or column become zero. Commits
/// nothing.
template <int kRows, int kThreads, class AnyTile>
__device__ inline void copy_rows(const AnyTile& tile, const RowsIn& from, int first) {
  constexpr int kChunks = AnyTile::kChunks;
  constexpr int kStep = kThreads / kChunks;  // rows that the threads copy at once
  static_assert(kThreads % kChunks == 0 && kRows % kStep == 0);
  const int line = static_cast<int>(threadIdx.x) / kChunks;
  const int chunk = static_cast<int>(threadIdx.x) % kChunks;
  const bool is_column = chunk * kChunk < from.columns;
  const bf16* source = from.base + (first + line) * from.row_stride + chunk * kChunk;
#pragma unroll
  for (int row = 0; row < kRows; row += kStep) {
    const bool is_valid = is_column && first + row + line < from.rows;
    cp_async_16(tile.at(row + line, chunk), is_valid ? source : from.base, is_valid);
    source += kStep * from.row_stride;
  }
}

__device__ inline int lane_id() {
  return static_cast<int>(threadIdx.x) % 32;
}
__device__ inline int warp_id() {
  return static_cast<int>(threadIdx.x) / 32;
}

/// Base of a lane's addresses for 16 x 16 numbers of a tile: `line` and `side` select the lane's row and which of the
/// two chunks it reads. Only an exclusive or depends on the column, and the row adds a constant, so the addresses of a
/// whole tile need few registers.
template <int kColumns>
struct Reader {
  static constexpr int kRowBytes = kColumns * static_cast<int>(sizeof(bf16));

  __device__ Reader(const Tile<kColumns>& tile, int line, int side) : data(tile.data) {
    const int turn = line / (8 / Tile<kColumns>::kBanks) % Tile<kColumns>::kBanks;
    offset = line * kRowBytes + (side ^ turn) * 16;
  }
  /// row and column are multiples of 16 (8 for the rows of one product).
  __device__ const unsigned char* at(int row, int column) const {
    return data + (offset ^ column / kChunk * 16) + row * kRowBytes;
  }

  const unsigned char* data;
  int offset;
};

/// Reader for a[16, 16] of a product by ldmatrix_x4: rows and columns from at(row, column) on.
template <int kColumns>
__device__ inline Reader<kColumns> left_reader(const Tile<kColumns>& tile) {
  return {tile, lane_id() % 16, lane_id() / 16};
}
/// Reader for b[16, 16] of two adjacent products by ldmatrix_x4, from a tile that holds it transposed: at(column of b,
/// row of b). The first product takes b[0], b[1], the second b[2], b[3].
template <int kColumns>
__device__ inline Reader<kColumns> transposed_reader(const Tile<kColumns>& tile) {
  return {tile, lane_id() % 8 + lane_id() / 16 * 8, lane_id() / 8 % 2};
}
/// Reader by ldmatrix_x4_trans from a tile that holds b untransposed: at(row of b, column of b).
template <int kColumns>
__device__ inline Reader<kColumns> right_reader(const Tile<kColumns>& tile) {
  return {tile, lane_id() % 16, lane_id() / 16};
}

/// Columns 16 j .. 16 j + 15 of results as operand a of another product, rounded to bf16: in both layouts, a lane's
/// numbers are in the same rows.
template <int kTiles>
__device__ inline void results_as_a(std::uint32_t (&a)[4], const float (&results)[kTiles][4], int j) {
  a[0] = pack_bf16(results[2 * j][0], results[2 * j][1]);
  a[1] = pack_bf16(results[2 * j][2], results[2 * j][3]);
  a[2] = pack_bf16(results[2 * j + 1][0], results[2 * j + 1][1]);
  a[3] = pack_bf16(results[2 * j + 1][2], results[2 * j + 1][3]);
}

/// results[16, kN] += rows row.. of `left` times the transposed `right`: both have kColumns of the inner dimension.
template <int kTiles, int kColumns>
__device__ inline void multiply_rows(float (&results)[kTiles][4], const Tile<kColumns>& left, int row,
                                     const Tile<kColumns>& right) {
  const auto from_left = left_reader(left);
  const auto from_right = transposed_reader(right);
#pragma unroll
  for (int k = 0; k < kColumns; k += 16) {
    std::uint32_t a[4];
    ldmatrix_x4(a, from_left.at(row, k));
#pragma unroll
    for (int j = 0; j < kTiles; j += 2) {
      std::uint32_t b[4];
      ldmatrix_x4(b, from_right.at(j * 8, k));
      mma_bf16(results[j], a, b[0], b[1]);
      mma_bf16(results[j + 1], a, b[2], b[3]);
    }
  }
}

/// results[16, kColumns] += left[16, 8 * kInner] times the tile's first 8 * kInner rows.
template <int kInner, int kColumns>
__device__ inline void multiply_results(float (&results)[kColumns / 8][4], const float (&left)[kInner][4],
                                        const Tile<kColumns>& right) {
  const auto from_right = right_reader(right);
#pragma unroll
  for (int k = 0; k < kInner / 2; ++k) {
    std::uint32_t a[4];
    results_as_a(a, left, k);
#pragma unroll
    for (int j = 0; j < kColumns / 8; j += 2) {
      std::uint32_t b[4];
      ldmatrix_x4_trans(b, from_right.at(k * 16, j * 8));
      mma_bf16(results[j], a, b[0], b[1]);
      mma_bf16(results[j + 1], a, b[2], b[3]);
    }
  }
}

/// Writable version of RowsIn.
struct RowsOut {
  bf16* base;
  std::int64_t row_stride;
  int rows;
  int columns;
};

/// Writes a warp's results[16, kColumns] times `scale_upper` (rows 0 to 7) and `scale_lower` (rows 8 to 15). They pass
/// through rows row..row+15 of `stage`, which no other warp is using, so that global memory is written 16 bytes at a
/// time.
template <int kColumns, class AnyTile>
__device__ inline void store_results(const float (&results)[kColumns / 8][4], float scale_upper, float scale_lower,
                                     const AnyTile& stage, int row, const RowsOut& to, int first) {
  constexpr int kChunks = AnyTile::kChunks;
  static_assert(kChunks * kChunk == kColumns);
  const int lane = lane_id();
  __syncwarp();  // all lanes have read the previous contents of the rows
#pragma unroll
  for (int j = 0; j < kColumns / 8; ++j) {
    unsigned char* const upper = stage.at(row + lane / 4, j) + lane % 4 * 4;
    unsigned char* const lower = stage.at(row + lane / 4 + 8, j) + lane % 4 * 4;
    store_vector(upper, pack_bf16(results[j][0] * scale_upper, results[j][1] * scale_upper));
    store_vector(lower, pack_bf16(results[j][2] * scale_lower, results[j][3] * scale_lower));
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 16 * kChunks / 32; ++i) {
    const int place = i * 32 + lane;
    const int line = place / kChunks;
    const int chunk = place % kChunks;
    if (first + line < to.rows && chunk * kChunk < to.columns) {
      store_vector(to.base + (first + line) * to.row_stride + chunk * kChunk,
                   load_vector<uint4>(stage.at(row + line, chunk)));
    }
  }
}

}  // namespace nanobench::core::cuda
