#include "cuda_emulation.h"

namespace nanobench::emulation {
namespace {

cudaError_t last_error = cudaSuccess;

}  // namespace

void set_last_error(cudaError_t error) {
  last_error = error;
}

unsigned lane_of_thread() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % kWarpLanes;
}

void combine_vote(void* const (&lanes)[kWarpLanes]) {
  std::uint32_t votes = 0;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    if (lanes[lane] != nullptr && static_cast<VoteOperand*>(lanes[lane])->is_true) votes |= 1U << lane;
  }
  for (void* lane : lanes) {
    if (lane != nullptr) static_cast<VoteOperand*>(lane)->result = votes;
  }
}

bool is_taken_by_warp(bool condition, const std::source_location& where) {
  const std::uint32_t votes = vote(0xffffffffU, condition, where);
  if (lane_of_thread() == 0) {
    ++statistics().branches;
    statistics().divergences += votes != 0 && votes != 0xffffffffU ? 1 : 0;
  }
  return condition;
}

}  // namespace nanobench::emulation

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorNoKernelImageForDevice: return "no kernel image is available for execution on the device";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
  }
  return "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorNoKernelImageForDevice: return "cudaErrorNoKernelImageForDevice";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = nanobench::emulation::last_error;
  nanobench::emulation::last_error = cudaSuccess;
  return error;
}
