#include "engine/cuda_plugin/plugin_parts.h"

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <exception>

namespace nanobench::core::cuda {
namespace {

// 3 warm-up runs, as in PyTorch's documentation for graphs without communication. In them, libraries choose their
// kernels and allocate their workspaces for this stream.
constexpr int kWarmUps = 3;

class Graph final : public DeviceGraph {
 public:
  void replay() override { graph_.replay(); }

  /// Records on the current stream, which must not be the default one.
  void record(const std::function<void()>& work) {
    const c10::MempoolId_t pool = at::cuda::graph_pool_handle();
    try {
      graph_.capture_begin(pool);
      work();
    } catch (...) {
      const std::exception_ptr reason = std::current_exception();
      abandon(pool);
      std::rethrow_exception(reason);
    }
    try {
      graph_.capture_end();
    } catch (...) {  // an error that no call inside reported
      const std::exception_ptr reason = std::current_exception();
      release(pool);
      std::rethrow_exception(reason);
    }
  }

 private:
  /// Ends a recording and discards it.
  void abandon(c10::MempoolId_t pool) noexcept {
    try {
      graph_.capture_end();  // fails where the recording is invalid by now
      graph_.reset();
    } catch (...) {
      release(pool);
    }
  }

  /// The stream no longer records. The allocators of the GPU and of locked memory may still treat it as recording, and
  /// would then keep memory that other streams free.
  static void release(c10::MempoolId_t pool) noexcept {
    attempt([&] {
      const c10::DeviceIndex device = c10::cuda::current_device();
      c10::cuda::CUDACachingAllocator::endAllocateToPool(device, pool);
      c10::cuda::CUDACachingAllocator::releasePool(device, pool);
    });
    attempt([&] {
      at::HostAllocator* const locked = at::getHostAllocator(at::kCUDA);
      locked->end_allocate_to_pool(pool);
      locked->release_pool(pool);
    });
    static_cast<void>(cudaGetLastError());  // that of the recording, told already
  }
  /// An allocator that does not treat the stream as recording throws.
  template <class Act>
  static void attempt(const Act& act) noexcept {
    try {
      act();
    } catch (...) {
    }
  }

  at::cuda::CUDAGraph graph_;
};

/// Waits, and returns memory that no tensor uses to the driver. Memory kept by one stream cannot serve another, and the
/// allocator frees nothing while a graph is recorded. Otherwise the activations of a step would exist three times
/// (earlier steps, warm-ups, graph), which exceeds a card of 80 GB.
void wait_and_free() {
  c10::cuda::device_synchronize();
  c10::cuda::CUDACachingAllocator::emptyCache();
}

}  // namespace

std::unique_ptr<DeviceGraph> capture(const std::function<void()>& work) {
  auto graph = std::make_unique<Graph>();
  wait_and_free();
  {
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
    for (int i = 0; i < kWarmUps; ++i) work();
    wait_and_free();
    graph->record(work);
  }
  c10::cuda::device_synchronize();
  return graph;
}

}  // namespace nanobench::core::cuda
