/// Descriptors of matrices in shared memory for warpgroup products (wgmma). Part of platform.cuh: include that instead.
///
/// Matrices are stored in panels of 64 bf16 columns. A row takes 128 bytes, rows are consecutive, and the order of a
/// row's 16-byte chunks depends on the row ("128-byte swizzle", the layout of Tile<64>). Panels and groups of eight
/// rows begin at multiples of 1024 bytes. Source: PTX ISA, "Asynchronous warpgroup level matrix shared memory layout"
/// and "Matrix descriptor".
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

  /// address: shared-memory address of the first number. panel_bytes: distance between panels if rows are the inner
  /// dimension of the product; kUnit if columns are, as a product then reads 16 columns of one panel.
  __host__ __device__ static constexpr SharedMatrix at(std::uint32_t address, std::uint32_t panel_bytes) {
    return {(address / kUnit & kFieldMask) | (panel_bytes / kUnit & kFieldMask) << 16 |
            std::uint64_t{kGroupBytes / kUnit} << 32 | kSwizzle128 << 62};
  }
  /// The same matrix, offset by `bytes`, a multiple of 16.
  __host__ __device__ constexpr SharedMatrix after(int bytes) const {
    return {bits + static_cast<std::uint64_t>(bytes / kUnit)};
  }
};

}  // namespace nanobench::core::cuda
