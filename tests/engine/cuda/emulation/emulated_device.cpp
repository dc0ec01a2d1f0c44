// The emulation as a device of the kernels' tests.
#include <cstring>
#include <utility>

#include "block_runner.h"
#include "device_space.h"
#include "tests/engine/cuda/device.h"

namespace nanobench::core::cuda {

bool is_gpu() {
  return false;
}

bool has_warpgroups() {
  return true;
}

void draw_order(std::uint64_t seed) {
  emulation::set_seed(seed);
}

std::optional<KernelCounts> kernel_counts() {
  const emulation::Statistics counted = std::exchange(emulation::statistics(), {});
  return KernelCounts{counted.launches, counted.tensor_products, counted.matrix_conflicts, counted.branches,
                      counted.divergences};
}

DeviceMemory::DeviceMemory(std::size_t bytes)
    : bytes_(static_cast<unsigned char*>(emulation::allocate_device_memory(bytes))) {}

void DeviceMemory::Free::operator()(unsigned char* bytes) const noexcept {
  emulation::free_device_memory(bytes);
}

void DeviceMemory::write(std::size_t offset, const void* from, std::size_t bytes) {
  const emulation::DeviceAccess access;
  if (bytes > 0) std::memcpy(address() + offset, from, bytes);
}

void DeviceMemory::read(std::size_t offset, void* to, std::size_t bytes) const {
  const emulation::DeviceAccess access;
  if (bytes > 0) std::memcpy(to, address() + offset, bytes);
}

}  // namespace nanobench::core::cuda
