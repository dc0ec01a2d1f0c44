// A library that says it is the plugin for GPUs, of another build.
#include "core/train/cuda_plugin.h"

extern "C" __attribute__((visibility("default"))) const void* nanobench_cuda_plugin() {
  using namespace nanobench::core;
  static const CudaPlugin plugin = {.version = NB_FAKE_VERSION, .libtorch = "0.0.1"};
  return &plugin;
}
