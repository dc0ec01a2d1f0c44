/// The emulated GPU's memory. As on a GPU, only kernels and copies reach it: at any other time a read or write of the
/// host ends the program, and so does one that goes far beside an allocation.
///
/// A kernel that is handed the host's own memory works here; on a GPU it does not.
/// Not thread-safe.
#pragma once

#include <cstddef>

namespace nanobench::emulation {

/// Aligned to a page. Throws std::bad_alloc.
void* allocate_device_memory(std::size_t bytes);
void free_device_memory(void* address) noexcept;

/// While one of these lives, device memory can be reached.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace nanobench::emulation
