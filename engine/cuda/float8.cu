#include "engine/cuda/float8.h"

#include "engine/cuda/vectors.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kTile = 64;
constexpr int kPiece = 16;  // numbers of a thread: 16 bytes of the result
constexpr int kThreads = kTile * kTile / kPiece;
constexpr int kWords = kPiece / 4;
constexpr int kPitch = kTile / 4 + 1;  // words of a tile's row; odd, so that a column lies in many banks

struct Float8Piece {
  std::uint32_t words[kWords];
};

__device__ inline void set_byte(Float8Piece& piece, int i, std::uint8_t byte) {
  piece.words[i / 4] |= static_cast<std::uint32_t>(byte) << (8 * (i % 4));
}

/// Numbers [begin, begin + 16) of a row as bytes, zeros from `end` on.
template <class Number>
__device__ inline Float8Piece quantized(const Number* row, std::int64_t begin, std::int64_t end, float scale) {
  const bool has_vectors = is_aligned(row + begin);
  Float8Piece piece = {};
#pragma unroll
  for (int half = 0; half < kPiece; half += kVector) {
    const Floats8 x = load_up_to(row, begin + half, end, has_vectors);
#pragma unroll
    for (int i = 0; i < kVector; ++i) set_byte(piece, half + i, to_e4m3(x.at[i] * scale).bits);
  }
  return piece;
}
__device__ inline Float8Piece quantized(const fp8_e5m2* row, std::int64_t begin, std::int64_t end, float) {
  Float8Piece piece = {};
  if (begin + kPiece <= end && is_aligned(row + begin)) {
    const uint4 words = load_vector<uint4>(row + begin);
    return {{words.x, words.y, words.z, words.w}};
  }
#pragma unroll
  for (int i = 0; i < kPiece; ++i)
    if (begin + i < end) set_byte(piece, i, row[begin + i].bits);
  return piece;
}

/// Bytes [begin, begin + 16) of a row, up to `end`.
template <class Float8>
__device__ inline void store_piece(Float8* row, std::int64_t begin, std::int64_t end, const Float8Piece& piece) {
  if (begin + kPiece <= end && is_aligned(row + begin)) {
    store_vector(row + begin, make_uint4(piece.words[0], piece.words[1], piece.words[2], piece.words[3]));
    return;
  }
#pragma unroll
  for (int i = 0; i < kPiece; ++i)
    if (begin + i < end) row[begin + i] = {static_cast<std::uint8_t>(piece.words[i / 4] >> (8 * (i % 4)))};
}

template <class Number, class Float8>
__global__ void __launch_bounds__(kThreads)
    quantize_tiles(std::int64_t rows, std::int64_t columns, MatrixView<const Number> x, float scale,
                   MatrixView<Float8> by_rows, MatrixView<Float8> by_columns) {
  __shared__ std::uint32_t tile[kTile * kPitch];
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int line = static_cast<int>(threadIdx.x) / (kTile / kPiece);  // row of the tile, then column
  const int begin = static_cast<int>(threadIdx.x) % (kTile / kPiece) * kPiece;
  if (first_row + line < rows) {
    const std::int64_t row = first_row + line;
    const Float8Piece piece = quantized(x.data + row * x.stride, first_column + begin, columns, scale);
    if (by_rows.data != nullptr) store_piece(by_rows.data + row * by_rows.stride, first_column + begin, columns, piece);
#pragma unroll
    for (int i = 0; i < kWords; ++i) tile[line * kPitch + begin / 4 + i] = piece.words[i];
  }
  __syncthreads();
  if (by_columns.data == nullptr || first_column + line >= columns) return;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(tile);
  Float8Piece piece = {};
#pragma unroll
  for (int i = 0; i < kPiece; ++i)
    if (first_row + begin + i < rows) set_byte(piece, i, bytes[(begin + i) * kPitch * 4 + line]);
  store_piece(by_columns.data + (first_column + line) * by_columns.stride, first_row + begin, rows, piece);
}

template <class Number, class Float8>
void launch_tiles(std::int64_t rows, std::int64_t columns, const MatrixView<const Number>& x, float scale,
                  const MatrixView<Float8>& by_rows, const MatrixView<Float8>& by_columns, Stream stream) {
  if (rows <= 0 || columns <= 0) return;
  const dim3 grid(static_cast<unsigned>(ceil_div(columns, kTile)), static_cast<unsigned>(ceil_div(rows, kTile)));
  NB_LAUNCH((quantize_tiles<Number, Float8>), grid, dim3(kThreads), 0, stream, rows, columns, x, scale, by_rows,
            by_columns);
}

}  // namespace

template <class Number>
void quantize_e4m3(std::int64_t rows, std::int64_t columns, const MatrixView<const Number>& x, float scale,
                   const MatrixView<fp8_e4m3>& by_rows, const MatrixView<fp8_e4m3>& by_columns, Stream stream) {
  launch_tiles(rows, columns, x, scale, by_rows, by_columns, stream);
}

void transpose_e5m2(std::int64_t rows, std::int64_t columns, const MatrixView<const fp8_e5m2>& from,
                    const MatrixView<fp8_e5m2>& to, Stream stream) {
  launch_tiles(rows, columns, from, 1.0f, MatrixView<fp8_e5m2>{}, to, stream);
}

template void quantize_e4m3(std::int64_t, std::int64_t, const MatrixView<const bf16>&, float,
                            const MatrixView<fp8_e4m3>&, const MatrixView<fp8_e4m3>&, Stream);
template void quantize_e4m3(std::int64_t, std::int64_t, const MatrixView<const float>&, float,
                            const MatrixView<fp8_e4m3>&, const MatrixView<fp8_e4m3>&, Stream);

}  // namespace nanobench::core::cuda
