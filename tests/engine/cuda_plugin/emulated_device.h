/// A GPU whose memory is the CPU's: its kernels run emulated, on tensors of the CPU.
#pragma once

#include "engine/ops/kernels.h"

namespace nanobench::core::testing {

inline CudaKernels emulated_kernels() {
  return {cuda::kernel_table(), at::kCPU, [] { return cuda::Stream(nullptr); }};
}

/// The engine has such a GPU as long as an object of this class lives. One at a time.
class EmulatedDevice {
 public:
  EmulatedDevice() : kernels_(emulated_kernels()) { context_.set_gpu(&kernels_); }

  CudaKernels& kernels() { return kernels_; }

 private:
  CudaKernels kernels_;
  EngineContext context_;
};

}  // namespace nanobench::core::testing
