// libnanobench_cuda.so: the engine's interface to a GPU, built on LibTorch's CUDA library.
#include <ATen/cuda/CUDAContext.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/error.h"
#include "engine/cuda/error.h"
#include "engine/cuda_plugin/plugin_parts.h"
#include "engine/train/cuda_plugin.h"

namespace nanobench::core::cuda {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The UUID in the format of the driver's management library: "GPU-" and five groups of hexadecimal digits.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

Stream current_stream() {
  return c10::cuda::getCurrentCUDAStream().stream();
}

at::Tensor upload(std::span<const std::uint16_t> tokens, at::ScalarType type, Upload how) {
  const bool is_asynchronous = how == Upload::kAsynchronous;
  const at::Tensor staged = at::empty({static_cast<std::int64_t>(tokens.size())},
                                      at::TensorOptions().dtype(type).pinned_memory(is_asynchronous));
  if (type == at::kInt) {
    std::copy(tokens.begin(), tokens.end(), staged.data_ptr<std::int32_t>());
  } else {
    std::copy(tokens.begin(), tokens.end(), staged.data_ptr<std::int64_t>());
  }
  return staged.to(at::Device(at::kCUDA, c10::cuda::current_device()), is_asynchronous);
}

/// Complete once a GPU is open.
CudaKernels kernels = [] {
  CudaKernels all = {cuda::kernel_table(), at::kCUDA, current_stream};
  all.upload = upload;
  return all;
}();

int device_count() {
  return static_cast<int>(c10::cuda::device_count_ensure_non_zero());  // says why there is none
}

/// Starts like record 18: `torch.empty(1, device="cuda", requires_grad=True).backward()`.
void go_backward_once() {
  const at::AutoGradMode gradients(true);
  at::empty({1}, at::TensorOptions().dtype(at::kFloat).device(at::kCUDA)).requires_grad_(true).backward();
}

void open(const CudaOptions& options) {
  c10::CachingAllocator::setAllocatorSettings(options.expandable_segments ? "expandable_segments:True"
                                                                          : "expandable_segments:False");
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(options.index));
  at::globalContext().lazyInitDevice(at::kCUDA);
  if (options.initial_backward) go_backward_once();
  // Float32 products stay float32: only the configuration decides what a run rounds.
  at::globalContext().setFloat32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL, at::Float32Precision::IEEE);
  // cuBLAS guarantees the same bits only with a separate workspace per stream; LibTorch checks this setting.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  at::cuda::getCurrentCUDABlasHandle();
  const cudaDeviceProp& gpu = *at::cuda::getCurrentDeviceProperties();
  kernels.has_float8_products = gpu.major * 10 + gpu.minor >= 89;
  kernels.attention_products = options.attention_products;
  if (options.attention_products == cuda::DeviceAttentionProducts::kWarpgroup && (gpu.major != 9 || gpu.minor != 0)) {
    throw Error(ErrorCode::kUnavailable,
                "gpu/attention_products \"warpgroup\" needs a GPU of compute capability 9.0; " + std::string(gpu.name) +
                    " has " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor));
  }
}

std::map<std::string, std::string> facts() {
  const cudaDeviceProp& gpu = *at::cuda::getCurrentDeviceProperties();
  int runtime = 0, driver = 0;
  NB_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  NB_CUDA_CHECK(cudaDriverGetVersion(&driver));
  return {{"device", "cuda"},
          {"gpu", gpu.name},
          {"gpu_uuid", uuid_text(gpu.uuid)},
          {"compute_capability", std::to_string(gpu.major) + "." + std::to_string(gpu.minor)},
          {"gpu_memory_bytes", std::to_string(gpu.totalGlobalMem)},
          {"gpu_processors", std::to_string(gpu.multiProcessorCount)},
          {"cuda_runtime", version_text(runtime)},
          {"cuda_driver", version_text(driver)},
          {"expandable_segments",
           c10::CachingAllocator::AcceleratorAllocatorConfig::use_expandable_segments() ? "on" : "off"}};
}

void synchronize() {
  c10::cuda::device_synchronize();
}

DeviceMemory memory() {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device());
  const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return {.peak_allocated_bytes = stats.allocated_bytes[all].peak,
          .peak_reserved_bytes = stats.reserved_bytes[all].peak,
          .allocations = stats.allocation[all].allocated,
          .driver_allocations = stats.num_device_alloc,
          .retries = stats.num_alloc_retries};
}

class Marks final : public DeviceMarks {
 public:
  ~Marks() override {
    for (const cudaEvent_t event : events_) NB_CUDA_CHECK_NOEXCEPT(cudaEventDestroy(event));
  }
  int mark() noexcept override {
    if (used_ == events_.size()) {
      cudaEvent_t event = nullptr;
      keep(cudaEventCreate(&event));
      events_.push_back(event);
    }
    keep(cudaEventRecord(events_[used_], c10::cuda::getCurrentCUDAStream()));
    return static_cast<int>(used_++);
  }
  double elapsed_ms(int from, int to) override {
    NB_CUDA_CHECK(failure_);
    const cudaEvent_t begin = events_[static_cast<std::size_t>(from)], end = events_[static_cast<std::size_t>(to)];
    NB_CUDA_CHECK(cudaEventSynchronize(end));  // a mark after the last wait for the device is an error without it
    float ms = 0.0f;
    NB_CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
    return static_cast<double>(ms);
  }
  void reset() override { used_ = 0; }

 private:
  void keep(cudaError_t error) noexcept {
    if (failure_ == cudaSuccess) failure_ = error;
  }

  cudaError_t failure_ = cudaSuccess;
  std::vector<cudaEvent_t> events_;
  std::size_t used_ = 0;
};

std::unique_ptr<DeviceMarks> make_marks() {
  return std::make_unique<Marks>();
}

const CudaPlugin kPlugin = {.version = kCudaPluginVersion,
                            .libtorch = TORCH_VERSION,
                            .device_count = device_count,
                            .open = open,
                            .facts = facts,
                            .synchronize = synchronize,
                            .memory = memory,
                            .make_marks = make_marks,
                            .make_communicator = make_nccl_communicator,
                            .kernels = &kernels,
                            .capture = capture};

}  // namespace
}  // namespace nanobench::core::cuda

extern "C" __attribute__((visibility("default"))) const void* nanobench_cuda_plugin() {
  return &nanobench::core::cuda::kPlugin;
}
