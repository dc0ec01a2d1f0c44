/// The plugin of an emulated GPU, which keeps what it was told.
#pragma once

#include <chrono>
#include <vector>

#include "engine/train/cuda_plugin.h"
#include "engine/train/run_device.h"
#include "tests/engine/cuda_plugin/emulated_device.h"
#include "tests/engine/cuda_plugin/emulated_graph.h"

namespace nanobench::core::testing {

/// What the engine asked of the GPU.
struct Told {
  CudaOptions options;
  int recordings = 0;
  std::int64_t copied_bytes = 0;  ///< of tokens
  int asynchronous_copies = 0, blocking_copies = 0;
  bool masks_full_tiles = false;  ///< of the last attention
  int marks = 0;                  ///< on the stream
  std::string text() const {
    return std::string(options.expandable_segments ? "expandable " : "") +
           (options.initial_backward ? "backward " : "") +
           (options.attention_products == cuda::DeviceAttentionProducts::kWarpgroup ? "warpgroups " : "") +
           std::to_string(recordings);
  }
};

class HostMarks final : public DeviceMarks {
 public:
  int mark() noexcept override;
  double elapsed_ms(int from, int to) override {
    const auto at = [this](int mark) { return marks_[static_cast<std::size_t>(mark)]; };
    return std::chrono::duration<double, std::milli>(at(to) - at(from)).count();
  }
  void reset() override { marks_.clear(); }

 private:
  std::vector<std::chrono::steady_clock::time_point> marks_;
};

/// One at a time. Tensors that a graph uses must be made while it lives.
class EmulatedPlugin {
 public:
  EmulatedPlugin() : table_(make_table()) { told = {}; }

  const CudaPlugin& table() const { return table_; }
  RunDevice open(const GpuConfig& config) const { return RunDevice(table_, kGpuDevice, HostShare{}, config); }

  static inline Told told;
  static inline void (*driver_call)(const char* function) = nullptr;  ///< hears of each copy
  static constexpr std::int64_t kAllocatedBytes = 123456;             ///< what its allocator says

 private:
  static CudaKernels told_kernels() {
    CudaKernels kernels = emulated_kernels();
    kernels.upload = [](std::span<const std::uint16_t> tokens, at::ScalarType type, Upload how) {
      at::Tensor copied = at::empty({static_cast<std::int64_t>(tokens.size())}, at::kLong);
      std::copy(tokens.begin(), tokens.end(), copied.data_ptr<std::int64_t>());
      copied = copied.to(type);
      if (driver_call != nullptr) driver_call("cuMemcpyHtoDAsync_v2");
      told.copied_bytes += static_cast<std::int64_t>(copied.nbytes());
      ++(how == Upload::kAsynchronous ? told.asynchronous_copies : told.blocking_copies);
      return copied;
    };
    kernels.attention_forward = [](const cuda::DeviceAttentionShape& shape, const cuda::DeviceAttentionInputs& in,
                                   cuda::bf16* y, float* log_sums, cuda::Stream stream) {
      told.masks_full_tiles = in.masks_full_tiles;
      cuda::attention_forward(shape, in, y, log_sums, stream);
    };
    return kernels;
  }
  static CudaPlugin make_table() {
    static CudaKernels kernels = told_kernels();
    CudaPlugin table;
    table.version = kCudaPluginVersion;
    table.device_count = [] { return 1; };
    table.open = [](const CudaOptions& options) {
      told.options = options;
      kernels.attention_products = options.attention_products;
    };
    table.facts = [] { return std::map<std::string, std::string>{{"gpu", "emulated"}, {"gpu_uuid", "GPU-emulated"}}; };
    table.synchronize = [] {};
    table.memory = [] {
      return DeviceMemory{.peak_allocated_bytes = kAllocatedBytes,
                          .peak_reserved_bytes = 2 * kAllocatedBytes,
                          .allocations = told.asynchronous_copies + told.blocking_copies,
                          .driver_allocations = 3,
                          .retries = 1};
    };
    table.make_marks = []() -> std::unique_ptr<DeviceMarks> { return std::make_unique<HostMarks>(); };
    table.kernels = &kernels;
    table.capture = [](const std::function<void()>& work) -> std::unique_ptr<DeviceGraph> {
      ++told.recordings;
      return std::make_unique<EmulatedGraph>(work);
    };
    return table;
  }

  SharedTensors tensors_;
  CudaPlugin table_;
  EngineContext context_;  ///< in which the plugin opens its GPU
};

inline int HostMarks::mark() noexcept {
  ++EmulatedPlugin::told.marks;
  marks_.push_back(std::chrono::steady_clock::now());
  return static_cast<int>(marks_.size()) - 1;
}

}  // namespace nanobench::core::testing
