// nanobench-gpu-tests: the tests of the CUDA kernels on a GPU. Options of Google Test.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "tests/engine/cuda/gpu/gpu_problem.h"

namespace {

constexpr int kExitUsage = 2;

/// Neither runs a test.
bool only_tells(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "--gtest_list_tests") == 0) return true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const bool tells = only_tells(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && !tells) {
    std::fprintf(stderr, "nanobench-gpu-tests: unknown option '%s'; --help lists those that there are\n", argv[1]);
    return kExitUsage;
  }
  if (!tells) {
    const std::string problem = nanobench::core::cuda::gpu_problem();
    if (!problem.empty()) {
      std::fprintf(stderr, "nanobench-gpu-tests: %s\n", problem.c_str());
      return nanobench::core::cuda::kExitNoGpu;
    }
    std::printf("%s\n", nanobench::core::cuda::gpu_description().c_str());
  }
  return RUN_ALL_TESTS();
}
