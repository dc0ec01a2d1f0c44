/// How a matrix in shared memory is described to the products of a warpgroup (wgmma). Part of platform.cuh: include
/// that instead.
///
/// The numbers lie in panels of 64 bf16 columns: a row takes 128 bytes, rows follow one another, and the 16-byte chunks
/// of a row change places by the row ("128-byte swizzle", the layout of Tile<64>). A panel begins at a multiple of 1024
/// bytes, and so does every group of eight rows. Source: PTX ISA, "Asynchronous warpgroup level matrix shared memory
/// layout" and "Matrix descriptor".
#pragma once

#include <cstdint>

namespace nanobench::core::cuda {

/// The descriptor's 64 bits: address, leading and stride offset in units of 16 bytes at bits 0, 16 and 32 (14 bits
/// each); the kind of swizzle at bit 62.
struct SharedMatrix {
  std::uint64_t bits = 0;

  static constexpr std::uint64_t kFieldMask = 0x3fff;
  static constexpr int kUnit = 16;                 ///< bytes
  static constexpr int kGroupBytes = 1024;         ///< eight rows of a panel
  static constexpr std::uint64_t kSwizzle128 = 1;  ///< at bit 62

  /// address: of the first number, in shared memory. panel_bytes: from panel to panel where rows are the inner
  /// dimension of the product; kUnit where columns are, as a product then reads 16 columns of one panel.
  __host__ __device__ static constexpr SharedMatrix at(std::uint32_t address, std::uint32_t panel_bytes) {
    return {(address / kUnit & kFieldMask) | (panel_bytes / kUnit & kFieldMask) << 16 |
            std::uint64_t{kGroupBytes / kUnit} << 32 | kSwizzle128 << 62};
  }
  /// The same matrix from `bytes` further on, a multiple of 16.
  __host__ __device__ constexpr SharedMatrix after(int bytes) const {
    return {bits + static_cast<std::uint64_t>(bytes / kUnit)};
  }
};

}  // namespace nanobench::core::cuda
