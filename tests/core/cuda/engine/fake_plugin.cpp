// A library that says it is the plugin for GPUs: of another build, or of this one, telling only what it was opened
// with.
#include <torch/version.h>

#include "core/train/cuda_plugin.h"

// Of fake_plugin_build.cpp.
extern const int fake_version;
extern const char* const fake_libtorch;

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

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* nanobench_cuda_plugin() {
  using namespace nanobench::core;
  static const CudaPlugin plugin = {.version = fake_version != 0 ? fake_version : kCudaPluginVersion,
                                    .libtorch = *fake_libtorch != '\0' ? fake_libtorch : TORCH_VERSION,
                                    .device_count = one,
                                    .open = tell};
  return &plugin;
}
