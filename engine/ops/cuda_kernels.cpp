#include "engine/ops/cuda_kernels.h"

namespace nanobench::core {
namespace {

const CudaKernels* current = nullptr;

}  // namespace

const CudaKernels* cuda_kernels() {
  return current;
}

void use_cuda_kernels(const CudaKernels* kernels) {
  current = kernels;
}

bool takes_device_tensors(at::Device device) {
  return current != nullptr && device.type() == current->device;
}

}  // namespace nanobench::core
