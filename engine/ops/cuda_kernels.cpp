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

}  // namespace nanobench::core
