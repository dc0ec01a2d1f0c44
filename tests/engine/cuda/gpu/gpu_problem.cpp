#include "tests/engine/cuda/gpu/gpu_problem.h"

#include <cuda_runtime_api.h>

#include "engine/cuda/error.h"

namespace nanobench::core::cuda {
namespace {

constexpr int kOldestMajor = 8;  // compute capability of cp.async and bfloat16 products

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  NB_CUDA_CHECK(cudaGetDevice(&device));
  NB_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

std::string capability() {
  return std::to_string(attribute(cudaDevAttrComputeCapabilityMajor)) + "." +
         std::to_string(attribute(cudaDevAttrComputeCapabilityMinor));
}

}  // namespace

std::string gpu_problem() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaErrorInsufficientDriver)
    return "no GPU can be used: no NVIDIA driver, or one that is older than the CUDA runtime of this program";
  if (status != cudaSuccess) return std::string("no GPU can be used: ") + cudaGetErrorString(status);
  if (devices == 0) return "no GPU can be used: the driver lists none";
  try {
    if (attribute(cudaDevAttrComputeCapabilityMajor) >= kOldestMajor) return "";
    return "the GPU has compute capability " + capability() + "; the kernels need 8.0";
  } catch (const CudaError& error) {
    return std::string("no GPU can be used: ") + error.what();
  }
}

std::string gpu_description() {
  cudaDeviceProp properties{};
  int device = 0;
  NB_CUDA_CHECK(cudaGetDevice(&device));
  NB_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  return std::string(properties.name) + ", compute capability " + capability() + ", " +
         std::to_string(properties.multiProcessorCount) + " multiprocessors";
}

}  // namespace nanobench::core::cuda
