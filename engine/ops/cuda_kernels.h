/// The GPU's kernels as operations call them: a table of functions that libnanobench_cuda.so fills in when a run asks
/// for a GPU. EngineContext::set_gpu makes them known.
#pragma once

#include "engine/cuda/kernel_table.h"
#include "engine/kernels/engine_context.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// All enqueue on the stream and return at once (engine/cuda).
struct CudaKernels : cuda::KernelTable {
  at::DeviceType device = at::kCUDA;  ///< whose tensors they take: a GPU's, or the CPU's where a GPU is emulated
  /// The stream on which the calling thread's tensor operations are enqueued.
  cuda::Stream (*stream)() = nullptr;
  bool has_float8_products = false;  ///< the library multiplies 8-bit floating point there
  cuda::AttentionProducts attention_products = cuda::AttentionProducts::kWarp;  ///< that the run asked for
};

/// Null until a GPU is opened.
inline const CudaKernels* cuda_kernels() {
  return EngineContext::current().gpu();
}

/// Whether a GPU is open that takes tensors of `device`.
inline bool takes_device_tensors(at::Device device) {
  return cuda_kernels() != nullptr && device.type() == cuda_kernels()->device;
}

}  // namespace nanobench::core
