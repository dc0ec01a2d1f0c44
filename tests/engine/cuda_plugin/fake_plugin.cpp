// A library that says it is the plugin for GPUs: of another build, or of this one, telling only what it was opened
// with, or with a GPU that has no memory left.
#include <c10/util/Exception.h>
#include <torch/version.h>

#include "engine/train/cuda_plugin.h"

// Defined in fake_plugin_build.cpp.
extern const int fake_version;
extern const char* const fake_libtorch;
extern const bool fake_is_full;

namespace {

const char* on_or_off(bool value) {
  return value ? "on" : "off";
}

int one() {
  return 1;
}

void tell(const nanobench::core::CudaOptions& options) {
  TORCH_CHECK(false, "opened with index ", options.index, ", expandable_segments ",
              on_or_off(options.expandable_segments), ", initial_backward ", on_or_off(options.initial_backward));
}

void open_quietly(const nanobench::core::CudaOptions& /*options*/) {}

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
  static const CudaPlugin plugin = {.version = fake_version != 0 ? fake_version : kCudaPluginVersion,
                                    .libtorch = *fake_libtorch != '\0' ? fake_libtorch : TORCH_VERSION,
                                    .device_count = one,
                                    .open = fake_is_full ? open_quietly : tell,
                                    .facts = no_facts,
                                    .make_marks = run_out_of_memory,
                                    .kernels = &kKernels};
  return &plugin;
}
