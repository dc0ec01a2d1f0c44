/// Whether this machine has a GPU that the kernels run on.
#pragma once

#include <string>

namespace nanobench::core::cuda {

/// Exit code of programs that need a GPU and find none; ctest takes it for a skip.
inline constexpr int kExitNoGpu = 77;

/// "", or in one sentence why no kernel can run on the current device. The first call starts CUDA.
std::string gpu_problem();

/// "NVIDIA H100 80GB HBM3, compute capability 9.0, 132 multiprocessors". Throws CudaError where there is none.
std::string gpu_description();

}  // namespace nanobench::core::cuda
