/// The words of engine/cuda/warpgroup_device.cuh for an ordinary C++ compiler. Include platform.cuh instead.
#pragma once

#include <cstdint>
#include <source_location>

#include "engine/cuda/matrix_descriptor.cuh"
#include "warpgroup_products.h"

namespace nanobench::core::cuda {

inline void fence_async_proxy() {
  nanobench::emulation::fence_writes();
}
inline void wgmma_fence(const std::source_location& where = std::source_location::current()) {
  nanobench::emulation::fence_products(where);
}
inline void wgmma_commit(const std::source_location& where = std::source_location::current()) {
  nanobench::emulation::commit_products(where);
}
template <int kGroups>
void wgmma_wait(const std::source_location& where = std::source_location::current()) {
  nanobench::emulation::wait_products(kGroups, where);
}

template <int kPanelBytes>
SharedMatrix shared_matrix(const void* first) {
  return SharedMatrix::at(nanobench::emulation::shared_address_of(first), kPanelBytes);
}

template <int kColumns>
void wgmma_bf16(float (&d)[kColumns / 8][4], SharedMatrix a, SharedMatrix b, bool adds,
                const std::source_location& where = std::source_location::current()) {
  nanobench::emulation::start_product(
      {.d = d[0], .a_matrix = a.bits, .b_matrix = b.bits, .columns = kColumns, .b_is_by_rows = false, .adds = adds},
      where);
}

template <int kColumns>
void wgmma_bf16_rows(float (&d)[kColumns / 8][4], const std::uint32_t (&a)[4], SharedMatrix b, bool adds,
                     const std::source_location& where = std::source_location::current()) {
  nanobench::emulation::start_product(
      {.d = d[0], .a = a, .b_matrix = b.bits, .columns = kColumns, .b_is_by_rows = true, .adds = adds}, where);
}

}  // namespace nanobench::core::cuda
