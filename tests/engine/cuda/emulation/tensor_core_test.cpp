// ldmatrix and mma against plain loops that state the PTX layouts in another way: by lane, not by matrix element.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "engine/cuda/platform.cuh"

namespace nanobench::core::cuda {
namespace {

struct ProductTile {
  float a[16][16];
  float b[16][8];
  float d[16][8];
};

/// Fragments by the formulas of the PTX ISA for element i of a lane:
///   a: row = group (+ 8 if i in {2, 3, 6, 7}), column = 2 * (lane % 4) + i % 2 (+ 8 if i >= 4)
///   b: row = 2 * (lane % 4) + i % 2 (+ 8 if i >= 2), column = group
///   d: row = group (+ 8 if i >= 2), column = 2 * (lane % 4) + i % 2
__global__ void multiply(ProductTile* tile) {
  const unsigned lane = threadIdx.x;
  const unsigned group = lane / 4;
  const unsigned inner = lane % 4;
  float numbers[8];
  for (unsigned i = 0; i < 8; ++i) {
    const bool is_lower = i == 2 || i == 3 || i == 6 || i == 7;
    numbers[i] = tile->a[group + (is_lower ? 8 : 0)][2 * inner + i % 2 + (i >= 4 ? 8 : 0)];
  }
  std::uint32_t a[4];
  for (unsigned i = 0; i < 4; ++i) a[i] = pack_bf16(numbers[2 * i], numbers[2 * i + 1]);
  std::uint32_t b[2];
  for (unsigned i = 0; i < 2; ++i) {
    b[i] = pack_bf16(tile->b[2 * inner + 8 * i][group], tile->b[2 * inner + 1 + 8 * i][group]);
  }
  float d[4];
  for (unsigned i = 0; i < 4; ++i) d[i] = tile->d[group + (i >= 2 ? 8 : 0)][2 * inner + i % 2];
  mma_bf16(d, a, b[0], b[1]);
  for (unsigned i = 0; i < 4; ++i) tile->d[group + (i >= 2 ? 8 : 0)][2 * inner + i % 2] = d[i];
}

TEST(EmulatedTensorCore, MultipliesLikeALoop) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> small(-8, 8);  // sums of such products are exact
  ProductTile tile;
  for (auto& row : tile.a) {
    for (float& x : row) x = static_cast<float>(small(random));
  }
  for (auto& row : tile.b) {
    for (float& x : row) x = static_cast<float>(small(random));
  }
  for (auto& row : tile.d) {
    for (float& x : row) x = static_cast<float>(small(random));
  }
  ProductTile expected = tile;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      for (int k = 0; k < 16; ++k) expected.d[i][j] += tile.a[i][k] * tile.b[k][j];
    }
  }
  NB_LAUNCH(multiply, dim3(1), dim3(32), 0, nullptr, &tile);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) EXPECT_EQ(tile.d[i][j], expected.d[i][j]) << i << ", " << j;
  }
}

struct Loaded {
  std::uint32_t x4[4];
  std::uint32_t x4_trans[4];
  std::uint32_t x2[2];
};

/// 32 rows of 8 numbers, row r at place r * stride: number c of row r is 8 r + c.
__global__ void load_tiles(Loaded* loaded, int stride) {
  NB_DYNAMIC_SHARED(shared);
  auto* rows = reinterpret_cast<std::uint16_t*>(shared);
  const unsigned lane = threadIdx.x;
  std::uint16_t* const mine = rows + lane * static_cast<unsigned>(stride);
  for (unsigned column = 0; column < 8; ++column) mine[column] = static_cast<std::uint16_t>(8 * lane + column);
  __syncthreads();
  ldmatrix_x4(loaded[lane].x4, mine);
  ldmatrix_x4_trans(loaded[lane].x4_trans, mine);
  ldmatrix_x2(loaded[lane].x2, rows + lane % 16 * static_cast<unsigned>(stride));
}

TEST(EmulatedTensorCore, LoadsTilesInPtxLayout) {
  std::vector<Loaded> loaded(32);
  NB_LAUNCH(load_tiles, dim3(1), dim3(32), 32 * 16, nullptr, loaded.data(), 8);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const Loaded& got = loaded[lane];
    for (unsigned tile = 0; tile < 4; ++tile) {
      const unsigned first = 64 * tile + 8 * (lane / 4) + 2 * (lane % 4);
      EXPECT_EQ(got.x4[tile], first | (first + 1) << 16);
      const unsigned turned = 64 * tile + 8 * (2 * (lane % 4)) + lane / 4;
      EXPECT_EQ(got.x4_trans[tile], turned | (turned + 8) << 16);
      if (tile < 2) {
        EXPECT_EQ(got.x2[tile], got.x4[tile]);
      }
    }
  }
}

TEST(EmulatedTensorCore, CountsBankConflictsOfLdmatrix) {
  std::vector<Loaded> loaded(32);
  emulation::statistics() = {};
  NB_LAUNCH(load_tiles, dim3(1), dim3(32), 32 * 16, nullptr, loaded.data(), 8);
  EXPECT_EQ(emulation::statistics().matrix_row_reads, 10U);
  EXPECT_EQ(emulation::statistics().matrix_conflicts, 0U);
  NB_LAUNCH(load_tiles, dim3(1), dim3(32), 32 * 128, nullptr, loaded.data(), 64);  // all rows in the same banks
  EXPECT_EQ(emulation::statistics().matrix_conflicts, 70U);
}

}  // namespace
}  // namespace nanobench::core::cuda
