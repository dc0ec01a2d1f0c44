// A GPU as the device of the kernels' tests.
#include <cuda_runtime_api.h>

#include "engine/cuda/error.h"
#include "tests/engine/cuda/device.h"

namespace nanobench::core::cuda {

bool is_gpu() {
  return true;
}

bool has_warpgroups() {
  int device = 0, major = 0, minor = 0;
  NB_CUDA_CHECK(cudaGetDevice(&device));
  NB_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  NB_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return major == 9 && minor == 0;
}

void draw_order(std::uint64_t) {}

std::optional<KernelCounts> kernel_counts() {
  return std::nullopt;
}

DeviceMemory::DeviceMemory(std::size_t bytes) {
  void* address = nullptr;
  NB_CUDA_CHECK(cudaMalloc(&address, std::max<std::size_t>(bytes, 1)));
  bytes_.reset(static_cast<unsigned char*>(address));
}

void DeviceMemory::Free::operator()(unsigned char* bytes) const noexcept {
  NB_CUDA_CHECK_NOEXCEPT(cudaFree(bytes));
}

void DeviceMemory::write(std::size_t offset, const void* from, std::size_t bytes) {
  NB_CUDA_CHECK(cudaMemcpy(address() + offset, from, bytes, cudaMemcpyHostToDevice));
}

void DeviceMemory::read(std::size_t offset, void* to, std::size_t bytes) const {
  NB_CUDA_CHECK(cudaMemcpy(to, address() + offset, bytes, cudaMemcpyDeviceToHost));
}

}  // namespace nanobench::core::cuda
