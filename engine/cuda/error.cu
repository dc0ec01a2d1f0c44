#include "engine/cuda/error.h"

#include <cstdio>

#include "engine/cuda/platform.cuh"

namespace nanobench::core::cuda {
namespace {

std::string message_of(int status, const char* expression, const char* file, int line) {
  const auto error = static_cast<cudaError_t>(status);
  return std::string(file) + ":" + std::to_string(line) + ": CUDA: " + cudaGetErrorString(error) + " (" +
         cudaGetErrorName(error) + ", failed: " + expression + ")";
}

ErrorCode code_of(int status) {
  switch (status) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorMemoryAllocation: return ErrorCode::kUnavailable;
    default: return ErrorCode::kInternal;
  }
}

}  // namespace

bool CudaError::is_out_of_memory() const noexcept {
  return status_ == cudaErrorMemoryAllocation;
}

void check_cuda_call(int status, const char* expression, const char* file, int line) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw CudaError(code_of(status), status, message_of(status, expression, file, line));
}

void check_cuda_call_noexcept(int status, const char* expression, const char* file, int line) noexcept {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  const auto error = static_cast<cudaError_t>(status);
  std::fprintf(stderr, "%s:%d: CUDA: %s (%s, failed: %s)\n", file, line, cudaGetErrorString(error),
               cudaGetErrorName(error), expression);
}

}  // namespace nanobench::core::cuda
