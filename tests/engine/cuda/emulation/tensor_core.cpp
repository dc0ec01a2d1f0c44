// ldmatrix and mma in the register layouts of the PTX ISA ("Matrix fragments for mma.m16n8k16", "ldmatrix").
#include <array>
#include <bit>
#include <cstring>

#include "cuda_emulation.h"

namespace nanobench::core::cuda {
namespace {

using nanobench::emulation::kWarpLanes;
using nanobench::emulation::WarpOperation;

constexpr unsigned kTileRows = 8;
constexpr unsigned kRowBytes = 16;

struct MatrixOperand {
  const unsigned char* row;
  std::uint32_t* tiles;
};

/// Shared memory serves 128 bytes at a time, four from each bank: rows of one tile that lie in the same banks at
/// different places are read one after the other.
void count_conflicts(void* const (&lanes)[kWarpLanes], unsigned tile) {
  std::array<unsigned, kTileRows> users{};
  unsigned most = 0;
  for (unsigned row = 0; row < kTileRows; ++row) {
    const auto* operand = static_cast<const MatrixOperand*>(lanes[tile * kTileRows + row]);
    const auto address = reinterpret_cast<std::uintptr_t>(operand->row);
    most = std::max(most, ++users[address / kRowBytes % kTileRows]);
  }
  ++nanobench::emulation::statistics().matrix_row_reads;
  nanobench::emulation::statistics().matrix_conflicts += most - 1;
}

template <unsigned kTiles, bool kIsTransposed>
void combine_ldmatrix(void* const (&lanes)[kWarpLanes]) {
  for (unsigned tile = 0; tile < kTiles; ++tile) {
    std::uint16_t numbers[kTileRows][kTileRows];
    for (unsigned row = 0; row < kTileRows; ++row) {
      std::memcpy(numbers[row], static_cast<const MatrixOperand*>(lanes[tile * kTileRows + row])->row, kRowBytes);
    }
    count_conflicts(lanes, tile);
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      const unsigned row = lane / 4;
      const unsigned column = lane % 4 * 2;
      const std::uint32_t low = kIsTransposed ? numbers[column][row] : numbers[row][column];
      const std::uint32_t high = kIsTransposed ? numbers[column + 1][row] : numbers[row][column + 1];
      static_cast<MatrixOperand*>(lanes[lane])->tiles[tile] = low | high << 16;
    }
  }
}

constexpr WarpOperation kLdmatrixX2{"ldmatrix_x2", &combine_ldmatrix<2, false>};
constexpr WarpOperation kLdmatrixX4{"ldmatrix_x4", &combine_ldmatrix<4, false>};
constexpr WarpOperation kLdmatrixX4Trans{"ldmatrix_x4_trans", &combine_ldmatrix<4, true>};

void load_matrices(const WarpOperation& operation, std::uint32_t* tiles, const void* row, unsigned count,
                   const std::source_location& where) {
  // Lanes beyond the rows give an address that nobody reads.
  if (nanobench::emulation::lane_of_thread() < count * kTileRows) {
    nanobench::emulation::check_shared(row, kRowBytes, "ldmatrix");
  }
  MatrixOperand operand{static_cast<const unsigned char*>(row), tiles};
  nanobench::emulation::meet_warp(operation, 0xffffffffU, &operand, where);
}

struct ProductOperand {
  float* d;
  const std::uint32_t* a;
  std::uint32_t b[2];
};

void combine_product(void* const (&lanes)[kWarpLanes]) {
  float a[16][16];
  float b[16][8];
  float d[16][8];
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    const auto* operand = static_cast<const ProductOperand*>(lanes[lane]);
    const unsigned group = lane / 4;
    const unsigned pair = lane % 4 * 2;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = group + i % 2 * 8;
      const unsigned column = pair + i / 2 * 8;
      a[row][column] = unpack_low(operand->a[i]);
      a[row][column + 1] = unpack_high(operand->a[i]);
      d[group + i / 2 * 8][pair + i % 2] = operand->d[i];
    }
    for (unsigned i = 0; i < 2; ++i) {
      b[pair + i * 8][group] = unpack_low(operand->b[i]);
      b[pair + i * 8 + 1][group] = unpack_high(operand->b[i]);
    }
  }
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned k = 0; k < 16; ++k) {
      for (unsigned column = 0; column < 8; ++column) d[row][column] += a[row][k] * b[k][column];
    }
  }
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    auto* operand = static_cast<ProductOperand*>(lanes[lane]);
    for (unsigned i = 0; i < 4; ++i) operand->d[i] = d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
  }
  ++nanobench::emulation::statistics().tensor_products;
}

constexpr WarpOperation kProduct{"mma_bf16", &combine_product};

}  // namespace

void ldmatrix_x2(std::uint32_t (&tiles)[2], const void* row, const std::source_location& where) {
  load_matrices(kLdmatrixX2, tiles, row, 2, where);
}
void ldmatrix_x4(std::uint32_t (&tiles)[4], const void* row, const std::source_location& where) {
  load_matrices(kLdmatrixX4, tiles, row, 4, where);
}
void ldmatrix_x4_trans(std::uint32_t (&tiles)[4], const void* row, const std::source_location& where) {
  load_matrices(kLdmatrixX4Trans, tiles, row, 4, where);
}

void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
              const std::source_location& where) {
  ProductOperand operand{d, a, {b0, b1}};
  nanobench::emulation::meet_warp(kProduct, 0xffffffffU, &operand, where);
}

}  // namespace nanobench::core::cuda
