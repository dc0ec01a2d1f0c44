/// Tiles of bf16 in shared memory, in the layout of warpgroup products: panels of 64 columns (matrix_descriptor.cuh).
#pragma once

#include "engine/cuda/tile.cuh"

namespace nanobench::core::cuda {

template <int kColumns, int kRows>
struct PanelTile {
  static constexpr int kPanelColumns = 64;
  static constexpr int kChunks = kColumns / kChunk;
  static constexpr int kRowBytes = Tile<kPanelColumns>::bytes(1);
  static constexpr int kPanelBytes = kRows * kRowBytes;
  static constexpr int kBytes = kColumns / kPanelColumns * kPanelBytes;
  static_assert(kColumns % kPanelColumns == 0 && kRows % 8 == 0);

  unsigned char* data;  ///< 1024-byte aligned

  __device__ unsigned char* at(int row, int chunk) const {
    constexpr int kPanelChunks = kPanelColumns / kChunk;
    return Tile<kPanelColumns>{data + chunk / kPanelChunks * kPanelBytes}.at(row, chunk % kPanelChunks);
  }

  /// Starts at `row`, a multiple of 8, and column 0; columns are the inner dimension of the product.
  __device__ SharedMatrix along_rows(int row) const {
    return shared_matrix<SharedMatrix::kUnit>(data + row * kRowBytes);
  }
  /// The whole tile; rows are the inner dimension.
  __device__ SharedMatrix across_rows() const { return shared_matrix<kPanelBytes>(data); }
  /// Offset of a descriptor along rows for `column`, a multiple of 16.
  __device__ static constexpr int column_bytes(int column) {
    return column / kPanelColumns * kPanelBytes + column % kPanelColumns * static_cast<int>(sizeof(bf16));
  }
  /// Offset of a descriptor across rows for `rows`, a multiple of 8.
  __device__ static constexpr int row_bytes(int rows) { return rows * kRowBytes; }
};

/// results[64, kRightRows] = rows row.. of `left` times the transposed `right`: both have kColumns of the inner
/// dimension. Each warp of a warpgroup holds 16 of the rows. Starts the products; commits nothing.
template <int kColumns, int kLeftRows, int kRightRows>
__device__ inline void start_rows(float (&results)[kRightRows / 8][4], const PanelTile<kColumns, kLeftRows>& left,
                                  int row, const PanelTile<kColumns, kRightRows>& right) {
  const SharedMatrix a = left.along_rows(row);
  const SharedMatrix b = right.along_rows(0);
#pragma unroll
  for (int k = 0; k < kColumns; k += 16) {
    wgmma_bf16<kRightRows>(results, a.after(left.column_bytes(k)), b.after(right.column_bytes(k)), k != 0);
  }
}

/// Results as operand a of further products, for the duration of those products.
template <int kInner>
struct LeftFragments {
  std::uint32_t a[kInner / 16][4];

  __device__ explicit LeftFragments(const float (&results)[kInner / 8][4]) {
#pragma unroll
    for (int k = 0; k < kInner / 16; ++k) results_as_a(a[k], results, k);
  }
};

/// results[64, kColumns] += left[64, kInner] times the tile's rows. Starts the products; commits nothing.
template <int kInner, int kColumns>
__device__ inline void start_results(float (&results)[kColumns / 8][4], const LeftFragments<kInner>& left,
                                     const PanelTile<kColumns, kInner>& right) {
  const SharedMatrix b = right.across_rows();
#pragma unroll
  for (int k = 0; k < kInner; k += 16) {
    wgmma_bf16_rows<kColumns>(results, left.a[k / 16], b.after(right.row_bytes(k)), true);
  }
}

}  // namespace nanobench::core::cuda
