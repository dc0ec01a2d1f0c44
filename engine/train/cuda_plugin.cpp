#include "engine/train/cuda_plugin.h"

#include <torch/version.h>

#include "core/base/error.h"
#include "core/base/shared_library.h"

namespace nanobench::core {
namespace {

constexpr const char* kRemedy =
    "`NANOBENCH_CUDA=ON ./nanobench setup` builds it where nvcc is, and names what is missing elsewhere; or train on "
    "the "
    "CPU";

}  // namespace

const CudaPlugin& load_cuda_plugin() {
  const auto* plugin = static_cast<const CudaPlugin*>(load_plugin("libnanobench_cuda.so", kCudaPluginSymbol, kRemedy));
  if (plugin->version != kCudaPluginVersion) {
    throw Error(ErrorCode::kUnavailable, "libnanobench_cuda.so is of another build (interface " +
                                             std::to_string(plugin->version) + ", expected " +
                                             std::to_string(kCudaPluginVersion) + "); build both again");
  }
  if (std::string(plugin->libtorch) != TORCH_VERSION) {
    throw Error(ErrorCode::kUnavailable, std::string("libnanobench_cuda.so was built with LibTorch ") +
                                             plugin->libtorch + ", the engine with " + TORCH_VERSION +
                                             "; build both again");
  }
  return *plugin;
}

}  // namespace nanobench::core
