/// The kernels that an operation may call. GPU kernels are a table of functions that libnanobench_cuda.so fills in when
/// a run asks for a GPU; EngineContext::set_gpu registers the table.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cuda/kernel_table.h"
#include "engine/kernels/engine_context.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// How tokens get to a GPU: the host waits until ordinary memory is copied, or enqueues a copy from locked memory.
enum class Upload { kBlocking, kAsynchronous };

/// All functions enqueue on the stream and return immediately (engine/cuda).
struct CudaKernels : cuda::KernelTable {
  at::DeviceType device = at::kCUDA;  ///< device of their tensors: a GPU, or the CPU if a GPU is emulated
  /// The stream on which the calling thread's tensor operations are enqueued.
  cuda::Stream (*stream)() = nullptr;
  bool has_float8_products = false;  ///< the library supports 8-bit floating-point products
  cuda::DeviceAttentionProducts attention_products = cuda::DeviceAttentionProducts::kWarp;  ///< chosen by the run
  /// A tensor [count] on the device. The numbers become int32 or int64 on the host, so that no other bytes are copied.
  at::Tensor (*upload)(std::span<const std::uint16_t> tokens, at::ScalarType type, Upload how) = nullptr;
};

/// Null until a GPU is opened.
inline const CudaKernels* cuda_kernels() {
  return EngineContext::current().gpu();
}

/// Whether an open GPU takes tensors of `device`.
inline bool takes_device_tensors(at::Device device) {
  return cuda_kernels() != nullptr && device.type() == cuda_kernels()->device;
}

/// Pointer to the data; null for a tensor that is undefined or empty.
inline cuda::bf16* bf16_data(const at::Tensor& x) {
  if (!x.defined() || x.numel() == 0) return nullptr;
  return reinterpret_cast<cuda::bf16*>(x.data_ptr<at::BFloat16>());
}
inline float* float_data(const at::Tensor& x) {
  return x.defined() && x.numel() > 0 ? x.data_ptr<float>() : nullptr;
}

/// x as a contiguous bfloat16 tensor.
inline at::Tensor as_bfloat16(const at::Tensor& x) {
  return x.to(at::kBFloat16).contiguous();
}

/// Whether the kernels of an open GPU take this tensor: it is on that device and holds bfloat16.
inline bool takes_device_kernels(const at::Tensor& x) {
  return takes_device_tensors(x.device()) && x.scalar_type() == at::kBFloat16;
}

/// Whether the CPU's vector kernels may take this tensor, given its device and the run's choice of kernels.
inline bool may_use_cpu_kernels(const at::Tensor& x) {
  return x.is_cpu() && EngineContext::current().uses_kernels();
}

}  // namespace nanobench::core
