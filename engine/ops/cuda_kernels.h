/// The GPU's kernels as ops call them: a table of functions that libnanobench_cuda.so fills in when a run asks for a
/// GPU. Set once, before any thread computes.
#pragma once

#include "engine/cuda/kernel_table.h"
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
const CudaKernels* cuda_kernels();
/// `kernels` must live as long as the process; null: none.
void use_cuda_kernels(const CudaKernels* kernels);

/// Whether a GPU is open that takes tensors of `device`.
bool takes_device_tensors(at::Device device);

}  // namespace nanobench::core
