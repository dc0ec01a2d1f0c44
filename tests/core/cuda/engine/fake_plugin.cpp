// A library that says it is the plugin for GPUs: of another build, or of this one, telling only what it was opened
// with, or with a GPU that has no memory left.
#include <c10/util/Exception.h>
#include <torch/version.h>

#include "core/train/cuda_plugin.h"

namespace {

const char* on_or_off(bool value) {
  return value ? "on" : "off";
}

int one() {
  return 1;
}

[[maybe_unused]] void tell(const nanobench::core::CudaOptions& options) {
  TORCH_CHECK(false, "opened with index ", options.index, ", expandable_segments ",
              on_or_off(options.expandable_segments), ", initial_backward ", on_or_off(options.initial_backward));
}

[[maybe_unused]] void open_quietly(const nanobench::core::CudaOptions& /*options*/) {}

std::map<std::string, std::string> no_facts() {
  return {{"gpu_uuid", "GPU-fake"}};
}

/// As LibTorch's allocator for GPUs says it.
std::unique_ptr<nanobench::core::DeviceMarks> run_out_of_memory() {
  TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 20.00 GiB.");
  return nullptr;
}

const nanobench::core::CudaKernels kKernels{{}, at::kCPU, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* nanobench_cuda_plugin() {
  using namespace nanobench::core;
  static const CudaPlugin plugin = {.version = NB_FAKE_VERSION,
                                    .libtorch = *NB_FAKE_LIBTORCH != '\0' ? NB_FAKE_LIBTORCH : TORCH_VERSION,
                                    .device_count = one,
                                    .open = NB_FAKE_OPEN,
                                    .facts = no_facts,
                                    .make_marks = run_out_of_memory,
                                    .kernels = &kKernels};
  return &plugin;
}
